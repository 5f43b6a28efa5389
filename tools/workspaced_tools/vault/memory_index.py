"""`MemoryIndex`: the index as dictionaries of this process."""

import threading
from collections.abc import Iterable
from typing import Final

from rapidfuzz import fuzz, process

from workspaced_events.ids import NoteId

from .index import IndexEntry
from .names import fold

NEAR_SCORE_MIN: Final = 50.0
"""Of 100: below this a title is not like the name at all."""
NEAR_NAME_CHARS_MAX: Final = 200

_Ids = NoteId | dict[NoteId, None]
"""The notes under one key. Nearly always one, so that one is kept bare; several as a dict, in order of arrival."""


class MemoryIndex:
    """See `Index`. One lock, held for the few microseconds of a look-up or a change."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._entries: dict[NoteId, IndexEntry] = {}
        self._named: dict[str, _Ids] = {}
        self._linking: dict[str, _Ids] = {}
        self._titles: dict[NoteId, str] | None = None
        """Folded titles, made for the first `near` after a change."""

    def upsert(self, entry: IndexEntry) -> None:
        names, links = entry.name_keys(), entry.link_keys()
        with self._lock:
            old = self._entries.get(entry.id)
            self._entries[entry.id] = entry
            _move(self._named, entry.id, old.name_keys() if old else set(), names)
            _move(self._linking, entry.id, old.link_keys() if old else set(), links)
            if old is None or old.title != entry.title:
                self._titles = None

    def remove(self, note: NoteId) -> None:
        with self._lock:
            old = self._entries.pop(note, None)
            if old is not None:
                _move(self._named, note, old.name_keys(), set())
                _move(self._linking, note, old.link_keys(), set())
                self._titles = None

    def entry(self, note: NoteId) -> IndexEntry | None:
        return self._entries.get(note)

    def named(self, name_key: str) -> list[IndexEntry]:
        with self._lock:
            return [self._entries[note] for note in _ids(self._named.get(name_key))]

    def linking(self, keys: Iterable[str]) -> list[IndexEntry]:
        with self._lock:
            notes = {note for each in keys for note in _ids(self._linking.get(each))}
            return [self._entries[note] for note in sorted(notes)]

    def near(self, name: str, limit: int) -> list[IndexEntry]:
        wanted = fold(name[:NEAR_NAME_CHARS_MAX])
        with self._lock:
            if self._titles is None:
                self._titles = {note: fold(entry.title) for note, entry in self._entries.items()}
            titles = self._titles
        # Outside the lock: the dictionary is replaced by a change, never altered.
        found = process.extract(wanted, titles, scorer=fuzz.ratio, limit=limit, score_cutoff=NEAR_SCORE_MIN)
        ordered = sorted(found, key=lambda hit: (-hit[1], hit[2]))
        return [entry for _, _, note in ordered if (entry := self._entries.get(note)) is not None]

    def ids(self) -> list[NoteId]:
        with self._lock:
            return list(self._entries)

    def count(self) -> int:
        return len(self._entries)


def _ids(kept: _Ids | None) -> Iterable[NoteId]:
    if kept is None:
        return ()
    return kept if isinstance(kept, dict) else (kept,)


def _move(index: dict[str, _Ids], note: NoteId, old: set[str], new: set[str]) -> None:
    """Files `note` under the keys `new` instead of `old`."""
    for each in old - new:
        kept = index.get(each)
        if not isinstance(kept, dict):
            index.pop(each, None)
            continue
        kept.pop(note, None)
        if len(kept) == 1:
            index[each] = next(iter(kept))
    for each in new - old:
        kept = index.get(each)
        if kept is None:
            index[each] = note
        elif isinstance(kept, dict):
            kept[note] = None
        else:
            index[each] = {kept: None, note: None}
