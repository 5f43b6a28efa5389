"""Finds the notes that a user may mean who has written a part of a name, as completion of `[[` offers them.

A name that is exactly what was written comes first, then one that begins with it, one with a word that begins with
it, one that holds it, and one that holds all its words in any order. Among equals the notes of the workspace come
first (active, pinned, open, then the last visited), then file names before titles and aliases, then shorter names.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Final, Literal, NamedTuple

from workspaced_events.ids import NoteId
from workspaced_events.projections.workspace_state import VaultState

from ...limits import COMPLETIONS_COMPARED_MAX
from ...notes.name_keys import stem, without_ending
from ...notes.search_text import Kind, folded, kind_of
from ...ports.vault import NameHit
from ..index import queries
from ..index.entries import NamedNote
from ..index.index import Index
from .resolver import members

_EQUAL, _BEGINS, _WORD_BEGINS, _HOLDS, _HOLDS_WORDS = range(5)
_KINDS: Final[tuple[Literal["file", "title", "alias"], ...]] = ("file", "title", "alias")


class _Name(NamedTuple):
    """A name of a note with its place among the hits; lower is better."""

    rank: int
    kind: int
    name: str


def names_like(
    written: str, limit: int, state: VaultState, index: Index, is_withheld: Callable[[NoteId], bool]
) -> list[NameHit]:
    """The best `limit` notes, each by its best name."""
    wanted = folded(written)
    if not wanted:
        return _of_workspace(limit, state, index, is_withheld)
    order = {note: at for at, note in enumerate(members(state))}
    shown = index.entries(list(order)[:COMPLETIONS_COMPARED_MAX]) if order else {}
    words = wanted.split()
    found: dict[NoteId, tuple[tuple[int, int, int, int, str], NameHit]] = {}
    candidates: list[NamedNote] = [entry for entry in shown.values() if not entry.withheld]
    for note in (*candidates, *queries.named_like(index, written, COMPLETIONS_COMPARED_MAX)):
        if note.id in found or is_withheld(note.id):
            continue
        best = min(_names(note, wanted, words), default=None)
        if best is not None:
            key = (best.rank, order.get(note.id, len(order)), best.kind, len(best.name), note.id)
            found[note.id] = key, NameHit(note.ref, best.name, _KINDS[best.kind])
    return [hit for _, hit in sorted(found.values(), key=lambda each: each[0])[:limit]]


def _of_workspace(
    limit: int, state: VaultState, index: Index, is_withheld: Callable[[NoteId], bool]
) -> list[NameHit]:
    changed = (note for note, _ in queries.last_changed(index, limit))
    notes = [note for note in dict.fromkeys([*members(state), *changed]) if not is_withheld(note)]
    known = index.entries(notes[: 2 * limit])
    refs = [known[note].ref for note in notes if note in known and not known[note].withheld]
    return [NameHit(ref, stem(ref.id), "file") for ref in refs[:limit]]


def _names(note: NamedNote, wanted: str, words: Sequence[str]) -> Iterator[_Name]:
    file = without_ending(note.id) if "/" in wanted else stem(note.id)
    for kind, name in ((0, file), (1, note.title), *((2, alias) for alias in note.aliases)):
        rank = _rank(_folded(name), wanted, words)
        if rank is not None:
            yield _Name(rank, kind, name)


_folded = lru_cache(maxsize=16_384)(folded)


def _rank(name: str, wanted: str, words: Sequence[str]) -> int | None:
    if name.startswith(wanted):
        return _EQUAL if name == wanted else _BEGINS
    kind = kind_of(wanted, name)
    if kind is not None:
        return _HOLDS if kind is Kind.INSIDE else _WORD_BEGINS
    return _HOLDS_WORDS if len(words) > 1 and all(word in name for word in words) else None
