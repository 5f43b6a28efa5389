"""Detects renames: finds the new note for a note that is gone.

A file system keeps no record of a rename, so evidence decides, strongest first, and only if it gives exactly one
pair: the same file (device and inode), not written since; the same file with the same title or front-matter id
(renamed and edited); the same bytes, and among several the same file name (a folder moved across file systems). An
inode alone is no evidence: a new file may get the number of a deleted one.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence

from workspaced_events.ids import NoteId

from ...notes.name_keys import stem
from .entries import IndexEntry

_EMPTY_SHA256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def renames(gone: Sequence[IndexEntry], new: Sequence[IndexEntry]) -> list[tuple[NoteId, NoteId]]:
    """Pairs (from, to), ordered by `from`; each note is in at most one pair."""
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
