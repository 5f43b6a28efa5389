"""A vault for calls that must not block: it answers from the content cache or not at all.

Most calls ask for notes that were read a moment ago. Such a call is worth making on the event loop itself:
handing it to a thread and back costs more than the call. Whatever would read a file or wait for the index raises
`NotWarm`; the caller then makes the same call on a thread, over the vault itself.
"""

import unicodedata
from collections.abc import Sequence

from workspaced_events.ids import NoteId
from workspaced_events.state import VaultState

from ..view import Incoming, LinkName, LinkTarget, NoteRef, Resolution
from .index import Index, IndexEntry
from .note import Note, NoteFailure
from .resolver import resolve
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
        found = resolve(reference, self, state)
        named = [found.note] if found.note is not None else [*found.candidates, *found.near]
        for note in self.read([ref.id for ref in named]):
            # Where the index is behind the file the vault itself mends it and asks again.
            if isinstance(note, NoteFailure) or not self._vault.has_indexed(note):
                raise NotWarm
        return found

    def link_targets(self, source: NoteId, links: Sequence[LinkName], state: VaultState) -> list[LinkTarget]:
        raise NotWarm

    def incoming(self, note: NoteId, limit: int, state: VaultState) -> Incoming:
        raise NotWarm

    # -- the resolver's look-up --

    def at_path(self, path: NoteId) -> NoteRef | None:
        found = self._vault.read_warm([path])
        if found is not None and isinstance(found[0], Note):
            return NoteRef(path, found[0].title, path)
        if not unicodedata.is_normalized("NFC", path) or self._vault.has(path):
            raise NotWarm
        return None

    def named(self, name_key: str) -> Sequence[IndexEntry]:
        return self._ready_index().named(name_key)

    def near(self, name: str, limit: int) -> Sequence[IndexEntry]:
        return self._ready_index().near(name, limit)

    def _ready_index(self) -> Index:
        if self._vault.index_state() != "ready":
            raise NotWarm
        return self._vault.index

    # -- counts --

    def note_count(self) -> int:
        return self._vault.note_count()

    def index_state(self) -> str:
        return self._vault.index_state()
