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
from ..ports.history import ChangedLines, VersionAt
from ..ports.prompts import StoredManifest
from ..ports.questions import IndexState, Names, NoteCount, Question, R, Read, Resolve, ResolveFrom
from ..ports.vault import NoteRef, Resolution
from .index.database import IndexLost
from .index.entries import NamedNote
from .index.files import files_named, is_file_known
from .links.followed_references import resolve_from
from .links.resolver import IndexLookup, members, resolve
from .vault import Vault


class WouldBlock(BaseException):
    """The call needs more than the cache. A BaseException, so that no tool handles it as a failure."""


class NonBlockingVault:
    """Implements `VaultSource` over `vault`."""

    paths_by_name: Final = False

    def __init__(self, vault: Vault, least: Level = Level.VOLUNTEER) -> None:
        """`least`: the least level that the audience is shown. What such a note's name means, only the blocking
        vault finds out."""
        self._vault = vault
        self._least = least

    def ask(self, question: Question[R], state: VaultState) -> R:
        """As `VaultSource.ask`.

        Raises:
            WouldBlock: the answer may wait for a file, or needs a slow look-up in the index.
        """
        answer: Any
        match question:
            case Read(notes):
                answer = self._read(notes, state)
            case Resolve(reference):
                answer = self._resolved(lambda: resolve(reference, self, state))
            case ResolveFrom(reference, source):
                answer = self._resolved(lambda: resolve_from(reference, source, self, state))
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

    def _read(self, notes: Sequence[NoteId], state: VaultState) -> list[Note | NoteFailure]:
        files = [note for note in notes if self._vault.files.has(note)]
        if files and (any(map(self._vault.files.is_attachment, files)) or not members(state).keys() >= set(files)):
            raise WouldBlock
        found = self._vault.notes.read_nonblocking(notes, self._least)
        if found is None:
            raise WouldBlock
        for each in found:
            if isinstance(each, NoteFailure):
                self._check_settled(each.id)
        return [readable(each) for each in found]

    def withholds(self, note: NoteId) -> bool:
        """As `Vault.withholds`."""
        if self._vault.files.is_attachment(note):
            raise WouldBlock
        known = self._vault.known_to_withhold(note, self._least)
        if known is not None:
            return known
        self._check_settled(note)
        if not self._vault.has(note, self._least):
            return True
        if self._vault.visibility.finding(note) is None:
            raise WouldBlock
        found = self._vault.notes.read_nonblocking([note], self._least)
        if found is None:
            raise WouldBlock
        return not isinstance(found[0], Note)

    def _resolved(self, look: Callable[[], Resolution]) -> Resolution:
        try:
            found = look()
        except IndexLost:
            raise WouldBlock from None
        if self._least is not Level.VOLUNTEER and found.resolved_by != "path" and self._vault.has_requested:
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
            found = self._vault.checked.names_nonblocking(notes)
        except IndexLost:
            raise WouldBlock from None
        if found is None:
            raise WouldBlock
        return found

    # -- the resolver's look-up --

    def at_path(self, path: NoteId) -> NoteRef | None:
        if self._vault.files.has(path):
            if is_file_known(self._vault.index.file, path):
                raise WouldBlock
            return None
        found = self._vault.notes.read_nonblocking([path])
        if found is not None and isinstance(found[0], Note):
            return NoteRef(path, found[0].title, path)
        if not unicodedata.is_normalized("NFC", path) or self._vault.has(path):
            raise WouldBlock
        self._check_settled(path)
        return None

    def _check_settled(self, note: NoteId) -> None:
        if self._vault.levels.settles_in_s(note, self._least) is not None:
            raise WouldBlock

    def named(self, name_key: str) -> Sequence[NamedNote]:
        index = self._ready_index()
        if files_named(index.index.file, name_key):
            raise WouldBlock
        return index.named(name_key)

    def near(self, name: str, limit: int) -> Sequence[NamedNote]:
        raise WouldBlock  # the search compares thousands of titles

    def _ready_index(self) -> IndexLookup:
        if self._vault.index_state() != "ready":
            raise WouldBlock
        return IndexLookup(self._vault.index, self._vault.is_withheld)


class NonBlockingPast:
    """Implements `PastPort`. Always raises `WouldBlock`, because the past is read from files."""

    def version(self, note: NoteId, since: int | str | None, current: str) -> VersionAt:
        raise WouldBlock

    def lines_changed(self, note: NoteId, before_sha256: str) -> ChangedLines | None:
        raise WouldBlock


class NonBlockingPrompts:
    """Implements `PromptSource`. Always raises `WouldBlock`, because a manifest is read from a file."""

    def prompt(self, conversation: str | None, message: str | None) -> StoredManifest:
        raise WouldBlock

    def refresh_flags(self, notes: Sequence[NoteId]) -> None:
        raise WouldBlock
