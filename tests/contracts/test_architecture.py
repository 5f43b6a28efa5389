"""ARCHITECTURE.md says what is there: each room with its capability, and walks over functions that exist."""

import ast
import re
from collections import Counter
from pathlib import Path

from support import ROOT

from workspaced.cli import COMMANDS

TEXT = (ROOT / "ARCHITECTURE.md").read_text()
FLOORS = {"events": "workspaced_events", "tools": "workspaced_tools", "workspaced": "workspaced"}
STEPS_MAX = 15


def rooms() -> set[str]:
    """Each room by its floor and its path there, such as `tools/vault/links`."""
    return {
        f"{floor}/{path.parent.relative_to(ROOT / floor / package).as_posix()}"
        for floor, package in FLOORS.items()
        for path in (ROOT / floor / package).rglob("*/__init__.py")
        if path.parent != ROOT / floor / package
    }


def capabilities() -> dict[str, tuple[list[str], Path]]:
    """The rooms of each capability, and the file to open first."""
    rows = re.findall(r"^\| (.+?) \| ((?:`[\w/]+` ?)+) \| `([\w/.]+)` \|$", TEXT, flags=re.M)
    return {name: (re.findall(r"`(.+?)`", named), Path(first)) for name, named, first in rows}


def test_every_room_belongs_to_one_capability() -> None:
    listed = Counter(room for named, _first in capabilities().values() for room in named)
    assert set(listed) <= rooms() and set(listed.values()) == {1}
    assert [room for room in rooms() if not any(f"{room}/".startswith(f"{each}/") for each in listed)] == []


def test_the_file_to_open_first_lies_in_a_room_of_its_capability() -> None:
    for name, (named, first) in capabilities().items():
        assert (ROOT / first).is_file(), name
        floor, _package, *inside = first.parts
        assert any("/".join((floor, *inside)).startswith(f"{room}/") for room in named), name


def test_a_command_lies_beside_its_program_or_has_none_of_its_own() -> None:
    programs = {name: module.rsplit(".", 1) for name, (module, _line) in COMMANDS.items()}
    beside = {name: module for name, (room, module) in programs.items() if not room.startswith("cli.")}
    assert {name: each for name, each in beside.items() if each not in ("command", f"{name}_command")} == {}
    assert len(beside) > 15


def test_each_step_of_a_walk_is_a_function_that_is_there() -> None:
    walks = re.findall(r"^\*\*(\w+)\*\*: (?:.+\n)+\n((?:\d+\. .*\n)+)", TEXT, flags=re.M)
    assert [name for name, _steps in walks] == ["Publish", "Call", "Prompt", "Overlay", "Verify"]
    for name, steps in walks:
        named = re.findall(r"^\d+\. `([\w/.]+):(\w+)`", steps, flags=re.M)
        assert 5 < len(named) == steps.count("\n") <= STEPS_MAX, name
        for path, function in named:
            tree = ast.parse((ROOT / path).read_text())
            there = {
                each.name for each in ast.walk(tree) if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)
            }
            assert function in there, f"{path}:{function}"
