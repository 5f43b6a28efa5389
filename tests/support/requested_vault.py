"""A vault as an agent sees it that asks for notes explicitly."""

from typing import Any

from workspaced_events.projections.workspace_state import VaultState
from workspaced_tools.notes.note import Level
from workspaced_tools.ports.asking import Audience
from workspaced_tools.ports.questions import Question
from workspaced_tools.vault.vault import Vault


class RequestedVault:
    def __init__(self, vault: Vault) -> None:
        self._vault = vault

    def ask(self, question: Question[Any], state: VaultState) -> Any:
        return self._vault.ask(question, state, Audience(Level.ON_REQUEST))
