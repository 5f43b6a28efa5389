"""FAULTS.md says which test proves which row: it must name every row, and tests that are there.
Each row and each room of the code has a planted fault."""

import re
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "FAULTS.md").read_text()
ROWS = [line for line in TEXT.splitlines() if re.match(r"\| \d+ \|", line)]
LAST = 72
NOT_YET = {30}
"""Row 30 comes with the inspector."""
SOURCES = {
    "events": ROOT / "events" / "workspaced_events",
    "tools": ROOT / "tools" / "workspaced_tools",
    "workspaced": ROOT / "workspaced" / "workspaced",
}
"""The package of each floor."""
WITHOUT_CODE = {"tools/ports"}
"""Rooms of types alone: nothing in them can go wrong."""


def numbers() -> list[int]:
    return [int(line.split("|")[1]) for line in ROWS]


def test_every_row_of_the_table_stands_there_once_and_in_order() -> None:
    assert numbers() == [number for number in range(1, LAST + 1) if number not in NOT_YET]


def test_every_row_names_a_test() -> None:
    for line in ROWS:
        assert re.search(r"`tests/[\w/]+\.py::\w+`", line), line


def test_every_named_test_is_there() -> None:
    for file, name in re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", TEXT):
        source = (ROOT / file).read_text()
        assert re.search(rf"^ *(async )?def {name}\b|^class {name}\b", source, re.MULTILINE), f"{file}::{name}"


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
        for test in fault["killed_by"]:
            file, *places = test.partition("[")[0].split("::")
            source = (ROOT / file).read_text()
            assert places and all(re.search(rf"(def|class) {each}\b", source) for each in places), (name, test)
