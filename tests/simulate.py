"""Runs seeds of the simulation by hand: `make simulate SEEDS=n SEED_START=k`."""

import argparse
import importlib.util
import logging
import sys
import time
import traceback
from pathlib import Path
from typing import Any

PROGRESS_SEEDS = 1_000
SIMULATION = Path(__file__).parent / "events" / "test_simulation.py"


def load() -> Any:
    """The module of the simulation; tests are no package, so by its path."""
    spec = importlib.util.spec_from_file_location("simulation", SIMULATION)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["simulation"] = module
    spec.loader.exec_module(module)
    return module


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5_000)
    parser.add_argument("--start", type=int, default=0)
    options = parser.parse_args()
    logging.disable(logging.WARNING)  # snapshots that a full disk refused
    session = load().Session
    started, failed, lives = time.monotonic(), 0, 0
    for seed in range(options.start, options.start + options.seeds):
        run = session(seed)
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
