"""Notes with text like that of another: by the words that tell it from other notes.

The rarest words of the note choose which notes are compared; these are compared by many more of its words, the
rarer ones counting more. The index knows of trigrams alone and so of too many notes that have a word, therefore
the notes compared correct how rare it is.
"""

import heapq
import math
from collections import Counter
from typing import Final

import msgspec

from workspaced_events.ids import NoteId

from ...limits import (
    PARTIAL_CHARS_COMPARED_MAX,
    SIMILAR_COMPARED_MAX,
    SIMILAR_WORDS_MAX,
    TELLING_NOTES_MAX,
    WORDS_COMPARED_MAX,
    WORDS_LISTED_MAX,
    WORDS_WEIGHED_MAX,
)
from ...notes.normal_form import normalized
from ...notes.search_query import words_in
from ...notes.search_text import search_form
from . import full_text
from .entries import Field
from .index import Index
from .queries import Scored, paths

_CHARS_MAX: Final = 64
_K1: Final = 1.2
_B: Final = 0.75
_IN_NAME: Final = 4
"""A word counts so many times more for each time that it stands in a name."""
_COMMON: Final = 2
"""A word that more than one in so many notes have is no reason."""
_RARITY_POWER: Final = 1.5
"""The best of those tried on the links of two packages' documents (docs/benchmarks.md)."""


class Similar(msgspec.Struct, frozen=True, gc=False):
    """The most similar notes, best first, with the words most telling first."""

    notes: list[Scored]
    compared: list[NoteId]
    """All notes whose words count in scores and in the choice of words."""


def similar(index: Index, note: NoteId, text: str, limit: int) -> Similar:
    """Notes with the words of `text`, the text of `note`. A word in more than half of all notes, or in more than
    TELLING_NOTES_MAX, is no reason by itself."""
    with index.file.one_state():
        return _similar(index, note, text, limit)


def _similar(index: Index, note: NoteId, text: str, limit: int) -> Similar:
    written = {
        search_form(word): (word, count) for word, count in reversed(frequent_words(text, WORDS_WEIGHED_MAX))
    }
    notes = max(index.count(), 2)
    most = min(max(notes // _COMMON, 2), TELLING_NOTES_MAX)
    having: dict[str, float] = dict(full_text.note_counts(index.file.read, list(written)))

    def weight(word: str, power: float) -> float:
        rarity = max(math.log(notes / max(having[word], 1)), 0.0)
        return (1 + math.log(written[word][1])) * math.pow(rarity, power)

    telling = [word for word in written if 1 < having[word] <= most]
    listed: dict[str, list[int]] = {}
    sums: dict[int, float] = {}
    for word in heapq.nlargest(WORDS_LISTED_MAX, telling, key=lambda each: (weight(each, 1), each)):
        listed[word] = full_text.holding(index.file.read, word, most)
        for number in listed[word]:
            sums[number] = sums.get(number, 0.0) + weight(word, 1)
    best = heapq.nlargest(SIMILAR_COMPARED_MAX, sums.items(), key=lambda each: (each[1], each[0]))
    found = _counted(index, [number for number, _ in best])
    for word in written:
        if len(found) == notes:
            having[word] = sum(word in each.words for each in found.values())
        elif looked_at := [number for number in listed.get(word, ()) if number in found]:
            having[word] *= sum(word in found[number].words for number in looked_at) / len(looked_at)
    weights = {word: weight(word, _RARITY_POWER) for word in written}
    compared = heapq.nlargest(WORDS_COMPARED_MAX, written, key=lambda word: (weights[word], word))
    usual = sum(each.total for each in found.values()) / max(len(found), 1)
    scored = []
    for each in found.values():
        length = _K1 * (1 - _B + _B * each.total / usual)
        parts = {
            word: weights[word] * count * (_K1 + 1) / (count + length)
            for word in compared
            if (count := each.words.get(word))
        }
        shared = sorted(
            (word for word in parts if 1 < having[word] <= most), key=lambda word: (-parts[word], word)
        )[:SIMILAR_WORDS_MAX]
        if shared and each.note != note:
            scored.append(Scored(each.note, sum(parts.values()), tuple(written[word][0] for word in shared)))
    scored.sort(key=lambda each: (-each.score, each.note))
    return Similar(scored[:limit], [each.note for each in found.values() if each.note != note])


class _Counted(msgspec.Struct, frozen=True, gc=False):
    """The words of a note."""

    note: NoteId
    words: Counter[str]
    total: int


def _counted(index: Index, numbers: list[int]) -> dict[int, _Counted]:
    shown = paths(index, numbers)
    found: dict[int, _Counted] = {}
    left = PARTIAL_CHARS_COMPARED_MAX
    for number, text in full_text.texts(index.file.read, list(shown)):
        left -= len(text)
        if left < 0:
            break
        words = Counter(words_in(text))
        total = words.total()
        for word in words_in(" ".join(full_text.fields(text)[: Field.ALIASES + 1])):
            words[word] += _IN_NAME
        found[number] = _Counted(shown[number], words, total)
    return found


def frequent_words(text: str, limit: int) -> list[tuple[str, int]]:
    """The words of `text` that may tell it from others, with their counts, most frequent first."""
    counts = Counter(
        word
        for word in words_in(normalized("NFC", text.lower()))
        if len(word) <= _CHARS_MAX and (len(word) > 2 or not word.isascii()) and not word.isdecimal()
    )
    return sorted(counts.items(), key=lambda each: (-each[1], each[0]))[:limit]
