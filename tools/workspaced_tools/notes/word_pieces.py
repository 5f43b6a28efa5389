"""The pieces of words, by which notes are ranked of which none has to hold every word (vault/index/partial.py).

A word has two kinds of pieces: itself with blanks at both ends, and its runs of four characters, blanks included,
which stand for its other forms and for compounds. Scripts without blanks have no words to tell apart: there the
pieces are pairs (Han, kana) or triples. All text is folded (notes/search_text.py).
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import msgspec
import regex

from .search_query import Term

_PAIRS: Final = r"\p{Han}\p{Hiragana}\p{Katakana}ー"
_TRIPLES: Final = r"\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tibetan}"
_PART: Final = regex.compile(
    rf"(?P<pairs>[{_PAIRS}]+)|(?P<triples>[{_TRIPLES}]+)|(?P<word>[[\p{{L}}\p{{N}}\p{{M}}]--[{_PAIRS}{_TRIPLES}]]+)",
    regex.VERSION1,
)
_IN_WORD: Final = regex.compile(r"[\p{L}\p{N}\p{M}]")
_RUN: Final = 4
_RUN_SHARE: Final = 1 / 2
COMMON: Final = 0.5
"""The weight of a word that at least half of the notes hold."""
_IN_NAME: Final = 2
"""A piece counts so many times more for each time that it stands in a name."""
_ENOUGH: Final = 0.4
"""A text that has this share of a word's runs has the word in another form: `paid` for `unpaid`."""
_K1: Final = 1.2
_B: Final = 0.75


class Word(msgspec.Struct, frozen=True, gc=False):
    """A word of a query, or a stretch of a script without blanks."""

    text: str
    wholes: tuple[str, ...]
    """The word between blanks; or the pairs, or triples."""
    runs: tuple[str, ...] = ()


def words_of(terms: Iterable[Term]) -> list[Word]:
    """The words of a query, each once."""
    parts = {part[0]: part.lastgroup for term in terms for part in _PART.finditer(term.text)}
    return [_cut(text, kind) for text, kind in parts.items()]


def _cut(text: str, kind: str | None) -> Word:
    if kind == "word":
        word = f" {text} "
        runs = (word[at : at + _RUN] for at in range(len(word) - _RUN + 1))
        return Word(text, (word,), tuple(dict.fromkeys(runs)) if len(word) > _RUN else ())
    size = 2 if kind == "pairs" else 3
    return Word(text, tuple(dict.fromkeys(text[at : at + size] for at in range(max(len(text) - size, 0) + 1))))


def words_in(text: str) -> Iterator[str]:
    """The words of folded text one after the other, and the pairs or triples of scripts without blanks."""
    for word in spaced(text).split():
        if word.isascii():
            yield word
            continue
        for part in _PART.finditer(word):
            if part.lastgroup == "word":
                yield part[0]
            else:
                yield from _cut(part[0], part.lastgroup).wholes


class _Blanks(dict[int, int]):
    """For `str.translate`: a blank for each character that stands in no word."""

    def __missing__(self, code: int) -> int:
        self[code] = found = code if _IN_WORD.match(chr(code)) else 32
        return found


_BLANKS: Final = _Blanks()
_STRIDE_CHARS: Final = 512


def spaced(text: str) -> str:
    """Folded text with a blank for each character that stands in no word, and at both ends."""
    # In parts, since `translate` takes ten times as long where one character is not ASCII.
    parts = (text[at : at + _STRIDE_CHARS].translate(_BLANKS) for at in range(0, len(text), _STRIDE_CHARS))
    return f" {''.join(parts)} "


def weight(notes: int, having: float, *, is_run: bool) -> float:
    """How much a piece counts that so many of all notes have: in whole bits, so that one note more or less seldom
    shows."""
    bits = max(1, int(notes / max(having, 1)).bit_length()) - 0.5
    return bits * _RUN_SHARE if is_run else bits


Counts = Mapping[str, int]
"""How often pieces stand in a text, of those that do."""


def counted(pieces: Iterable[str], text: str) -> Counts:
    """For a `spaced` text."""
    return {piece: count for piece in pieces if (count := text.count(piece))}


class Ranking(msgspec.Struct, frozen=True, gc=False):
    """What the words of a query weigh."""

    words: list[Word]
    weights: Mapping[str, float]
    """Of each piece."""
    usual_chars: float

    def score(self, counts: Counts, chars: int, names: str = "") -> float:
        """BM25 of a text; `names`: those that are in it, spaced."""
        length = _K1 * (1 - _B + _B * chars / self.usual_chars)
        score = 0.0
        for piece, count in counts.items():
            if names:
                count += _IN_NAME * names.count(piece)
            score += self.weights[piece] * count * (_K1 + 1) / (count + length)
        return score

    def score_of(self, text: str, names: str = "") -> float:
        """The score of folded text."""
        flat = spaced(text)
        return self.score(counted(self.weights, flat), len(flat), spaced(names) if names else "")

    def missing(self, counts: Counts) -> tuple[str, ...]:
        """The words that a text holds in no form, without those that most notes hold."""
        return tuple(word.text for word in self._telling() if not self._holds(word, counts))

    def holds_any(self, counts: Counts, *, common: bool) -> bool:
        """Whether a text holds any of the words in some form; of one without blanks any piece is enough. `common`:
        also one that most notes hold."""
        return any(
            self._holds(word, counts) if word.runs else any(piece in counts for piece in word.wholes)
            for word in (self.words if common else self._telling())
        )

    def _telling(self) -> list[Word]:
        return [word for word in self.words if any(self.weights[piece] > COMMON for piece in word.wholes)]

    def _holds(self, word: Word, counts: Counts) -> bool:
        """Whether a text has enough of a word."""
        if word.runs and word.wholes[0] in counts:
            return True
        pieces = word.runs or word.wholes
        return sum(piece in counts for piece in pieces) >= len(pieces) * _ENOUGH
