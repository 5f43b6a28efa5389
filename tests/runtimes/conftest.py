"""Fixtures of the tests of agents' real programs: a model of ours, a hook, and a program with both."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.runtimes.hook import RecordingHook
from support.runtimes.model import ScriptedModel
from support.runtimes.programs import Program

Start = Callable[[type[Program]], Program]


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    """Serves until the test ends."""
    made = ScriptedModel()
    with made as made.url:
        yield made


@pytest.fixture
def hook(tmp_path: Path) -> RecordingHook:
    return RecordingHook(tmp_path / "hook")


@pytest.fixture
def start(tmp_path: Path, model: ScriptedModel, hook: RecordingHook) -> Callable[..., Program]:
    """Makes a program whose hook is `hook`, or skips the test where it cannot be started."""

    def made(program: type[Program], *events: str) -> Program:
        if reason := program.missing():
            pytest.skip(reason)
        return program(tmp_path / program.name, model.url, hook.command, events)

    return made
