"""Fixtures of the tests of agents' real programs."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.runtimes.bed import Bed
from support.runtimes.hook import RecordingHook
from support.runtimes.model import ScriptedModel
from support.runtimes.programs import Program


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Bed]]:
    """Makes the bed of a program, or skips the test where that cannot be started."""
    hook, model = RecordingHook(tmp_path / "hook"), ScriptedModel()

    def made(program: type[Program], *events: str, command: str = hook.command) -> Bed:
        if reason := program.missing():
            pytest.skip(reason)
        return Bed(program(tmp_path / program.name, url, command, events), model, hook)

    with model as url:
        yield made
