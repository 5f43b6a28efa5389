"""What tests of the gate ask the vault through, so that they stay while its parts are put together anew."""

from typing import Any

from workspaced_events.ids import NoteId
from workspaced_events.projections.workspace_state import VaultState, WorkspaceState
from workspaced_tools.ports.asking import UNASKED, Audience, WouldBlock, without_waiting
from workspaced_tools.ports.questions import Question, R
from workspaced_tools.ports.view import View
from workspaced_tools.sharing import gate
from workspaced_tools.sharing.gate import refusal, sharing_off
from workspaced_tools.sharing.verdicts import IsWithheld, KnownLists, Verdicts, WithheldNames
from workspaced_tools.vault.vault import Vault

__all__ = [
    "KnownLists",
    "NonBlockingVault",
    "WithheldNames",
    "WouldBlock",
    "is_current",
    "refusal",
    "shared_view",
    "sharing_off",
]


_deciding: dict[int, tuple[Verdicts, list[IsWithheld]]] = {}
"""The verdicts of each view's vault, and who decides them now."""


def shared_view(*args: Any, withheld: IsWithheld, lists: KnownLists | None = None, **more: Any) -> View:
    decides = [withheld]
    verdicts = Verdicts(lambda note: decides[0](note), lists)
    view = gate.shared_view(*args, withheld=verdicts, **more)
    _deciding[id(view.vault)] = verdicts, decides
    return view


def is_current(view: View, _state: WorkspaceState, withheld: IsWithheld) -> bool:
    """Whether all that the view has said of notes would be decided so by `withheld`."""
    verdicts, decides = _deciding[id(view.vault)]
    before, decides[0] = decides[0], withheld
    try:
        return verdicts.hold()
    finally:
        decides[0] = before


class NonBlockingVault:
    """A vault asked as on the event loop: it answers without waiting, or raises WouldBlock."""

    def __init__(self, vault: Vault) -> None:
        self._vault = vault

    def ask(self, question: Question[R], state: VaultState, audience: Audience = UNASKED) -> R:
        with without_waiting():
            return self._vault.ask(question, state, audience)

    def withholds(self, note: NoteId, **least: Any) -> bool:
        with without_waiting():
            return self._vault.withholds(note, **least)
