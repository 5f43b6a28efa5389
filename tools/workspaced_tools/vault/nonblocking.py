"""A vault for calls that must not block: it answers from the content cache or not at all.

Most calls ask for notes that were read a moment ago. Such a call is worth making on the event loop itself:
handing it to a thread and back costs more than the call. Whatever would read a file or wait for the index raises
`NotWarm`; the caller then makes the same call on a thread, over the vault itself.
"""

import unicodedata
from collections.abc import Sequence

from workspaced_events.ids import NoteId
from workspaced_events.projections.workspace_state import VaultState

from ..notes.note import Note, NoteFailure
from ..ports.history import VersionAt
from ..ports.prompts import KeptPrompt
from ..ports.vault import (
    Found,
    Incoming,
    LinkName,
    LinkTarget,
    Members,
    NoteRef,
    Overview,
    Resolution,
    Search,
    SimilarNote,
    TaggedNote,
)
from .index.database import IndexLost
from .index.entries import NamedNote
from .links.resolver import IndexLookup, resolve
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

    def withholds(self, note: NoteId) -> bool:
        """As `Vault.withholds`."""
        known = self._vault.known_to_withhold(note)
        if known is None:
            if self._vault.has(note):
                raise NotWarm
            return True
        return known

    def resolve(self, reference: str, state: VaultState) -> Resolution:
        try:
            found = resolve(reference, self, state)
        except IndexLost:
            raise NotWarm from None
        refs = [found.note] if found.note is not None else found.candidates
        if found.resolved_by != "path":
            # Raises where the index is behind a file: the vault itself mends it and asks again.
            self.names([ref.id for ref in refs])
        return found

    def link_targets(self, source: NoteId, links: Sequence[LinkName], state: VaultState) -> list[LinkTarget]:
        raise NotWarm

    def incoming(self, note: NoteId, limit: int, state: VaultState) -> Incoming:
        raise NotWarm

    def names(self, notes: Sequence[NoteId]) -> list[NoteRef | None]:
        try:
            found = self._vault.names_warm(notes)
        except IndexLost:
            raise NotWarm from None
        if found is None:
            raise NotWarm
        return found

    def search(self, search: Search) -> Found:
        raise NotWarm

    def members(self, folder: str | None, tag: str | None, limit: int) -> Members:
        raise NotWarm

    def similar(self, note: NoteId, limit: int) -> list[SimilarNote]:
        raise NotWarm

    def sharing_tags(self, note: NoteId, limit: int) -> list[TaggedNote]:
        raise NotWarm

    def overview(self, limit: int) -> Overview:
        raise NotWarm

    # -- the resolver's look-up --

    def at_path(self, path: NoteId) -> NoteRef | None:
        found = self._vault.read_warm([path])
        if found is not None and isinstance(found[0], Note):
            return NoteRef(path, found[0].title, path)
        if not unicodedata.is_normalized("NFC", path) or self._vault.has(path):
            raise NotWarm
        return None

    def named(self, name_key: str) -> Sequence[NamedNote]:
        return self._ready_index().named(name_key)

    def near(self, name: str, limit: int) -> Sequence[NamedNote]:
        raise NotWarm  # It compares thousands of titles.

    def _ready_index(self) -> IndexLookup:
        if self._vault.index_state() != "ready":
            raise NotWarm
        return IndexLookup(self._vault.index, self._vault.is_withheld)

    # -- counts --

    def note_count(self) -> int:
        return self._vault.note_count()

    def index_state(self) -> str:
        return self._vault.index_state()


class WarmPast:
    """Implements `PastPort`: whoever asks for the past has to wait for it."""

    def version(self, note: NoteId, since: int | str | None, current: str) -> VersionAt:
        raise NotWarm


class WarmPrompts:
    """Implements `PromptSource`: a manifest is read from a file."""

    def prompt(self, conversation: str | None, message: str | None) -> KeptPrompt:
        raise NotWarm

    def look(self, notes: Sequence[NoteId]) -> None:
        raise NotWarm
