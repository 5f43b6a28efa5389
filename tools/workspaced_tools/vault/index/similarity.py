"""Notes with text like that of another: by the words that tell it from other notes."""

import math
from collections import Counter
from collections.abc import Sequence
from typing import Final

import msgspec
import regex

from workspaced_events.ids import NoteId

from ...limits import SIMILAR_VERIFIED_MAX, SIMILAR_WORDS_MAX, TELLING_NOTES_MAX, WORDS_WEIGHED_MAX
from ...notes.normal_form import normalized
from ...notes.search_query import Term
from ...notes.search_text import FIELD_END, Kind, folded, kind_of
from . import full_text
from .index import Index
from .queries import Scored

_WORD: Final = regex.compile(r"[\p{L}\p{N}\p{M}]+")
_CHARS_MIN: Final = 3
_CHARS_MAX: Final = 64
_WORDS_LOOKED_UP: Final = 2 * SIMILAR_WORDS_MAX
_LEAST_SHARE: Final = 0.25
"""A word that never stands in a heading, nor twice in a note, weighs this share of one that always does."""
_HAVING: Final = "SELECT count(*) FROM (SELECT 1 FROM grams WHERE grams MATCH ? LIMIT ?)"


class _Word(msgspec.Struct, gc=False):
    """A word of the note, and what is known of the notes that have it."""

    written: str
    term: Term
    count: int
    """In the note itself."""
    notes: list[NoteId] = []
    telling: int = 0
    """In how many of `notes` it stands in a name or heading, or more than once."""


class Similar(msgspec.Struct, frozen=True, gc=False):
    """The most similar notes, best first, with the words most telling first."""

    notes: list[Scored]
    compared: list[NoteId]
    """All notes whose words count in scores and in the choice of words."""


def similar(index: Index, note: NoteId, text: str, limit: int) -> Similar:
    """Notes with the telling words of `text`, the text of `note`.

    A word in more than a tenth of all notes, or in more than TELLING_NOTES_MAX, tells nothing. Of the others those
    tell most that few notes have, and that stand in names and headings, or more than once, where they occur: words
    of grammar may be rare by chance, and do neither.
    """
    with index.file.one_state():
        words = _rare(index, text)
        if not words:
            return Similar([], [])
        lengths = _look_up(index, note, words)
        weights = {word.written: _weight(index, word) for word in words if word.notes}
    telling = sorted((word for word in words if word.notes), key=lambda word: -weights[word.written])
    telling = telling[:SIMILAR_WORDS_MAX]
    average = sum(lengths.values()) / max(len(lengths), 1)
    scores: dict[NoteId, float] = {}
    shared: dict[NoteId, list[str]] = {}
    for word in telling:
        for each in word.notes:
            scores[each] = scores.get(each, 0.0) + weights[word.written] / (0.5 + lengths[each] / (2 * average))
            shared.setdefault(each, []).append(word.written)
    best = sorted(scores, key=lambda each: (-scores[each], each))[:limit]
    return Similar([Scored(each, scores[each], tuple(shared[each])) for each in best], list(lengths))


def frequent_words(text: str, limit: int) -> list[tuple[str, int]]:
    """The words of `text` that may tell it from others, with their counts, most frequent first."""
    counts = Counter(
        word
        for word in _WORD.findall(normalized("NFC", text.lower()))
        if _CHARS_MIN <= len(word) <= _CHARS_MAX and not word.isdecimal()
    )
    return sorted(counts.items(), key=lambda each: (-each[1], each[0]))[:limit]


def _rare(index: Index, text: str) -> list[_Word]:
    """The words of `text` with the highest tf-idf, by how many notes may have them."""
    notes = max(index.count(), 1)
    most = min(max(notes // 10, 2), TELLING_NOTES_MAX)
    weighed = []
    for written, count in frequent_words(text, WORDS_WEIGHED_MAX):
        term = Term(folded(written))
        wanted = full_text.match(index.file.read, [term])
        if wanted is None or wanted.grams is None:
            continue
        rows = index.file.read(_HAVING, (wanted.grams, most + 1))
        having = rows[0][0] if rows else 0
        if 1 < having <= most:
            weight = (1 + math.log(count)) * math.log(notes / having)
            weighed.append((-weight, written, _Word(written, term, count)))
    return [word for _, _, word in sorted(weighed, key=lambda each: each[:2])[:_WORDS_LOOKED_UP]]


def _look_up(index: Index, note: NoteId, words: Sequence[_Word]) -> dict[NoteId, int]:
    """Fills in the notes of each word; returns the lengths of these notes."""
    wanted = full_text.match(index.file.read, [word.term for word in words], every=False)
    assert wanted is not None, "one of several suffices"
    candidates = index.file.read(
        "SELECT n.note, n.path FROM grams t CROSS JOIN notes n ON n.note = t.rowid"
        " WHERE grams MATCH ? AND n.path <> ? AND NOT n.withheld ORDER BY t.rowid DESC LIMIT ?",
        (wanted.grams, note, SIMILAR_VERIFIED_MAX),
    )
    paths: dict[int, NoteId] = dict(candidates)
    lengths = {}
    for number, text in full_text.texts(index.file.read, list(paths)):
        *in_names, _properties, body = full_text.fields(text)
        names = FIELD_END.join(in_names)
        for word in words:
            if word.term.text not in text:
                continue
            is_named = kind_of(word.term.text, names) is Kind.WHOLE
            if is_named or kind_of(word.term.text, body) is Kind.WHOLE:
                path = paths[number]
                lengths[path] = len(text)
                word.notes.append(path)
                word.telling += is_named or body.count(word.term.text) > 1
    return lengths


def _weight(index: Index, word: _Word) -> float:
    rarity = math.log(max(index.count(), 2) / len(word.notes))
    return (1 + math.log(word.count)) * rarity * (_LEAST_SHARE + word.telling / len(word.notes))
