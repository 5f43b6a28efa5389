"""What a search asks for: words, quoted phrases, `-word`, `tag:name`, `path:text`, `one OR two`; all else is text.

Notes of which none has to hold every word are ranked by pieces of words (vault/index/partial.py): a word with
blanks at both ends, and its runs of four characters, blanks included, which stand for its other forms and for
compounds. Scripts without blanks have no words to tell apart: there the pieces are pairs (Han, kana) with single
signs as runs, or triples.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec
import regex

from ..limits import QUERY_WORDS_MAX, QUESTION_WORDS
from .name_keys import without_case
from .search_text import search_form

_PART: Final = regex.compile(
    r'(?P<minus>(?:-(?!-))?)(?P<operator>(?:tag:|path:)?)(?:"(?P<phrase>[^"]*)"(?=\s|$)|(?P<word>\S+))',
    regex.IGNORECASE,
)
_ALPHANUMERIC: Final = regex.compile(r"[\p{L}\p{N}]")
_BEFORE: Final = "([{<'\"*“‘„«「『（【《¿¡"
_BEHIND: Final = ")]}>'\"*,;:?!.”’»」』）】》，。、；：？！…"


class Term(msgspec.Struct, frozen=True, gc=False):
    """One word or phrase, normalised."""

    text: str
    whole: bool = False
    """One ASCII letter or digit, which counts only as a word of its own."""
    quoted: bool = False
    """No note may lack it."""


class TextQuery(msgspec.Struct, frozen=True, gc=False):
    """A query in its parts. Each must hold, but of `alternatives` one is enough."""

    terms: tuple[Term, ...] = ()
    alternatives: tuple[tuple[Term, ...], ...] = ()
    """`terms` as OR divides them; empty: there is no OR."""
    without: tuple[Term, ...] = ()
    tags: tuple[str, ...] = ()
    """Normalised as the index's tags are."""
    without_tags: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    """Normalised."""
    without_paths: tuple[str, ...] = ()
    left_out: int = 0
    """How many parts there were beyond QUERY_WORDS_MAX."""

    @property
    def groups(self) -> tuple[tuple[Term, ...], ...]:
        """The terms that a note must hold: one group of these."""
        return self.alternatives or (self.terms,)

    @property
    def is_question(self) -> bool:
        """Whether there are so many words that a note that tells most lacks some."""
        return not self.alternatives and sum(not term.quoted for term in self.terms) >= QUESTION_WORDS

    @property
    def has_operators(self) -> bool:
        return bool(self.without or self.tags or self.without_tags or self.paths or self.without_paths)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to look for."""
        return not (self.terms or self.tags or self.paths)


def parse(query: str) -> TextQuery:
    """The parts of `query`, with its operators; without them where they alone would ask for nothing."""
    found = _parts(query, operators=True)
    return literal(query) if found.is_empty else found


def literal(query: str) -> TextQuery:
    """The words and phrases of `query`; operators are text."""
    return _parts(query, operators=False)


def _parts(query: str, *, operators: bool) -> TextQuery:
    seen: dict[tuple[str, Term | str], None] = {}
    groups: list[list[Term]] = [[]]
    for part in _PART.finditer(query.replace("\0", " ")):
        minus, operator, phrase = part["minus"], part["operator"].lower(), part["phrase"]
        if operators and part[0] == "OR" and groups[-1]:
            groups.append([])
            continue
        if not operators and (minus or operator):
            phrase, minus, operator, value = None, "", "", part[0]
        else:
            value = part["word"] if phrase is None else phrase
        name, wanted = _meant(minus, operator, value, is_phrase=phrase is not None)
        if wanted:
            seen[name, wanted] = None
        if isinstance(wanted, Term) and name == "terms":
            groups[-1].append(wanted)
    if len(groups) > 1 and not groups[-1]:
        groups.pop()
        seen["terms", Term("or")] = None
        groups[-1].append(Term("or"))
    found: dict[str, list[Term | str]] = {}
    for name, wanted in list(seen)[:QUERY_WORDS_MAX]:
        found.setdefault(name, []).append(wanted)
    lists: dict[str, Any] = {name: tuple(values) for name, values in found.items()}
    if len(groups) > 1:
        kept = set(found["terms"])
        alternatives = (tuple(term for term in group if term in kept) for group in groups)
        lists["alternatives"] = tuple(dict.fromkeys(group for group in alternatives if group))
    return TextQuery(**lists, left_out=max(0, len(seen) - QUERY_WORDS_MAX))


def _meant(minus: str, operator: str, value: str, *, is_phrase: bool) -> tuple[str, Term | str | None]:
    """The field of `TextQuery` that a part belongs to, and its value there; None: it says nothing."""
    prefix = "without_" if minus else ""
    if operator == "tag:":
        return f"{prefix}tags", without_case(value.removeprefix("#").strip("/"))
    if operator == "path:":
        path = search_form(value).removesuffix(".md").strip("/").removeprefix("./")
        return f"{prefix}paths", "" if path == "." else path  # the root: every note
    return "without" if minus else "terms", _term(value, is_phrase=is_phrase)


def _term(value: str, *, is_phrase: bool) -> Term | None:
    if not is_phrase and _ALPHANUMERIC.search(value):
        value = value.lstrip(_BEFORE).rstrip(_BEHIND)
    text = search_form(value)
    if len(text) == 1 and text.isascii():
        return Term(text, whole=True, quoted=is_phrase) if text.isalnum() else None
    return Term(text, quoted=is_phrase) if text else None


# -- pieces of words --

_PAIRS: Final = r"\p{Han}\p{Hiragana}\p{Katakana}ー"
_TRIPLES: Final = r"\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tibetan}"
_STRETCH: Final = regex.compile(
    rf"(?P<pairs>[{_PAIRS}]+)|(?P<triples>[{_TRIPLES}]+)|(?P<word>[[\p{{L}}\p{{N}}\p{{M}}]--[{_PAIRS}{_TRIPLES}]]+)",
    regex.VERSION1,
)
_QUOTED: Final = regex.compile(r'"[^"]+"')
_IN_WORD: Final = regex.compile(r"[\p{L}\p{N}\p{M}]")
_RUN: Final = 4
_RUN_SHARE: Final = 1 / 2
COMMON: Final = 0.5
"""The weight of a word that at least half of the notes hold."""
_IN_TITLE: Final = 1
"""A piece in the title counts so much more; in a text it counts 2.2 at most."""
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
    has_blanks: bool = True
    """Whether it stands between blanks."""


def words_of(terms: Iterable[Term]) -> list[Word]:
    """The words of a query, each once."""
    parts = {part[0]: part.lastgroup for term in terms for part in _STRETCH.finditer(term.text)}
    return [_cut(text, kind) for text, kind in parts.items()]


def as_asked(query: str, words: Iterable[str]) -> list[str]:
    """Words and phrases of `query`, given normalised, as it writes them."""
    parts = (*_QUOTED.findall(query), *query.split(), *(part[0] for part in _STRETCH.finditer(query)))
    written = {search_form(part): part for part in parts}
    return [written.get(word, word) for word in words]


def _cut(text: str, kind: str | None) -> Word:
    if kind == "word":
        word = f" {text} "
        runs = (word[at : at + _RUN] for at in range(len(word) - _RUN + 1))
        return Word(text, (word,), tuple(dict.fromkeys(runs)) if len(word) > _RUN else ())
    size = 2 if kind == "pairs" else 3
    wholes = dict.fromkeys(text[at : at + size] for at in range(max(len(text) - size, 0) + 1))
    singles = dict.fromkeys(text) if kind == "pairs" and len(text) > 1 else ()
    return Word(text, tuple(wholes), tuple(singles), has_blanks=False)


def words_in(text: str) -> Iterator[str]:
    """The words of normalised text one after the other, and the pairs or triples of scripts without blanks."""
    for word in spaced(text).split():
        if word.isascii():
            yield word
            continue
        for part in _STRETCH.finditer(word):
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


_WITHOUT_BLANKS: Final = r"\u0e00-\u109f\u1780-\u17ff\u2e80-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_HAS_ANY: Final = re.compile(f"[{_WITHOUT_BLANKS}]")
_BESIDE: Final = re.compile(f"(?<=[{_WITHOUT_BLANKS}])(?=[a-z0-9])|(?<=[a-z0-9])(?=[{_WITHOUT_BLANKS}])")


def spaced(text: str) -> str:
    """Normalised text with blanks for all that stands in no word, at both ends, and where ASCII stands amid a
    script that has none."""
    # In parts, since `translate` takes ten times as long where one character is not ASCII.
    parts = (text[at : at + _STRIDE_CHARS].translate(_BLANKS) for at in range(0, len(text), _STRIDE_CHARS))
    flat = f" {''.join(parts)} "
    return flat if flat.isascii() or not _HAS_ANY.search(flat) else _BESIDE.sub(" ", flat)


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

    def score(self, counts: Counts, chars: int, title: str = "") -> float:
        """BM25 of a text; `title`: spaced."""
        length = _K1 * (1 - _B + _B * chars / self.usual_chars)
        score = 0.0
        for piece, count in counts.items():
            in_text = count * (_K1 + 1) / (count + length)
            score += self.weights[piece] * (in_text + _IN_TITLE if piece in title else in_text)
        return score

    def within(self, text: str) -> "Ranking":
        """The same for parts of a normalised text: with the pieces that it holds."""
        held = counted(self.weights, spaced(text))
        return Ranking(self.words, {piece: self.weights[piece] for piece in held}, self.usual_chars)

    def score_of(self, text: str) -> float:
        flat = spaced(text)
        return self.score(counted(self.weights, flat), len(flat))

    def missing(self, counts: Counts) -> tuple[str, ...]:
        """The words that a text holds in no form, without those that most notes hold."""
        return tuple(word.text for word in self._telling() if not self._holds(word, counts))

    def holds_any(self, counts: Counts, *, common: bool) -> bool:
        """Whether a text holds any of the words in some form; of one without blanks any piece is enough. `common`:
        also one that most notes hold."""
        return any(
            self._holds(word, counts) if word.has_blanks else any(piece in counts for piece in word.wholes)
            for word in (self.words if common else self._telling())
        )

    def _telling(self) -> list[Word]:
        return [word for word in self.words if any(self.weights[piece] > COMMON for piece in word.wholes)]

    def _holds(self, word: Word, counts: Counts) -> bool:
        """Whether a text has enough of a word."""
        if word.has_blanks and word.wholes[0] in counts:
            return True
        pieces = (word.has_blanks and word.runs) or word.wholes
        return sum(piece in counts for piece in pieces) >= len(pieces) * _ENOUGH
