"""`SharedNotes`: the notes of a folder that may be shown, in their present version.

Every note that a vault returns went through `_shared`. Where a method takes `least`, it is the least level that
its audience is shown.
"""

import time
from collections.abc import Sequence
from typing import Final

from workspaced_events.ids import NoteId
from workspaced_events.projections.note_visibility import Visibility

from ..errors import NotDownloaded, NoteNotFound
from ..limits import SETTLE_S
from ..notes.note import Level, Note, NoteFailure, PrivateNote
from ..notes.privacy_flag import level_of
from .files.content_cache import ContentCache, NoteRead
from .files.note_levels import NoteLevels
from .files.placeholders import not_downloaded
from .files.safe_open import VaultRoot, missing_note
from .index.index import Index
from .index.indexer import Indexer, was_requestable, was_shown

_MARGIN_S: Final = 0.01
_VOLUNTEER: Final = Level.VOLUNTEER
"""A member of an enum takes longer to look up than to compare."""


class SharedNotes:
    """One for each vault. Safe from any thread."""

    def __init__(
        self,
        root: VaultRoot,
        cache: ContentCache,
        levels: NoteLevels,
        index: Index,
        requested: Index,
        indexer: Indexer,
    ) -> None:
        self._root: Final = root
        self._cache: Final = cache
        self._levels: Final = levels
        self._index: Final = index
        self._requested: Final = requested
        self._indexer: Final = indexer
        self.last_read = 0.0
        """When notes were last read, by the monotonic clock."""

    def read(self, notes: Sequence[NoteId], least: Level = Level.VOLUNTEER) -> list[Note | NoteFailure]:
        self.last_read = time.monotonic()
        # Reading a denied note must take no longer than reading a missing one, so its file is not touched.
        found = {each.id: each for each in self._cache.read_many(self._allowed(notes, least))}
        return [self._shared(found[note], least) if note in found else missing_note(note) for note in notes]

    def read_settled(
        self, notes: Sequence[NoteId], least: Level = Level.VOLUNTEER, wait_s: float = SETTLE_S
    ) -> list[Note | NoteFailure]:
        """As `read`, but waits for files that appeared a moment ago, if they settle within `wait_s`."""
        found = self.read(notes, least)
        left_s = [self._levels.settles_in_s(note, least) for note in notes]
        soon_s = [each for each in left_s if each is not None and each <= wait_s]
        if not soon_s:
            return found
        time.sleep(max(soon_s) + _MARGIN_S)
        return self.read(notes, least)

    def read_nonblocking(
        self, notes: Sequence[NoteId], least: Level = Level.VOLUNTEER
    ) -> list[Note | NoteFailure] | None:
        """As `read` if the content cache answers without blocking, otherwise None."""
        self.last_read = time.monotonic()
        read = self._cache.read_nonblocking(self._allowed(notes, least))
        if read is None or any(self._changed_level(each) for each in read):
            return None
        found = {each.id: each for each in read}
        return [self._shared(found[note], least) if note in found else missing_note(note) for note in notes]

    def _allowed(self, notes: Sequence[NoteId], least: Level) -> list[NoteId]:
        policy = self._levels.policy
        allowed = [note for note in notes if policy.level(note) >= least]
        if len(allowed) < len(notes):
            for note in set(notes).difference(allowed):
                self._levels.volunteered.let_go(note)
        return allowed

    def _changed_level(self, found: NoteRead) -> bool:
        """Whether the note's level changed. The index then needs an update, which may block."""
        if isinstance(found, NoteFailure):
            return False
        flagged, policy = _flagged(found), self._levels.policy
        if flagged is _VOLUNTEER and not policy.denies(found.id):
            return self._levels.volunteered.is_hidden(found.id)
        return min(policy.level(found.id), flagged) is not self._levels.level(found.id)

    def _shared(self, found: NoteRead, least: Level) -> Note | NoteFailure:
        """The result of a read for the caller. A withheld note gives exactly the result of a missing note."""
        if isinstance(found, NoteFailure):
            return self._failed(found)
        note, flagged, ruled = found.id, _flagged(found), self._levels.policy.level(found.id)
        is_open = ruled is _VOLUNTEER and not self._levels.volunteered.is_hidden(note)
        before = ruled if is_open else self._levels.level(note)
        level = self._levels.saw(
            note,
            found.stat,
            ruled=ruled,
            flagged=flagged,
            was_shown=self.was_indexed,
            was_requestable=self._was_requestable,
        )
        if level is not before:
            if flagged is Level.NEVER:
                self._indexer.hide(note)
            elif level > before or flagged is Level.ON_REQUEST:
                self._indexer.file([note])
        return found if level >= least and isinstance(found, Note) else missing_note(note)

    def _failed(self, found: NoteFailure) -> NoteFailure:
        note, visibility = found.id, self._levels.volunteered
        self._levels.requested.let_go(note)
        if self._levels.policy.denies(note):
            return missing_note(note)
        is_missing = found.code == NoteNotFound.code and visibility.is_missing(note)
        if is_missing or visibility.is_hidden(note) or visibility.was_withheld(note):
            return missing_note(note)
        # What is elsewhere cannot be read, so only what was found to be shown before is spoken of.
        was_shown = visibility.finding(note) is Visibility.SHOWN
        if found.code == NotDownloaded.code and not was_shown:
            return missing_note(note)
        if found.code == NoteNotFound.code and was_shown and (program := self._root.program_with(note)):
            return NoteFailure(note, NotDownloaded.code, not_downloaded(note, program).message)
        return found

    def was_indexed(self, note: NoteId) -> bool:
        return was_shown(self._index, note)

    def _was_requestable(self, note: NoteId) -> bool:
        return was_requestable(self._index, self._requested, note)


def _flagged(found: Note | PrivateNote) -> Level:
    """The level by the front matter."""
    return level_of(found) if isinstance(found, Note) else Level.NEVER
