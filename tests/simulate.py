"""Runs seeds of the simulation by hand: `make simulate SEEDS=n SEED_START=k`."""

import argparse
import logging
import sys
import time
import traceback

from support.simulation import Session

PROGRESS_SEEDS = 1_000


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5_000)
    parser.add_argument("--start", type=int, default=0)
    options = parser.parse_args()
    logging.disable(logging.WARNING)  # snapshots that a full disk refused
    started, failed, lives = time.monotonic(), 0, 0
    for seed in range(options.start, options.start + options.seeds):
        run = Session(seed)
        try:
            run.run()
        except Exception:
            failed += 1
            traceback.print_exc()
            sys.stderr.write(f"seed {seed} failed. Replay it: make simulate SEEDS=1 SEED_START={seed}\n")
        lives += run.life + 2
        done = seed - options.start + 1
        if done % PROGRESS_SEEDS == 0:
            sys.stderr.write(f"{done} of {options.seeds} seeds\n")
    seconds = time.monotonic() - started
    sys.stdout.write(
        f"{options.seeds} seeds, {failed} failed, {lives} starts, in {seconds:.1f} s"
        f" ({options.seeds / seconds:.0f} seeds, {lives / seconds:.0f} starts a second)\n"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
