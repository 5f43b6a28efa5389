"""`make mutants`: breaks each guarantee once, and sees the tests that it names fail.

A fault is a file `NAME.toml` beside this one:

    guards = "row 4"            # or "finding 12", or "room tools/vault/links", the room of `file`
    breaks = "what no longer holds"
    file = "events/workspaced_events/log/segments.py"
    old = "text that occurs exactly once in that file"
    new = "what stands there instead"
    killed_by = ["tests/faults/test_disk_faults.py::test_name"]

The faults are planted in copies of the tree, two copies a processor, one fault at a time in each. Each must make
one of its tests fail; one that no test notices, or that cannot be planted, makes this program end with 1. With
names, or how names begin (`run.py row-04 finding`), only those are planted.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NamedTuple

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
SOURCES = ("events", "tools", "workspaced")
COPIED = (*SOURCES, "tests", "bench", "schemas", "clients", "pyproject.toml", "README.md", "FAULTS.md", "docs")
NOT_COPIED = shutil.ignore_patterns("node_modules", "__pycache__", ".*_cache")
FAILED, PASSED = 1, 0
"""What pytest ends with."""
TIMEOUT_S = 300
THOROUGH = {"TEST_PROFILE": "thorough"}
"""What a property catches may take all of its examples."""
IN_VAIN = {"TEST_PATIENCE_S": "20"}
"""Where a fault is planted, many a test waits for what never comes."""


class Mutant(NamedTuple):
    """One planted fault."""

    name: str
    guards: str
    breaks: str
    file: str
    old: str
    new: str
    killed_by: list[str]

    def planted_in(self, text: str) -> str:
        """The file's text with the fault.

        Raises:
            ValueError: there is no one place for it.
        """
        if (times := text.count(self.old)) != 1:
            raise ValueError(f"{self.name}: `old` occurs {times} times in {self.file}, and not once")
        return text.replace(self.old, self.new)


def mutants() -> list[Mutant]:
    """All that are checked in, by name."""
    return [Mutant(path.stem, **tomllib.loads(path.read_text())) for path in sorted(HERE.glob("*.toml"))]


def run(mutant: Mutant, tree: Path) -> dict[str, Any]:
    """Plants the fault in the copied tree, runs its tests and takes it out again."""
    file = tree / mutant.file
    text = file.read_text()
    started = time.monotonic()
    mark = f"{mutant.name}-{os.getpid()}"
    try:
        file.write_text(mutant.planted_in(text))
        paths = [str(tree / each) for each in SOURCES]
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *mutant.killed_by],
            cwd=tree,
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join(paths),
                "PYTHONDONTWRITEBYTECODE": "1",
                **THOROUGH,
                **IN_VAIN,
                "MUTANT": mark,
            },
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
        )
        code, output = done.returncode, done.stdout[-2_000:]
    except subprocess.TimeoutExpired:
        end_all(mark)
        code, output = FAILED, "hangs"
    except ValueError as error:
        code, output = None, str(error)
    finally:
        file.write_text(text)
    found = "killed" if code == FAILED else "survived" if code == PASSED else "error"
    line = {"mutant": mutant.name, "guards": mutant.guards, "is": found, "s": round(time.monotonic() - started, 1)}
    return line if found == "killed" else {**line, "breaks": mutant.breaks, "output": output}


def end_all(mark: str) -> None:
    """Ends all processes that started with MUTANT=`mark` in their environment.

    A daemon that a fault keeps busy for ever would take a processor from the rest.
    """
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if f"MUTANT={mark}".encode() in (process / "environ").read_bytes().split(b"\0"):
                os.kill(int(process.name), signal.SIGKILL)


def copied_to(tree: Path) -> Path:
    """Copies what the tests need of this tree."""
    tree.mkdir()
    for each in COPIED:
        place = ROOT / each
        if place.is_dir():
            shutil.copytree(place, tree / each, ignore=NOT_COPIED)
        else:
            shutil.copy(place, tree / each)
    return tree


def main(names: list[str]) -> int:
    known = mutants()
    if missing := [name for name in names if not any(each.name.startswith(name) for each in known)]:
        sys.stderr.write(f"There is no mutant {', '.join(missing)}.\n")
        return 2
    wanted = [each for each in known if not names or each.name.startswith(tuple(names))]
    count = min(2 * (os.cpu_count() or 1), len(wanted))  # half of their time they wait for a daemon
    with tempfile.TemporaryDirectory(prefix="mutants-") as directory, ThreadPoolExecutor(count) as workers:
        trees: SimpleQueue[Path] = SimpleQueue()
        for number in range(count):
            trees.put(copied_to(Path(directory) / str(number)))

        def planted(mutant: Mutant) -> bool:
            tree = trees.get()
            line = run(mutant, tree)
            trees.put(tree)
            sys.stdout.write(json.dumps(line) + "\n")
            sys.stdout.flush()
            return line["is"] == "killed"

        return 0 if all(list(workers.map(planted, wanted))) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
