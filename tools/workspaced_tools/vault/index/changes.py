"""Changes in a vault: collects the first and the last version of each note, for any number of steps in between."""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence

import msgspec

from workspaced_events.ids import NoteId

from ...limits import RENAME_SETTLE_S
from ...notes.name_keys import stem
from ...notes.note import StatKey
from .entries import IndexEntry, Withheld


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


_EMPTY_SHA256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def renames(gone: Sequence[IndexEntry], new: Sequence[IndexEntry]) -> list[tuple[NoteId, NoteId]]:
    """Pairs (from, to), ordered by `from`; each note is in at most one pair.

    A file system keeps no record of a rename, so evidence decides, strongest first, and only if it gives exactly
    one pair: the same file (device and inode), not written since; the same file with the same title or
    front-matter id (renamed and edited); the same bytes, and among several the same file name (a folder moved
    across file systems). An inode alone is no evidence: a new file may get the number of a deleted one.
    """
    left = {entry.id: entry for entry in gone}
    right = {entry.id: entry for entry in new}
    pairs: dict[NoteId, NoteId] = {}
    for evidence in (_file_unwritten, _file_and_title, _file_and_id, _bytes, _bytes_and_name):
        for old, fresh in _matched(left.values(), right.values(), evidence):
            pairs[old.id] = fresh.id
            del left[old.id], right[fresh.id]
    return sorted(pairs.items())


def may_be_copy(old: NoteId, new: NoteId) -> bool:
    """Whether `new` is named as programs name a copy of `old`: `a (1).md`, `a copy.md`, `a.sync-conflict-1.md`."""
    folder, _, name = new.rpartition("/")
    return folder == old.rpartition("/")[0] and stem(name).startswith(stem(old))


def _matched(
    gone: Iterable[IndexEntry], new: Iterable[IndexEntry], evidence: Callable[[IndexEntry], Hashable]
) -> list[tuple[IndexEntry, IndexEntry]]:
    """The pairs with equal evidence that exactly one note on each side has."""
    sides: list[dict[Hashable, list[IndexEntry]]] = []
    for entries in (gone, new):
        side: dict[Hashable, list[IndexEntry]] = defaultdict(list)
        for entry in entries:
            if (found := evidence(entry)) is not None:
                side[found].append(entry)
        sides.append(side)
    olds, fresh = sides
    return [
        (old[0], fresh[found][0])
        for found, old in olds.items()
        if len(old) == 1 and len(fresh.get(found, ())) == 1
    ]


def _file_unwritten(entry: IndexEntry) -> Hashable:
    return entry.stat.device, entry.stat.inode, entry.stat.size, entry.stat.mtime_ns


def _file_and_title(entry: IndexEntry) -> Hashable:
    if entry.withheld or entry.title == stem(entry.id):
        return None  # The title is unknown, or it is the name of the file, which was renamed.
    return entry.stat.device, entry.stat.inode, entry.title


def _file_and_id(entry: IndexEntry) -> Hashable:
    named = entry.front_matter_id
    return None if named is None else (entry.stat.device, entry.stat.inode, named)


def _bytes(entry: IndexEntry) -> Hashable:
    return None if entry.sha256 == _EMPTY_SHA256 else entry.sha256


def _bytes_and_name(entry: IndexEntry) -> Hashable:
    return None if entry.sha256 == _EMPTY_SHA256 else (entry.sha256, entry.id.rpartition("/")[2])
