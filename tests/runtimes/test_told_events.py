"""What the real programs tell their hooks has the fields that tests/data/runtimes has."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from support.runtimes.bed import Bed
from support.runtimes.programs import PROGRAMS, Program
from support.runtimes.recordings import DATA, by_name, recorded, whole_session

each_program = pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)


def form(value: Any) -> Any:
    """The names and types in an object."""
    return {name: form(each) for name, each in value.items()} if isinstance(value, dict) else type(value).__name__


def holds(told: Any, known: Any) -> bool:
    """Whether a form has at least the fields of another."""
    if not isinstance(known, dict):
        return bool(told == known)
    return isinstance(told, dict) and all(name in told and holds(told[name], known[name]) for name in known)


@pytest.mark.thorough
@each_program
def test_a_program_tells_its_hook_every_recorded_event_with_the_recorded_fields(
    program: type[Program], start: Callable[..., Bed]
) -> None:
    bed = start(program, *program.events)
    whole_session(bed.program, bed.model)
    told = by_name(bed.hook.told())
    missing = {name: each for name, each in recorded(program.name).items() if name not in told}
    assert missing == {}
    changed = [name for name, each in recorded(program.name).items() if not holds(form(told[name]), form(each))]
    assert changed == []


@each_program
def test_recorded_events_name_no_machine(program: type[Program]) -> None:
    for name, told in recorded(program.name).items():
        assert told["cwd"] == "/home/u/notes", name
        assert told["session_id"].startswith("00000000-0000-4000-8000-"), name
        assert "/tmp/pytest" not in json.dumps(told), name


@each_program
def test_the_readme_names_the_version_that_was_recorded(program: type[Program]) -> None:
    text = (DATA / program.name / "README.md").read_text()
    assert text.startswith(f"# {program.package} ")
    assert len(recorded(program.name)) >= 7
