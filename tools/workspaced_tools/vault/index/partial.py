"""Notes that hold some words of a query, those that tell most first. There is no list of words to leave out, and
no stemmer: a word counts by how few notes hold it, and its runs of characters find its other forms.

First the rows of the index that may have a piece are listed: of words, then of runs, those of the fewest notes
first, until PIECES_LISTED_MAX rows are listed. A run that a third of the notes have is left out if any other piece
was found. Then the notes whose pieces weigh most, by themselves and for the note's length, are compared by BM25 on
their text. The index knows of trigrams alone, and a long page has those of many words that it does not hold. So
where all notes that may be hits are compared, it is counted how rare a piece is; else the index's number is taken,
times the share of the listed notes compared that truly hold it.
"""

import heapq
from collections.abc import Callable, Mapping, Sequence, Set
from itertools import chain
from operator import itemgetter
from typing import Final

import msgspec
from msgspec.structs import replace

from workspaced_events.ids import NoteId

from ...limits import PARTIAL_CHARS_COMPARED_MAX, PARTIAL_COMPARED_MAX, PARTIAL_WEIGHED_MAX, PIECES_LISTED_MAX
from ...notes.search_query import Counts, Ranking, Term, Word, counted, spaced, weight, words_of
from . import full_text
from .entries import Field
from .index import Index

_COMMON: Final = 3
_LEAST_SHARE: Final = 0.3
"""Notes with a lower share of the best score are left out."""
_USUAL_BYTES: Final = 1_000
"""Of a compressed text."""
_Row = int
"""The number of a note, times the number of indexes, plus the place of its index."""
_BY_WEIGHT: Final = itemgetter(1, 0)


class Hit(msgspec.Struct, frozen=True, gc=False):
    """A note that holds what was asked for, or some of it."""

    note: NoteId
    score: float
    """Higher is better; of a note that holds some of it, the share of the best such score."""
    missing: tuple[str, ...] | None = None
    """The words that it holds in no form; None: it holds all as they are written."""


class Partials(msgspec.Struct, frozen=True, gc=False):
    """The best notes first."""

    notes: list[Hit]
    compared: list[NoteId]
    """All notes that could change a score."""
    ranking: Ranking
    is_exact: bool
    """False: some that may hold a word were not compared."""


class Conditions(msgspec.Struct, frozen=True, gc=False):
    """What a note must fulfil besides holding words, and when it holds them all."""

    among: Sequence[Set[int] | None]
    """For each index the only notes to look at; None: all."""
    keeps: Callable[[str], bool] | None
    """Whether a note with this text is looked for; None: any."""
    holds_all: Callable[[str], bool]


class _Compared(msgspec.Struct, frozen=True, gc=False):
    """A note and what of the query it holds."""

    note: NoteId
    counts: Counts
    chars: int
    title: str
    """With the aliases and the name of the file; spaced."""
    holds_all: bool
    lacking: tuple[str, ...]
    """What is quoted and not held, in quotes."""


def partial(indexes: Sequence[Index], terms: Sequence[Term], conditions: Conditions) -> Partials:
    """The notes of all `indexes` that hold most of `terms`. A word is as rare as it is in all of them together."""
    notes = max(sum(index.count() for index in indexes), 1)
    words, having = _words(indexes, terms, notes)
    wholes = {piece for word in words for piece in word.wholes}
    pieces = list(dict.fromkeys(chain(wholes, chain.from_iterable(word.runs for word in words))))
    listed = _listed(indexes, pieces, wholes, having, notes)
    among: set[_Row] | None = None
    if None not in conditions.among:
        numbered = enumerate(conditions.among)
        among = {number * len(indexes) + place for place, each in numbered for number in each or ()}
    sums: dict[_Row, float] = {}
    for piece, rows in listed.items():
        having[piece] = len(rows)
        weighs = weight(notes, len(rows), is_run=piece not in wholes)
        for row in rows if among is None else rows & among:
            sums[row] = sums.get(row, 0.0) + weighs
    sizes = _sizes(indexes, [row for row, _ in heapq.nlargest(PARTIAL_WEIGHED_MAX, sums.items(), key=_BY_WEIGHT)])
    best = {row: sizes[row][0] for row in _best(sums, sizes)}
    quoted = [term.text for term in terms if term.quoted]
    found, all_read = _compared(indexes, best, pieces, listed, quoted, conditions)
    is_exact = all_read and len(best) == len(sizes) and len(sums) <= PARTIAL_WEIGHED_MAX
    are_all = is_exact and among is None and conditions.keeps is None
    for piece in pieces:
        if are_all:
            having[piece] = sum(piece in each.counts for each in found.values())
        elif looked_at := [each for row, each in found.items() if row in listed.get(piece, ())]:
            having[piece] *= sum(piece in each.counts for each in looked_at) / len(looked_at)
    weights = {piece: weight(notes, having[piece], is_run=piece not in wholes) for piece in pieces}
    compared = list(found.values())
    chars_of_bytes = sum(each.chars for each in compared) / max(sum(sizes[row][1] for row in found), 1)
    usual = chars_of_bytes * sum(size for _, size in sizes.values()) / max(len(sizes), 1)
    ranking = Ranking(words, weights, max(usual, 1.0))
    return Partials(_scored(compared, ranking), [each.note for each in compared], ranking, is_exact)


