"""`make faults`: faults of a real file system under a log and a daemon, one JSON line per figure.

The file system is an ext4 of its own on a loop device where we are root and there is one, else a directory of this
machine. Each call of the log (support/fault_session.py) fails once and from there on, made to fail by the
preloaded shim; on the loop device the disk also fills up, loses its backing and is cut off in the middle of
writing, with a daemon on it (tests/faults/test_real_disk.py).
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from support import call_faults, fault_session

HERE = Path(__file__).parent
SLOWEST_S = 20.0
"""So long may a session with a fault take, all in all."""


def say(**figures: Any) -> None:
    sys.stdout.write(json.dumps(figures) + "\n")
    sys.stdout.flush()


# -- in the process that the shim is preloaded into --


def run_cases(place: Path, every: int) -> int:
    """Runs each `every`-th case in `place`; returns how many do not hold."""
    from workspaced_events.log import disk
    from workspaced_events.log.disk import RealDisk

    # What lasts is met hundreds of times; the true bound is tests/faults/test_single_calls.py's to see.
    disk.INTERRUPTION_PAUSE_S, disk.INTERRUPTIONS_MAX = 0.0, 3
    plan = call_faults.Plan(Path(os.environ["CALL_FAULTS_PLAN"]))
    made = counted(fault_session, plan, place)
    failed = ran = missed = 0
    worst, started = 0.0, time.monotonic()
    kinds: Counter[str] = Counter()
    parent = os.getppid()
    for number, case in enumerate(fault_session.cases(lambda asked, area: made[asked, area])):
        if number % every:
            continue
        if os.getppid() != parent:
            raise SystemExit(3)
        root = fresh(place)
        disk = RealDisk(root)
        past = fault_session.prepare(disk)
        before = time.monotonic()
        try:
            fault = plan.add(
                fault_session.SHIM_CALLS[case.operation],
                case.area,
                case.errno,
                skip=case.nth - 1,
                times=-1 if case.lasts else 1,
                after_bytes=20 if case.error == fault_session.SHORT else -1,
            )
            history = fault_session.under_fault(disk)
            missed += not plan.met(fault)
            plan.clear()
            took = time.monotonic() - before
            assert took < SLOWEST_S, f"L: {took:.1f} s"
            worst = max(worst, took)
            fault_session.check(disk, [past, history])
        except Exception as error:
            plan.clear()
            failed += 1
            say(failed=fault_session.described(case), error=repr(error)[:500])
        ran += 1
        kinds[case.error] += 1
    say(
        calls=ran,
        failed=failed,
        notMet=missed,
        by=dict(kinds),
        worstS=round(worst, 2),
        s=round(time.monotonic() - started, 1),
    )
    return failed


def counted(sessions: Any, plan: Any, place: Path) -> Counter[tuple[str, str]]:
    """How often a session without faults makes each call, as the shim counts it."""
    from workspaced_events.log.disk import RealDisk

    many = 1_000_000
    made: Counter[tuple[str, str]] = Counter()
    for operation, call in fault_session.SHIM_CALLS.items():
        disk = RealDisk(fresh(place))
        fault_session.prepare(disk)
        numbers = [plan.add(call, area, skip=many) for area in (*fault_session.AREAS, "log")]
        fault_session.under_fault(disk)
        for area, number in zip((*fault_session.AREAS, "log"), numbers, strict=True):
            made[operation, area] = many - plan.left_to_skip(number)
        plan.clear()
    return made


def fresh(place: Path) -> Path:
    """An empty directory."""
    root = place / "data"
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(mode=0o700)
    return root


# -- in the program itself --


def mounted(work: Path) -> Path | None:
    """An ext4 on a loop device, or None where this machine gives none."""
    if os.getuid() != 0:
        return None
    image, place = work / "image", work / "disk"
    with image.open("wb") as file:
        file.truncate(256 * 1024 * 1024)
    place.mkdir()
    for command in (["mkfs.ext4", "-q", "-F", str(image)], ["mount", "-o", "loop", str(image), str(place)]):
        if shutil.which(command[0]) is None or subprocess.run(command, capture_output=True).returncode != 0:
            return None
    return place


def ended(_number: int, _frame: Any) -> None:
    """What is mounted is unmounted when we are asked to end."""
    raise SystemExit(3)


def main() -> int:
    signal.signal(signal.SIGTERM, ended)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=1, help="run one case of so many")
    parser.add_argument("--inside", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--in-directory", type=Path, help="no file system of its own, but this directory")
    parser.add_argument("--calls-only", action="store_true", help="without the daemon on a failing loop device")
    options = parser.parse_args()
    if options.inside is not None:
        return 1 if run_cases(options.inside, options.every) else 0
    with tempfile.TemporaryDirectory(prefix="faults-", dir=options.in_directory) as directory:
        work = Path(directory)
        try:
            library = call_faults.build(work)
        except call_faults.CannotBuild as error:
            sys.stderr.write(f"{error}\n")
            return 2
        place = mounted(work) if options.in_directory is None else None
        say(fileSystem="ext4 on a loop device" if place else f"{options.in_directory or tempfile.gettempdir()}")
        environment = {**os.environ, **call_faults.environment(library, call_faults.Plan(work / "plan"))}
        command = [sys.executable, __file__, "--every", str(options.every), "--inside", str(place or work)]
        try:
            code = subprocess.run(command, env=environment).returncode
        finally:
            if place is not None:
                subprocess.run(["umount", str(place)], check=True)
    if options.calls_only:
        return code
    tests = [str(HERE / "faults" / "test_real_disk.py"), str(HERE / "faults" / "test_single_calls.py")]
    rounds = {"WORKSPACED_FAULT_ROUNDS": "10", **os.environ}
    return subprocess.run([sys.executable, "-m", "pytest", "-q", "-rs", *tests], env=rounds).returncode or code


if __name__ == "__main__":
    sys.exit(main())
