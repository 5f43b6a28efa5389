"""What became different in a vault: of each note its first and last version, however many steps lay between."""

import msgspec

from workspaced_events.ids import NoteId

from ...notes.note import StatKey
from .entries import IndexEntry, Withheld
from .rename_detection import renames


class FileVersion(msgspec.Struct, frozen=True, rename="camel"):
    """A note's file as it was last read."""

    id: NoteId
    stat: StatKey
    sha256: str


class Changes(msgspec.Struct, frozen=True, rename="camel"):
    """What became different since the index was last true; the first filling of an empty one is no change."""

    created: tuple[FileVersion, ...] = ()
    changed: tuple[FileVersion, ...] = ()
    deleted: tuple[NoteId, ...] = ()
    renamed: tuple[tuple[NoteId, NoteId], ...] = ()
    """(from, to); neither is among the created and deleted."""
    withheld: tuple[NoteId, ...] = ()
    """Of those deleted: a note that is withheld now has the same file, and is perhaps the same note."""


class ChangeLog:
    """Collects what became of notes: of several steps the sum."""

    def __init__(self) -> None:
        self._before: dict[NoteId, IndexEntry | None] = {}
        self._after: dict[NoteId, IndexEntry | None] = {}

    def add(self, before: IndexEntry | None, after: IndexEntry | None) -> None:
        """One note was `before` and is `after`; None: not there."""
        entry = before or after
        if entry is not None:
            self._before.setdefault(entry.id, before)
            self._after[entry.id] = after

    def done(self) -> tuple[Changes, "ChangeLog"]:
        """What happened, and what is still to be seen: a new note that is held has no title yet, so whether it is
        one of those that are gone shows later."""
        gone = [old for note, old in self._before.items() if old is not None and self._after[note] is None]
        new = [now for note, now in self._after.items() if now is not None and _is_new(self._before[note])]
        pairs = renames(gone, new)
        moved = {note for pair in pairs for note in pair}
        later = ChangeLog()
        if any(now.withheld is Withheld.HELD and now.id not in moved for now in new):
            waiting = {each.id for each in (*gone, *new) if each.id not in moved}
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
            tuple(_version(each) for each in new if each.id not in moved and not each.withheld),
            tuple(_version(each) for each in changed if not each.withheld),
            tuple(each.id for each in deleted),
            tuple(pairs),
            tuple(each.id for each in deleted if (each.stat.device, each.stat.inode) in files),
        )
        return changes, later


def _is_new(before: IndexEntry | None) -> bool:
    """Whether nobody was told of the note yet."""
    return before is None or before.withheld is Withheld.HELD


def _version(entry: IndexEntry) -> FileVersion:
    return FileVersion(entry.id, entry.stat, entry.sha256)
