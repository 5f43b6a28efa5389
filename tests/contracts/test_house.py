"""The plan of the house: every module in a room, and no room too full to know."""

import ast
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest

import workspaced
import workspaced_events
import workspaced_tools

FLOORS = (workspaced_events, workspaced_tools, workspaced)
LOOSE = {
    "workspaced_events": {
        "clock",
        "errors",
        "escaping",
        "ids",
        "interpreter",
        "interrupts",
        "limits",
        "private_files",
    },
    "workspaced_tools": {"answers", "errors", "limits"},
    "workspaced": {"__about__", "__main__", "errors", "limits", "replay"},
}
"""What lies in no room: what every room needs, and what is public."""
MODULES_MAX = 14
TOOLS_MAX = 20
"""The tools have a file each."""


def modules(floor: ModuleType) -> list[Path]:
    """The floor's modules, as paths below it."""
    root = Path(floor.__path__[0])
    return [path.relative_to(root).with_suffix("") for path in root.rglob("*.py") if path.name != "__init__.py"]


@pytest.mark.parametrize("floor", FLOORS, ids=lambda floor: floor.__name__)
def test_no_module_lies_loose(floor: ModuleType) -> None:
    assert {path.name for path in modules(floor) if len(path.parts) == 1} == LOOSE[floor.__name__]


@pytest.mark.parametrize("floor", FLOORS, ids=lambda floor: floor.__name__)
def test_no_room_is_too_full_to_know(floor: ModuleType) -> None:
    rooms = Counter(path.parent for path in modules(floor) if len(path.parts) > 1)
    full = {str(room): count for room, count in rooms.items() if count > MODULES_MAX}
    assert all(room == "tools" and count <= TOOLS_MAX for room, count in full.items()), full


@pytest.mark.parametrize("floor", FLOORS, ids=lambda floor: floor.__name__)
def test_each_room_says_in_one_sentence_what_it_is(floor: ModuleType) -> None:
    root = Path(floor.__path__[0])
    for path in {root / each.parent for each in modules(floor)}:
        text = (path / "__init__.py").read_text().strip()
        assert text.startswith('"""'), path
        if path != root and path.name != "cli":
            assert text.endswith('"""') and text.count('"""') == 2, f"more than a docstring: {path}"


# -- programs --


def starts_a_program(statement: ast.stmt) -> bool:
    """Whether it is `if __name__ == "__main__"`."""
    return isinstance(statement, ast.If) and ast.unparse(statement.test) == "__name__ == '__main__'"


@pytest.mark.thorough
@pytest.mark.parametrize("floor", FLOORS, ids=lambda floor: floor.__name__)
def test_what_starts_a_program_is_the_last_of_its_module(floor: ModuleType) -> None:
    """What stood behind it would not be there yet while the program runs."""
    root = Path(floor.__path__[0])
    bodies = {each: ast.parse((root / each).with_suffix(".py").read_text()).body for each in modules(floor)}
    assert [str(each) for each, body in bodies.items() if any(map(starts_a_program, body[:-1]))] == []
