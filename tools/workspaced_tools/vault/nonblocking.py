"""A vault for calls that must not block: it answers from the content cache or raises `WouldBlock`.

Most calls ask for notes that were read a moment ago. Such a call runs on the event loop, because the hand-over to
a thread would cost more than the call. A question that would wait for the index, or for a file that was not read
or changed just before (see content_cache), raises `WouldBlock`; the caller then runs the same call on a thread,
over the blocking vault.
"""

import unicodedata
from collections.abc import Callable, Sequence
from typing import Any, Final

from msgspec.structs import replace

from workspaced_events.ids import NoteId
from workspaced_events.projections.workspace_state import VaultState

from ..notes.note import Level, Note, NoteFailure, readable
from ..ports.asking import WouldBlock
from ..ports.questions import IndexState, Names, NoteCount, Question, R, Read, Resolve, ResolveFrom
from ..ports.vault import NoteRef, Resolution
from .index.database import IndexLost
from .index.entries import NamedNote
from .index.files import files_named, is_file_known
from .links.followed_references import resolve_from
from .links.resolver import IndexLookup, Lookup, members, resolve
from .vault import Vault


class NonBlockingVault:
    """Implements `VaultSource` over `vault`. Where a method takes `least`, it is the least level that its audience
    is shown; what the name of a note for explicit requests means, only the blocking vault finds out."""

    def __init__(self, vault: Vault) -> None:
        self._vault = vault

    def ask(self, question: Question[R], state: VaultState, least: Level = Level.VOLUNTEER) -> R:
        """As `VaultSource.ask`.

        Raises:
            WouldBlock: the answer may wait for a file, or needs a slow look-up in the index.
        """
        answer: Any
        match question:
            case Read(notes):
                answer = self._read(notes, state, least)
            case Resolve(reference):
                answer = self._resolved(lambda lookup: resolve(reference, lookup, state), least)
            case ResolveFrom(reference, source):
                answer = self._resolved(lambda lookup: resolve_from(reference, source, lookup, state), least)
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

    def _read(self, notes: Sequence[NoteId], state: VaultState, least: Level) -> list[Note | NoteFailure]:
        selected = self._vault.root.selected
        files = [note for note in notes if not selected.holds(note)]
        if files and (any(map(selected.is_attachment, files)) or not members(state).keys() >= set(files)):
            raise WouldBlock
        found = self._vault.notes.read_nonblocking(notes, least)
        if found is None:
            raise WouldBlock
        for each in found:
            if isinstance(each, NoteFailure):
                _check_settled(self._vault, each.id, least)
        return [readable(each) for each in found]

    def withholds(self, note: NoteId, least: Level = Level.VOLUNTEER) -> bool:
        """As `Vault.withholds`."""
        if self._vault.root.selected.is_attachment(note):
            raise WouldBlock
        known = self._vault.known_to_withhold(note, least)
        if known is not None:
            return known
        _check_settled(self._vault, note, least)
        if not self._vault.has(note, least):
            return True
        if self._vault.visibility.finding(note) is None:
            raise WouldBlock
        found = self._vault.notes.read_nonblocking([note], least)
        if found is None:
            raise WouldBlock
        return not isinstance(found[0], Note)

    def _resolved(self, look: Callable[[Lookup], Resolution], least: Level) -> Resolution:
        try:
            found = look(_QuickLookup(self._vault, least))
        except IndexLost:
            raise WouldBlock from None
        if least is not Level.VOLUNTEER and found.resolved_by != "path" and self._vault.notes.has_requested:
            raise WouldBlock
        refs = [found.note] if found.note is not None else found.candidates
        if found.resolved_by != "path":
            # Raises if the index lags behind a file: the blocking vault repairs the index and asks again.
            self._names([ref.id for ref in refs])
        if not found.complete and self._vault.index_state() != "ready":
            raise WouldBlock
        return replace(found, complete=True)

    def _names(self, notes: Sequence[NoteId]) -> list[NoteRef | None]:
        try:
            found = self._vault.notes.names_nonblocking(notes)
        except IndexLost:
            raise WouldBlock from None
        if found is None:
            raise WouldBlock
        return found


class _QuickLookup:
    """The resolver's look-up."""

    paths_by_name: Final = False

    def __init__(self, vault: Vault, least: Level) -> None:
        self._vault = vault
        self._least = least

    def at_path(self, path: NoteId) -> NoteRef | None:
        if not self._vault.root.selected.holds(path):
            if is_file_known(self._vault.index.file, path):
                raise WouldBlock
            return None
        found = self._vault.notes.read_nonblocking([path])
        if found is not None and isinstance(found[0], Note):
            return NoteRef(path, found[0].title, path)
        if not unicodedata.is_normalized("NFC", path) or self._vault.has(path):
            raise WouldBlock
        _check_settled(self._vault, path, self._least)
        return None

    def named(self, name_key: str) -> Sequence[NamedNote]:
        index = self._vault.index
        if self._vault.index_state() != "ready" or files_named(index.file, name_key):
            raise WouldBlock
        return IndexLookup(index, self._vault.is_withheld).named(name_key)

    def near(self, name: str, limit: int) -> Sequence[NamedNote]:
        raise WouldBlock  # the search compares thousands of titles


def _check_settled(vault: Vault, note: NoteId, least: Level) -> None:
    if vault.levels.settles_in_s(note, least) is not None:
        raise WouldBlock
