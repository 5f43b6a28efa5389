"""The gate before the memory folder: who may not use it does not reach it."""

import pytest

from workspaced_events.projections.workspace_state import EMPTY
from workspaced_tools.errors import NotRecorded, SharingOff
from workspaced_tools.ports.memory import MemoryAnswer
from workspaced_tools.ports.questions import UseMemory
from workspaced_tools.sharing.gate import shared_view

NOW = "2026-03-01T12:00:00.000000Z"
COMMAND = UseMemory("delete", "/memories/plan.md")


def test_a_client_that_is_shown_only_names_does_not_reach_it() -> None:
    commands: list[UseMemory] = []

    def memory(command: UseMemory) -> MemoryAnswer:
        commands.append(command)
        return MemoryAnswer(command.path)

    view = shared_view(EMPTY, NOW, None, level="names", withheld=lambda _note: False, memory=memory)
    with pytest.raises(SharingOff):
        view.vault.ask(COMMAND)
    assert commands == []
    view = shared_view(EMPTY, NOW, None, level="all", withheld=lambda _note: False, memory=memory)
    assert view.vault.ask(COMMAND).path == COMMAND.path and commands == [COMMAND]


def test_a_view_of_the_past_has_no_memory_folder() -> None:
    view = shared_view(EMPTY, NOW, None, level="all", withheld=lambda _note: False)
    with pytest.raises(NotRecorded):
        view.vault.ask(COMMAND)
