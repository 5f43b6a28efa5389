"""A note that turns private between its reading and the sending of the answer is in no answer."""

import time
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from types import SimpleNamespace
from typing import Any, Final
from unittest.mock import Mock

import msgspec
import pytest

from workspaced.calls.answers import Answers, Present
from workspaced.vaults.served_vault import ServedVault
from workspaced_events.ids import NoteId, VaultId
from workspaced_events.projections.workspace_state import EMPTY
from workspaced_events.projections.workspace_state import Vault as Registered
from workspaced_tools.ports.asking import WouldBlock
from workspaced_tools.tools.registry import TOOLS
from workspaced_tools.vault.vault import Vault

V, PLAN = VaultId("v"), NoteId("plan.md")
TEXT: Final = "# Plan\n\nBack to [[home]]. zebra\n"
CALLS: Final[list[tuple[str, dict[str, Any]]]] = [
    ("get_note_by_reference", {"reference": "plan.md", "includeContent": True}),
    ("get_note_by_reference", {"reference": "plan", "includeContent": True}),
    ("search_workspace", {"query": "zebra"}),
    ("get_related_notes", {"reference": "home.md"}),
    ("get_workspace_summary", {}),
]


class World:
    """A vault in which no editor shows a note, so nothing but what is read tells what an answer rests on."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "home.md").write_text("# Home\n\nTo [[plan]]. zebra\n")
        (folder / PLAN).write_text(TEXT)
        self.vault = Vault(folder, clock_ns=lambda: time.time_ns() + 10_000_000_000)
        self.served = ServedVault(V, folder, self.vault)
        self.served.policy_enforced(self.vault.policy.digest)
        self.vault.reconcile()
        unused: Any = Mock()
        visits: Any = SimpleNamespace(visits=lambda *_: (), visits_nonblocking=lambda *_: ())
        self.answers = Answers(visits, unused, unused, unused, lambda: "2026-03-01T12:00:00.000000Z")
        self.state = msgspec.structs.replace(EMPTY, current=V, vaults={V: Registered(V, "v", str(folder), True)})

    def turns_private(self) -> None:
        """Another call finds it, on another thread, while one is being answered."""
        (self.folder / PLAN).write_text(f"---\nworkspaced: private\n---\n{TEXT}")
        other = Thread(target=self.vault.notes.read, args=([PLAN],))
        other.start()
        other.join()

    def ask(self, tool: str, arguments: dict[str, Any], *, nonblocking: bool = False) -> bytes:
        present = Present(self.state, 0, self.served)
        return self.answers.answer(TOOLS[tool], arguments, "agent", present, nonblocking=nonblocking).payload


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.vault.close()


@pytest.fixture
def ended(world: World, monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The answers of the calls that ended; after the first one the note turns private, before it is sent."""
    found: list[bytes] = []
    really = world.answers._traced.answer

    def answer(*args: Any) -> Any:
        made = really(*args)
        if not found:
            world.turns_private()
        found.append(made.payload)
        return made

    monkeypatch.setattr(world.answers._traced, "answer", answer)
    return found


@pytest.mark.fault(row=52)
@pytest.mark.parametrize(("tool", "arguments"), CALLS)
def test_it_is_told_of_as_if_it_were_not_there(
    world: World, ended: list[bytes], tool: str, arguments: dict[str, Any]
) -> None:
    sent = world.ask(tool, arguments)
    assert len(ended) == 2 and ended[0] != ended[1] == sent
    assert b"Plan" not in sent and b"Back" not in sent
    assert world.ask(tool, arguments) == sent


def test_on_the_loop_the_call_goes_to_a_thread(world: World, ended: list[bytes]) -> None:
    tool, arguments = CALLS[0]
    world.vault.notes.read([PLAN])
    with pytest.raises(WouldBlock):
        world.ask(tool, arguments, nonblocking=True)
    assert len(ended) == 1
