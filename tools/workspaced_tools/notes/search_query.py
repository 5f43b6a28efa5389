"""What a search asks for: words, quoted phrases, and the operators of Obsidian's search that we have.

    word                notes that hold it, also within a longer word
    "two words"         notes that hold exactly that
    -word -"a phrase"   notes without it
    tag:name -tag:name  notes with the tag or one below it
    path:text           notes whose path holds it
    one OR two          notes that hold the words before it, or those behind it; operators hold for both

All else is text. An operator without a value is text, too, and so is `-word` where nothing else is asked for.
Brackets, quotes and stops around a word are no part of it, unless it has no letter or digit.
"""

from typing import Any, Final

import msgspec
import regex

from ..limits import QUERY_WORDS_MAX, QUESTION_WORDS
from .name_keys import fold
from .search_text import folded

_PART: Final = regex.compile(
    r'(?P<minus>(?:-(?!-))?)(?P<operator>(?:tag:|path:)?)(?:"(?P<phrase>[^"]*)"(?=\s|$)|(?P<word>\S+))',
    regex.IGNORECASE,
)
_ALPHANUMERIC: Final = regex.compile(r"[\p{L}\p{N}]")
_BEFORE: Final = "([{<'\"*“‘„«「『（【《¿¡"
_BEHIND: Final = ")]}>'\"*,;:?!.”’»」』）】》，。、；：？！…"


class Term(msgspec.Struct, frozen=True, gc=False):
    """One word or phrase, folded."""

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
    """Folded as the index's tags are."""
    without_tags: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    """Folded."""
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
        return sum(not term.quoted for term in self.terms) >= QUESTION_WORDS

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
        return f"{prefix}tags", fold(value.removeprefix("#").strip("/"))
    if operator == "path:":
        return f"{prefix}paths", folded(value).removesuffix(".md").strip("/")
    return "without" if minus else "terms", _term(value, is_phrase=is_phrase)


def _term(value: str, *, is_phrase: bool) -> Term | None:
    if not is_phrase and _ALPHANUMERIC.search(value):
        value = value.lstrip(_BEFORE).rstrip(_BEHIND)
    text = folded(value)
    if len(text) == 1 and text.isascii():
        return Term(text, whole=True, quoted=is_phrase) if text.isalnum() else None
    return Term(text, quoted=is_phrase) if text else None
