"""ARCHITECTURE.md says what is there: every room with its own sentence, and walks over functions that exist."""

import ast
import re

from support import ROOT

TEXT = (ROOT / "ARCHITECTURE.md").read_text()
FLOORS = {"events": "workspaced_events", "tools": "workspaced_tools", "workspaced": "workspaced"}
STEPS_MAX = 15


def rooms() -> dict[str, str]:
    """Each room's path below its floor, with the floor's package, and the sentence of its docstring."""
    found = {}
    for folder, package in FLOORS.items():
        root = ROOT / folder / package
        for path in root.rglob("__init__.py"):
            if path.parent != root:
                text = ast.get_docstring(ast.parse(path.read_text())) or ""
                found[f"{package}:{path.parent.relative_to(root).as_posix()}"] = " ".join(text.split())
    return found


def listed() -> dict[str, str]:
    found = {}
    for section in re.split(r"^### Floor .*?: `", TEXT, flags=re.M)[1:]:
        package = section[: section.index("`")]
        for room, text in re.findall(r"^\| `([\w/]+)` \| (.*) \|$", section, flags=re.M):
            found[f"{package}:{room}"] = text
    return found


def test_every_room_stands_there_with_its_own_sentence() -> None:
    assert listed() == rooms()


def test_each_step_of_a_walk_is_a_function_that_is_there() -> None:
    walks = re.findall(r"^\*\*(\w+)\*\*: .*\n\n((?:\d+\. .*\n)+)", TEXT, flags=re.M)
    assert [name for name, _steps in walks] == ["Publish", "Call", "Assemble", "Volunteer", "Verify", "Inspect"]
    for name, steps in walks:
        named = re.findall(r"^\d+\. `([\w/.]+):(\w+)`", steps, flags=re.M)
        assert 5 < len(named) == steps.count("\n") <= STEPS_MAX, name
        for path, function in named:
            tree = ast.parse((ROOT / path).read_text())
            there = {
                each.name for each in ast.walk(tree) if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)
            }
            assert function in there, f"{path}:{function}"
