"""Random histories of a link (tests/support/peers/scenario.py), as many seeds as you like.

    python tests/simulate_peers.py --seeds 5000 --start 0

Prints each seed that fails with its reason, then one JSON line; exits with 1 if one failed.
"""

import argparse
import json
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from support.peers.scenario import play


def failure(seed: int) -> str | None:
    """Why the history of a seed failed; None: it did not."""
    try:
        play(seed)
    except Exception as error:
        return f"{type(error).__name__}: {error}"[:500]
    return None


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("--seeds", type=int, default=5_000)
    options.add_argument("--start", type=int, default=0)
    given = options.parse_args()
    seeds = range(given.start, given.start + given.seeds)
    time.monotonic()
    began, failed = time.monotonic(), 0
    with ProcessPoolExecutor() as pool:
        for seed, why in zip(seeds, pool.map(failure, seeds, chunksize=20), strict=True):
            if why is not None:
                failed += 1
                sys.stdout.write(f"seed {seed}: {why}\n")
    outcome = {"seeds": given.seeds, "failed": failed, "seconds": round(time.monotonic() - began, 1)}
    sys.stdout.write(json.dumps(outcome) + "\n")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
