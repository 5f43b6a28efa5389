"""A vault for calls that must not block: it answers from the content cache or not at all.

Most calls ask for notes that were read a moment ago. Such a call is worth making on the event loop itself:
handing it to a thread and back costs more than the call. Whatever would read a file or wait for the index raises
`NotWarm`; the caller then makes the same call on a thread, over the vault itself.
"""

from collections.abc import Sequence

from workspaced_events.ids import NoteId
from workspaced_events.state import VaultState

from ..view import Incoming, LinkName, LinkTarget, Resolution
from .note import Note, NoteFailure
from .vault import Vault


class NotWarm(BaseException):
    """The call needs more than the cache. No Exception: no tool's handler may take it for a failure."""


class WarmVault:
    """Implements `VaultPort` over `vault`."""

    def __init__(self, vault: Vault) -> None:
        self._vault = vault

    def read(self, notes: Sequence[NoteId]) -> list[Note | NoteFailure]:
        found = self._vault.read_warm(notes)
        if found is None:
            raise NotWarm
        return found

    def resolve(self, reference: str, state: VaultState) -> Resolution:
        raise NotWarm

    def link_targets(self, source: NoteId, links: Sequence[LinkName], state: VaultState) -> list[LinkTarget]:
        raise NotWarm

    def incoming(self, note: NoteId, limit: int, state: VaultState) -> Incoming:
        raise NotWarm

    def note_count(self) -> int:
        return self._vault.note_count()

    def index_state(self) -> str:
        return self._vault.index_state()
