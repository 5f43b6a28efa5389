"""Notes that hold some words of a query, those that tell most first. There is no list of words to leave out, and
no stemmer: a word counts by how few notes hold it, and its runs of characters find its other forms.

First the rows of the index that may have a piece are listed: of words, then of runs, those of the fewest notes
first, until PIECES_LISTED_MAX rows are listed. A run that a third of the notes have is left out if any other piece
was found. Then the notes whose pieces weigh most are compared by BM25 on their text. The index knows of trigrams
alone, and a long page has those of many words that it does not hold; so how rare a piece is, is taken from the
index times the share of the listed notes compared that truly hold it.
"""

import heapq
from collections.abc import Callable, Sequence, Set
from itertools import chain
from typing import Final

import msgspec

from workspaced_events.ids import NoteId

from ...limits import PARTIAL_CHARS_COMPARED_MAX, PARTIAL_COMPARED_MAX, PIECES_LISTED_MAX
from ...notes.search_query import Ranking, Term, counted, spaced, weight, words_of
from . import full_text
from .entries import Field
from .index import Index
from .queries import paths

_COMMON: Final = 3
_LEAST_SHARE: Final = 0.4
"""Notes with a lower share of the best score are left out."""
_Row = tuple[int, int]
"""The place of the index, and the number of the note there."""


class Partial(msgspec.Struct, frozen=True, gc=False):
    """A note that holds some words."""

    note: NoteId
    score: float
    """Its share of the best score."""
    missing: tuple[str, ...]


class Partials(msgspec.Struct, frozen=True, gc=False):
    """The best notes first."""

    notes: list[Partial]
    compared: list[NoteId]
    """All notes that could change a score."""
    ranking: Ranking
    is_exact: bool
    """False: some were not compared, because the others are long."""


def partial(
    indexes: Sequence[Index],
    terms: Sequence[Term],
    among: Sequence[Set[int] | None],
    keeps: Callable[[str], bool] | None = None,
) -> Partials:
    """The notes of all `indexes` that hold most of `terms`. A word is as rare as it is in all of them together.

    Args:
        among: for each index the only notes to look at; None: all.
        keeps: whether a note with this text is looked for; None: any.
    """
    words = words_of(terms)
    wholes = {piece for word in words for piece in word.wholes}
    pieces = list(dict.fromkeys(chain(wholes, chain.from_iterable(word.runs for word in words))))
    counts = dict.fromkeys(pieces, 0)
    for index in indexes:
        for piece, count in full_text.note_counts(index.file.read, pieces).items():
            counts[piece] += count
    notes = max(sum(index.count() for index in indexes), 1)
    listed: dict[str, set[_Row]] = {}
    sums: dict[_Row, float] = {}
    left = PIECES_LISTED_MAX
    for piece in sorted(pieces, key=lambda each: (each not in wholes, counts[each], each)):
        is_run = piece not in wholes
        if not counts[piece] or (sums and (left <= 0 or (is_run and counts[piece] > notes // _COMMON))):
            continue
        rows = {
            (place, number)
            for place, index in enumerate(indexes)
            for number in full_text.holding(index.file.read, piece, PIECES_LISTED_MAX)
        }
        left -= len(rows)
        listed[piece], counts[piece] = rows, len(rows)
        weighs = weight(notes, len(rows), is_run=is_run)
        for row in rows:
            only = among[row[0]]
            if only is None or row[1] in only:
                sums[row] = sums.get(row, 0.0) + weighs
    best = [
        row for row, _ in heapq.nlargest(PARTIAL_COMPARED_MAX, sums.items(), key=lambda each: (each[1], each[0]))
    ]
    texts, is_exact = _texts(indexes, best, keeps)
    counted_in = {row: counted(pieces, text) for row, (_, text, _) in texts.items()}
    weights = {}
    for piece in pieces:
        having = float(counts[piece])
        if looked_at := [row for row in listed.get(piece, ()) if row in counted_in]:
            having *= sum(piece in counted_in[row] for row in looked_at) / len(looked_at)
        weights[piece] = weight(notes, having, is_run=piece not in wholes)
    usual = sum(len(text) for _, text, _ in texts.values()) / max(len(texts), 1)
    ranking = Ranking(words, weights, max(usual, 1.0))
    # A note that has nothing but common words is a hit only where no note has more.
    having_some = [row for row in counted_in if ranking.holds_any(counted_in[row], common=False)] or [
        row for row in counted_in if ranking.holds_any(counted_in[row], common=True)
    ]
    scored = [
        (
            ranking.score(counted_in[row], len(texts[row][1]), texts[row][2]),
            texts[row][0],
            ranking.missing(counted_in[row]),
        )
        for row in having_some
    ]
    scored.sort(key=lambda each: (-each[0], each[1]))
    top = scored[0][0] if scored else 1.0
    found = [Partial(note, score / top, missing) for score, note, missing in scored if score >= top * _LEAST_SHARE]
    return Partials(found, [note for note, _, _ in texts.values()], ranking, is_exact)


def _texts(
    indexes: Sequence[Index], rows: Sequence[_Row], keeps: Callable[[str], bool] | None
) -> tuple[dict[_Row, tuple[NoteId, str, str]], bool]:
    """For rows that are not withheld the note, its text and names, both spaced; and whether all could be read."""
    found: dict[_Row, tuple[NoteId, str, str]] = {}
    left = PARTIAL_CHARS_COMPARED_MAX
    for place, index in enumerate(indexes):
        numbers = [number for each, number in rows if each == place]
        shown = paths(index, numbers)
        for number, text in full_text.texts(index.file.read, list(shown)):
            left -= len(text)
            if left < 0:
                return found, False
            if keeps is not None and not keeps(text):
                continue
            names = " ".join(full_text.fields(text)[: Field.HEADINGS + 1])
            found[place, number] = shown[number], spaced(text), spaced(names)
    return found, True
