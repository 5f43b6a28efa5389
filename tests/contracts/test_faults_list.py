"""FAULTS.md lists every row with the tests that are marked as its proof.
Each row and each room of the code has a planted fault."""

import ast
import re
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
LAST = 72
NOT_YET = {30}
"""Row 30 comes with the inspector."""
SOURCES = {
    "events": ROOT / "events" / "workspaced_events",
    "tools": ROOT / "tools" / "workspaced_tools",
    "workspaced": ROOT / "workspaced" / "workspaced",
}
"""The package of each floor."""
DEFINITIONS = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
WITHOUT_CODE = {"tools/ports"}
"""Rooms of types alone: nothing in them can go wrong."""


def numbers() -> list[int]:
    """The rows of FAULTS.md, as they stand there."""
    return [int(row) for row in re.findall(r"^\*\*(\d+)\. ", (ROOT / "FAULTS.md").read_text(), re.MULTILINE)]


def test_every_row_stands_there_once_and_in_order() -> None:
    assert numbers() == [number for number in range(1, LAST + 1) if number not in NOT_YET]


def generator(*arguments: str | Path) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, ROOT / "docs" / "generator" / "faults.py", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def test_its_tests_are_those_that_are_marked() -> None:
    done = generator("--check")
    assert done.returncode == 0, done.stderr


@cache
def statements(file: str) -> list[ast.stmt]:
    """Those of a module; of none: none."""
    return ast.parse((ROOT / file).read_text()).body if (ROOT / file).is_file() else []


def is_there(test: str) -> bool:
    """Whether pytest finds a test by that name, `file::name` or `file::Class::name`."""
    file, *names = test.partition("[")[0].split("::")
    inside = statements(file)
    for name in names:
        found = (each for each in inside if isinstance(each, DEFINITIONS) and each.name == name)
        inside = getattr(next(found, None), "body", [])
    return bool(names and inside) and names[-1].lower().startswith("test")


def planted() -> dict[str, Any]:
    """The planted faults by name; tests/mutants/run.py says what a file holds."""
    return {path.stem: tomllib.loads(path.read_text()) for path in (ROOT / "tests" / "mutants").glob("*.toml")}


def rooms() -> set[str]:
    """The rooms with code, each as its floor and its path in the floor's package, such as `tools/vault/links`."""
    found = set()
    for floor, top in SOURCES.items():
        modules = (each for each in top.rglob("*.py") if each.name != "__init__.py" and each.parent != top)
        found |= {f"{floor}/{each.parent.relative_to(top).as_posix()}" for each in modules}
    return found - WITHOUT_CODE


def room_of(file: str) -> str:
    """The room of a module; `file` is its path in the repository."""
    floor, _package, *inner = Path(file).parent.parts
    return "/".join((floor, *inner))


def test_every_row_has_a_planted_fault() -> None:
    """A finding of the attack is row 45 and its number."""
    guarded = set()
    for name, fault in planted().items():
        found = re.findall(r"(row|finding) (\d+)", fault["guards"])
        assert found or fault["guards"] == f"room {room_of(fault['file'])}", name
        guarded |= {int(number) + (45 if kind == "finding" else 0) for kind, number in found}
    assert set(numbers()) <= guarded


def test_every_room_has_a_planted_fault() -> None:
    """A new room gets a file `tests/mutants/room-NAME.toml`."""
    assert len(rooms()) > 40
    assert rooms() - {room_of(fault["file"]) for fault in planted().values()} == set()


def test_every_planted_fault_has_one_place_and_tests_that_are_there() -> None:
    for name, fault in planted().items():
        assert (ROOT / fault["file"]).read_text().count(fault["old"]) == 1, name
        assert fault["killed_by"], name
        assert [each for each in fault["killed_by"] if not is_there(each)] == [], name
