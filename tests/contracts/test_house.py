"""What every module keeps to: a program is started by its last lines, and types are prepared behind one lock."""

import ast
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import workspaced
import workspaced_events
import workspaced_tools

FLOORS = (workspaced_events, workspaced_tools, workspaced)


def modules(floor: ModuleType) -> list[Path]:
    """The floor's modules, as paths below it."""
    root = Path(floor.__path__[0])
    return [path.relative_to(root).with_suffix("") for path in root.rglob("*.py") if path.name != "__init__.py"]


# -- programs --


def starts_a_program(statement: ast.stmt) -> bool:
    """Whether it is `if __name__ == "__main__"`."""
    return isinstance(statement, ast.If) and ast.unparse(statement.test) == "__name__ == '__main__'"


@pytest.mark.parametrize("floor", FLOORS, ids=lambda floor: floor.__name__)
def test_what_starts_a_program_is_the_last_of_its_module(floor: ModuleType) -> None:
    """What stood behind it would not be there yet while the program runs."""
    root = Path(floor.__path__[0])
    bodies = {each: ast.parse((root / each).with_suffix(".py").read_text()).body for each in modules(floor)}
    assert [str(each) for each, body in bodies.items() if any(map(starts_a_program, body[:-1]))] == []


# -- decoding from threads --

DECODING = ("workspaced_events", "schema/decoding")
NEVER_ON_A_THREAD = {("workspaced", "cli/workspace/publish"), ("workspaced", "service/session")}


def unprepared(tree: ast.AST) -> Iterator[str]:
    """Calls by which msgspec may prepare a type at any time, on any thread."""
    inner = {
        call
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for call in ast.walk(function)
    }
    for call in ast.walk(tree):
        if not isinstance(call, ast.Call):
            continue
        name = ast.unparse(call.func)
        is_typed = name.startswith("msgspec.") and any(each.arg == "type" for each in call.keywords)
        is_late = name.endswith(".Decoder") and call in inner
        if (name.endswith(".decode") and is_typed) or name in {"msgspec.convert", "convert"} or is_late:
            yield f"{call.lineno}: {name}"


@pytest.mark.parametrize("floor", FLOORS, ids=lambda floor: floor.__name__)
def test_types_are_prepared_behind_one_lock_or_by_an_import(floor: ModuleType) -> None:
    """Two threads that prepare one type at once end the process: see schema/decoding.py."""
    root = Path(floor.__path__[0])
    allowed = {DECODING, *NEVER_ON_A_THREAD}
    found = {
        str(each): calls
        for each in modules(floor)
        if (floor.__name__, each.as_posix()) not in allowed
        and (calls := [*unprepared(ast.parse((root / each).with_suffix(".py").read_text()))])
    }
    assert found == {}
