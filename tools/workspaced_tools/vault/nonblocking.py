"""A vault for calls that must not block: it answers from the content cache or not at all.

Most calls ask for notes that were read a moment ago. Such a call is worth making on the event loop itself:
handing it to a thread and back costs more than the call. Whatever would read a file or wait for the index raises
`WouldBlock`; the caller then makes the same call on a thread, over the vault itself.
"""

import unicodedata
from collections.abc import Sequence
from typing import Any

from workspaced_events.ids import NoteId
from workspaced_events.projections.workspace_state import VaultState

from ..notes.note import Note, NoteFailure
from ..ports.history import VersionAt
from ..ports.prompts import StoredManifest
from ..ports.questions import IndexState, Names, NoteCount, Question, R, Read, Resolve
from ..ports.vault import NoteRef, Resolution
from .index.database import IndexLost
from .index.entries import NamedNote
from .links.resolver import IndexLookup, resolve
from .vault import Vault


class WouldBlock(BaseException):
    """The call needs more than the cache. No Exception: no tool's handler may take it for a failure."""


class NonBlockingVault:
    """Implements `VaultSource` over `vault`."""

    def __init__(self, vault: Vault) -> None:
        self._vault = vault

    def ask(self, question: Question[R], state: VaultState) -> R:
        """As `VaultSource.ask`.

        Raises:
            WouldBlock: the answer needs a file or a look-up in the index that takes long.
        """
        answer: Any
        match question:
            case Read(notes):
                answer = self._read(notes)
            case Resolve(reference):
                answer = self._resolve(reference, state)
            case Names(notes):
                answer = self._names(notes)
            case NoteCount():
                answer = self._vault.note_count()
            case IndexState():
                answer = self._vault.index_state()
            case _:
                raise WouldBlock
        found: R = answer
        return found

    def _read(self, notes: Sequence[NoteId]) -> list[Note | NoteFailure]:
        found = self._vault.read_nonblocking(notes)
        if found is None:
            raise WouldBlock
        return found

    def withholds(self, note: NoteId) -> bool:
        """As `Vault.withholds`."""
        known = self._vault.known_to_withhold(note)
        if known is None:
            if self._vault.has(note):
                raise WouldBlock
            return True
        return known

    def _resolve(self, reference: str, state: VaultState) -> Resolution:
        try:
            found = resolve(reference, self, state)
        except IndexLost:
            raise WouldBlock from None
        refs = [found.note] if found.note is not None else found.candidates
        if found.resolved_by != "path":
            # Raises where the index is behind a file: the vault itself mends it and asks again.
            self._names([ref.id for ref in refs])
        return found

    def _names(self, notes: Sequence[NoteId]) -> list[NoteRef | None]:
        try:
            found = self._vault.names_nonblocking(notes)
        except IndexLost:
            raise WouldBlock from None
        if found is None:
            raise WouldBlock
        return found

    # -- the resolver's look-up --

    def at_path(self, path: NoteId) -> NoteRef | None:
        found = self._vault.read_nonblocking([path])
        if found is not None and isinstance(found[0], Note):
            return NoteRef(path, found[0].title, path)
        if not unicodedata.is_normalized("NFC", path) or self._vault.has(path):
            raise WouldBlock
        return None

    def named(self, name_key: str) -> Sequence[NamedNote]:
        return self._ready_index().named(name_key)

    def near(self, name: str, limit: int) -> Sequence[NamedNote]:
        raise WouldBlock  # It compares thousands of titles.

    def _ready_index(self) -> IndexLookup:
        if self._vault.index_state() != "ready":
            raise WouldBlock
        return IndexLookup(self._vault.index, self._vault.is_withheld)


class NonBlockingPast:
    """Implements `PastPort`: the past is read from files."""

    def version(self, note: NoteId, since: int | str | None, current: str) -> VersionAt:
        raise WouldBlock


class NonBlockingPrompts:
    """Implements `PromptSource`: a manifest is read from a file."""

    def prompt(self, conversation: str | None, message: str | None) -> StoredManifest:
        raise WouldBlock

    def refresh_flags(self, notes: Sequence[NoteId]) -> None:
        raise WouldBlock
