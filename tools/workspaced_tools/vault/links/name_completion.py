"""Finds the notes that a user may mean who has written a part of a name, as completion of `[[` offers them.

Names that fit better come first; among equals those of notes of the workspace, then file names before titles and
aliases, then shorter names.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import Final, Literal, NamedTuple

from workspaced_events.ids import NoteId
from workspaced_events.projections.workspace_state import VaultState

from ...limits import COMPLETIONS_COMPARED_MAX
from ...notes.name_keys import stem, without_ending
from ...notes.search_text import Kind, kind_of, search_form
from ...ports.vault import NameHit
from ..index import queries
from ..index.entries import NamedNote
from ..index.index import Index
from .resolver import members

_EQUAL, _BEGINS, _WORD_BEGINS, _HOLDS, _HOLDS_WORDS = range(5)
_KINDS: Final[tuple[Literal["file", "title", "alias"], ...]] = ("file", "title", "alias")


class _Best(NamedTuple):
    """The best name of a note, with its place among the notes; lower is better."""

    rank: int
    order: int
    """Of the note in the workspace."""
    kind: int
    length: int
    note: NoteId
    name: str


def names_like(
    written: str, limit: int, state: VaultState, index: Index, is_withheld: Callable[[NoteId], bool]
) -> list[NameHit]:
    """The best `limit` notes, each by its best name."""
    wanted = search_form(written)
    if not wanted:
        return _of_workspace(limit, state, index, is_withheld)
    ranking = _Ranking(wanted, members(state))
    shown = index.entries(list(ranking.order)[:COMPLETIONS_COMPARED_MAX]) if ranking.order else {}
    ranking.add(entry for entry in shown.values() if not entry.withheld)
    begun = queries.named_from(index, written, COMPLETIONS_COMPARED_MAX)
    ranking.add(begun)
    found = list(islice(ranking.best(is_withheld), limit))
    # What begins with the text comes first: where all of that is known and is enough, nothing else is asked for.
    if len(begun) == COMPLETIONS_COMPARED_MAX or len(found) < limit or found[-1].rank > _BEGINS:
        ranking.add(queries.named_with(index, written, COMPLETIONS_COMPARED_MAX))
        found = list(islice(ranking.best(is_withheld), limit))
    return [NameHit(ranking.notes[each.note].ref, each.name, _KINDS[each.kind]) for each in found]


class _Ranking:
    """Notes that were found, by how well their names fit."""

    def __init__(self, wanted: str, workspace: Iterable[NoteId]) -> None:
        """`wanted` is normalised."""
        self.order = {note: at for at, note in enumerate(workspace)}
        self.notes: dict[NoteId, NamedNote] = {}
        self._wanted = wanted
        self._words = wanted.split()
        self._fitting: list[_Best] = []

    def add(self, notes: Iterable[NamedNote]) -> None:
        for note in notes:
            if note.id in self.notes:
                continue
            self.notes[note.id] = note
            best = _best_name(note, self._wanted, self._words)
            if best is not None:
                rank, kind, name = best
                order = self.order.get(note.id, len(self.order))
                self._fitting.append(_Best(rank, order, kind, len(name), note.id, name))

    def best(self, is_withheld: Callable[[NoteId], bool]) -> Iterator[_Best]:
        """The best first. Most are compared and few are told, so whether one may be is asked last."""
        self._fitting.sort()
        return (each for each in self._fitting if not is_withheld(each.note))


def _of_workspace(
    limit: int, state: VaultState, index: Index, is_withheld: Callable[[NoteId], bool]
) -> list[NameHit]:
    changed = (note for note, _ in queries.last_changed(index, limit))
    notes = [note for note in dict.fromkeys([*members(state), *changed]) if not is_withheld(note)]
    known = index.entries(notes[: 2 * limit])
    refs = [known[note].ref for note in notes if note in known and not known[note].withheld]
    return [NameHit(ref, stem(ref.id), "file") for ref in refs[:limit]]


def _best_name(note: NamedNote, wanted: str, words: Sequence[str]) -> tuple[int, int, str] | None:
    """Rank, kind and text of the name that fits best; None: none fits. Runs for hundreds of notes a keystroke."""
    file = without_ending(note.id) if "/" in wanted else stem(note.id)
    rank = _rank(_search_form(file), wanted, words)
    best = None if rank is None else (rank, 0, file)
    for kind, name in ((1, note.title), *((2, alias) for alias in note.aliases)):
        if name == file:
            continue
        rank = _rank(_search_form(name), wanted, words)
        if rank is not None and (best is None or (rank, kind, name) < best):
            best = rank, kind, name
    return best


_search_form = lru_cache(maxsize=16_384)(search_form)


def _rank(name: str, wanted: str, words: Sequence[str]) -> int | None:
    if name.startswith(wanted):
        return _EQUAL if name == wanted else _BEGINS
    kind = kind_of(wanted, name)
    if kind is not None:
        return _HOLDS if kind is Kind.INSIDE else _WORD_BEGINS
    return _HOLDS_WORDS if len(words) > 1 and all(word in name for word in words) else None
