"""Changes in a vault: collects the first and the last version of each note, for any number of steps in between."""

import msgspec

from workspaced_events.ids import NoteId

from ...limits import RENAME_SETTLE_S
from ...notes.note import StatKey
from .entries import IndexEntry, Withheld
from .rename_detection import may_be_copy, renames


class FileVersion(msgspec.Struct, frozen=True, rename="camel"):
    """A note's file when last read."""

    id: NoteId
    stat: StatKey
    sha256: str


class Changes(msgspec.Struct, frozen=True, rename="camel"):
    """Changes since the index was last up to date; the first filling of an empty index is no change."""

    created: tuple[FileVersion, ...] = ()
    changed: tuple[FileVersion, ...] = ()
    deleted: tuple[NoteId, ...] = ()
    renamed: tuple[tuple[NoteId, NoteId], ...] = ()
    """(from, to); neither is in `created` or `deleted`."""
    withheld: tuple[NoteId, ...] = ()
    """Deleted notes whose file now belongs to a withheld note, which is perhaps the same note."""


class ChangeLog:
    """Collects changes of notes; several steps of one note become one change."""

    def __init__(self) -> None:
        self._before: dict[NoteId, IndexEntry | None] = {}
        self._after: dict[NoteId, IndexEntry | None] = {}
        self._seen_s: dict[NoteId, float] = {}
        """When it was first seen that a note is gone whose file has a name that a copy would have."""

    def add(self, before: IndexEntry | None, after: IndexEntry | None) -> None:
        """Takes that a note's entry changed from `before` to `after`; None: no such note."""
        entry = before or after
        if entry is not None:
            self._before.setdefault(entry.id, before)
            self._after[entry.id] = after

    def due_s(self) -> float | None:
        """When, by the clock of `done`, more can be decided; None: nothing waits for a time."""
        return min(self._seen_s.values()) + RENAME_SETTLE_S if self._seen_s else None

    def done(self, now_s: float) -> tuple[Changes, "ChangeLog"]:
        """The changes, and a log of those that cannot be decided yet.

        A new note that is held has no title yet, so only later steps show whether it is a renamed one. A program
        that saves may first give the old file a copy's name, and then write a new one: then nothing was renamed.
        """
        gone = [old for note, old in self._before.items() if old is not None and self._after[note] is None]
        new = [now for note, now in self._after.items() if now is not None and _is_new(self._before[note])]
        pairs = renames(gone, new)
        moved = {note for pair in pairs for note in pair}
        later = ChangeLog()
        seen_s = {old: self._seen_s.get(old, now_s) for old, fresh in pairs if may_be_copy(old, fresh)}
        later._seen_s = {old: at_s for old, at_s in seen_s.items() if now_s < at_s + RENAME_SETTLE_S}
        waiting = {note for pair in pairs if pair[0] in later._seen_s for note in pair}
        pairs = [pair for pair in pairs if pair[0] not in waiting]
        if any(now.withheld is Withheld.HELD and now.id not in moved for now in new):
            waiting |= {each.id for each in (*gone, *new) if each.id not in moved}
        if waiting:
            for note in waiting:
                later._before[note], later._after[note] = self._before.pop(note), self._after.pop(note)
            gone, new = ([each for each in side if each.id not in waiting] for side in (gone, new))
        files = {(each.stat.device, each.stat.inode) for each in new if each.withheld}
        changed = [
            now
            for note, now in self._after.items()
            if now is not None
            and (old := self._before[note]) is not None
            and not _is_new(old)
            and (old.stat, old.sha256) != (now.stat, now.sha256)
        ]
        deleted = [each for each in gone if each.id not in moved]
        changes = Changes(
            tuple(_version(each) for each in new if each.id not in moved and _is_reported(each)),
            tuple(_version(each) for each in changed if _is_reported(each)),
            tuple(each.id for each in deleted),
            tuple(pairs),
            tuple(each.id for each in deleted if (each.stat.device, each.stat.inode) in files),
        )
        return changes, later


def _is_new(before: IndexEntry | None) -> bool:
    """Whether the note was not reported yet."""
    return before is None or before.withheld is Withheld.HELD


def _is_reported(entry: IndexEntry) -> bool:
    """Whether an agent may be shown the note, if only on request."""
    return not entry.withheld or entry.withheld.is_for_requests


def _version(entry: IndexEntry) -> FileVersion:
    return FileVersion(entry.id, entry.stat, entry.sha256)
