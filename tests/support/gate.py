"""What tests of the gate ask the vault through, so that they stay while its parts are put together anew."""

from typing import Any

from workspaced_events.ids import NoteId
from workspaced_events.projections.workspace_state import VaultState
from workspaced_tools.notes.note import Level
from workspaced_tools.ports.asking import WouldBlock, without_waiting
from workspaced_tools.ports.questions import Question, R
from workspaced_tools.sharing.gate import KnownLists, is_current, refusal, shared_view, sharing_off
from workspaced_tools.vault.vault import Vault
from workspaced_tools.vault.withheld_names import WithheldNames

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


class NonBlockingVault:
    """A vault asked as on the event loop: it answers without waiting, or raises WouldBlock."""

    def __init__(self, vault: Vault) -> None:
        self._vault = vault

    def ask(self, question: Question[R], state: VaultState, least: Level = Level.VOLUNTEER) -> R:
        with without_waiting():
            return self._vault.ask(question, state, least)

    def withholds(self, note: NoteId, **least: Any) -> bool:
        with without_waiting():
            return self._vault.withholds(note, **least)