def _words(indexes: Sequence[Index], terms: Sequence[Term], notes: int) -> tuple[list[Word], dict[str, float]]:
    """The words of a query, and in how many notes each of their pieces may be. Of a word that most notes hold no
    other form is looked for."""
    words = words_of(terms)
    having: dict[str, float] = {}
    for index in indexes:
        pieces = chain.from_iterable((*word.wholes, *word.runs) for word in words)
        for piece, count in full_text.note_counts(index.file.read, list(dict.fromkeys(pieces))).items():
            having[piece] = having.get(piece, 0) + count
    common = {word.text for word in words if word.has_blanks and having[word.wholes[0]] * 2 > notes}
    return [replace(word, runs=()) if word.text in common else word for word in words], having


def _listed(
    indexes: Sequence[Index], pieces: Sequence[str], wholes: Set[str], having: Mapping[str, float], notes: int
) -> dict[str, set[_Row]]:
    """The rows that may have a piece, of words first, then of runs, those of the fewest first."""
    found: dict[str, set[_Row]] = {}
    left = PIECES_LISTED_MAX
    for piece in sorted(pieces, key=lambda each: (each not in wholes, having[each], each)):
        is_common_run = piece not in wholes and having[piece] > notes // _COMMON
        if having[piece] and not (found and (left <= 0 or is_common_run)):
            found[piece] = {
                number * len(indexes) + place
                for place, index in enumerate(indexes)
                for number in full_text.holding(index.file.read, piece, PIECES_LISTED_MAX)
            }
            left -= len(found[piece])
    return found


def _sizes(indexes: Sequence[Index], rows: Sequence[_Row]) -> dict[_Row, tuple[NoteId, int]]:
    """For rows that are not withheld the note, and the compressed bytes of its text."""
    return {
        number * len(indexes) + place: (note, size)
        for place, index in enumerate(indexes)
        for number, note, size in full_text.sizes(
            index.file.read, [row // len(indexes) for row in rows if row % len(indexes) == place]
        )
    }


def _best(sums: Mapping[_Row, float], sizes: Mapping[_Row, tuple[NoteId, int]]) -> list[_Row]:
    """The rows to compare: half by what they weigh, and half by that for their length. A long note has trigrams of
    many words that it does not hold, and a short one that answers would not come up beside it."""
    by_weight = sorted(sizes, key=lambda row: (-sums[row], sizes[row][0]))
    for_length = sorted(sizes, key=lambda row: (-sums[row] / (_USUAL_BYTES + sizes[row][1]), sizes[row][0]))
    return list(dict.fromkeys((*by_weight[:PARTIAL_COMPARED_MAX], *for_length[:PARTIAL_COMPARED_MAX])))


def _compared(
    indexes: Sequence[Index],
    rows: Mapping[_Row, NoteId],
    pieces: Sequence[str],
    listed: Mapping[str, Set[_Row]],
    quoted: Sequence[str],
    conditions: Conditions,
) -> tuple[dict[_Row, _Compared], bool]:
    """Those of the rows that fulfil the conditions; and whether all could be read."""
    found: dict[_Row, _Compared] = {}
    everywhere = [
        piece
        for piece in pieces
        if len(listed.get(piece, ())) in (0, PIECES_LISTED_MAX) or full_text.is_found_between_blanks(piece)
    ]
    some = [piece for piece in pieces if piece not in everywhere]
    left = PARTIAL_CHARS_COMPARED_MAX
    for place, index in enumerate(indexes):
        numbers = [row // len(indexes) for row in rows if row % len(indexes) == place]
        for number, text in full_text.texts(index.file.read, numbers):
            left -= len(text)
            if left < 0:
                return found, False
            if conditions.keeps is not None and not conditions.keeps(text):
                continue
            row, flat, fields = number * len(indexes) + place, spaced(text), full_text.fields(text)
            title = spaced(f"{fields[Field.TITLE]} {fields[Field.ALIASES]}")
            counts = counted([*everywhere, *(piece for piece in some if row in listed[piece])], flat)
            lacking = tuple(f'"{each}"' for each in quoted if each not in text)
            found[row] = _Compared(rows[row], counts, len(flat), title, conditions.holds_all(text), lacking)
    return found, True


def _scored(compared: Sequence[_Compared], ranking: Ranking) -> list[Hit]:
    """The hits among them, best first; a note that has nothing but common words only where no note has more."""
    some = [each for each in compared if ranking.holds_any(each.counts, common=False)] or [
        each for each in compared if ranking.holds_any(each.counts, common=True)
    ]
    scored = [(ranking.score(each.counts, each.chars, each.title), each) for each in some]
    scored.sort(key=lambda each: (-each[0], each[1].note))
    top = scored[0][0] if scored else 1.0
    return [
        Hit(each.note, score / top, None if each.holds_all else (*each.lacking, *ranking.missing(each.counts)))
        for score, each in scored
        if score >= top * _LEAST_SHARE
    ]
