"""Finds the citation marks of an answer: `[^3]`, `[3]`, `^[3]`, `[3†source]` and `【3†source】`.

Each may have several numbers and ranges. Only `[^3]` is a citation beyond doubt: no shown source holds one
(sources/search_block.py disarms them). The other forms may be a note's own, so they do not count in a quotation or
a footnote, nor as an index (`x[3]`), a wiki link (`[[3]]`) or a year (`[2026]`).
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from .protected_text import Protected

NUMBER: Final = r"[1-9]\d{0,8}+"
_SHORT: Final = r"[1-9]\d{0,2}+"
_BETWEEN: Final = r"(?:[ \t]*+(?:[,;–-][ \t]*+\^?|\^))"
_ORIGIN: Final = r"[ \t]*+(?:†[^\]】\r\n]{0,200}+)?"
"""What some models write behind the number: `†source` or `†L3-L9`."""
_MARK: Final = re.compile(
    rf"\[\^(?P<certain>{NUMBER}(?:{_BETWEEN}{NUMBER})*+)[ \t]*+\]"
    rf"|\^?+\[[ \t]*+(?P<plain>{_SHORT}(?:{_BETWEEN}{_SHORT})*+){_ORIGIN}\]"
    rf"|【(?P<lenticular>{_SHORT}(?:{_BETWEEN}{_SHORT})*+){_ORIGIN}】",
    re.ASCII,
)
_IDENTIFIER: Final = re.compile(r"[a-z0-9](?:\w*[a-z0-9])?\Z", re.ASCII | re.IGNORECASE)
_IDENTIFIER_CHARS_MAX: Final = 64
_LINE_LEAD: Final = frozenset(" \t>")
_QUOTED_CHARS_MAX: Final = 500
_QUOTATION: Final = re.compile(
    rf"“[^“”\r\n]{{1,{_QUOTED_CHARS_MAX}}}+”|„[^„“”\r\n]{{1,{_QUOTED_CHARS_MAX}}}+[“”]"
    rf"|«[^«»\r\n]{{1,{_QUOTED_CHARS_MAX}}}+»"
    rf'|(?<![\w"])"(?=[^\s"])[^"\r\n]{{1,{_QUOTED_CHARS_MAX}}}+"(?![\w"])'
)
_WORDS: Final = re.compile(r"[^\W\d_]{2}")


class Mark(NamedTuple):
    start: int
    end: int
    numbers: str
    """As written, between the brackets."""
    is_certain: bool
    """Whether it has the form `[^3]`."""


def marks_in(text: str, end: int, protected: Protected) -> Iterator[Mark]:
    """The marks before `end` in order, without those in protected text. Linear in the length of `text`."""
    quotations: Quotations | None = None
    for found in _MARK.finditer(text, 0, end):
        start, stop = found.span()
        if _is_escaped(text, start) or _is_escaped(text, start + (text[start] == "^")):
            continue
        if (part := protected.at(start)) is not None and (part.kind != "number" or part.end < stop):
            continue
        if found["certain"] is not None:
            yield Mark(start, stop, found["certain"], True)
            continue
        quotations = quotations or Quotations(text)
        if not (protected.is_quoted(start) or quotations.has(start, stop) or _is_other(text, start, stop)):
            yield Mark(start, stop, found["plain"] or found["lenticular"], False)


class Quotations:
    """The quotations between quotation marks that have words."""

    def __init__(self, text: str) -> None:
        found = [each.span() for each in _QUOTATION.finditer(text) if _WORDS.search(_MARK.sub("", each[0]))]
        self._spans: Sequence[tuple[int, int]] = found
        self._starts = [start for start, _ in found]

    def has(self, start: int, end: int) -> bool:
        place = bisect_right(self._starts, start) - 1
        return place >= 0 and end <= self._spans[place][1]


def _is_other(text: str, start: int, end: int) -> bool:
    """Whether a plain number in brackets is a wiki link, a link, a definition, an index or part of a word."""
    before, after = text[start - 1 : start], text[end : end + 1]
    if after == "(" or (text[start] == before == "[" and after == "]"):
        return True
    if after.isalnum() or _ends_identifier(text[max(0, start - _IDENTIFIER_CHARS_MAX) : start]):
        return True
    return after == ":" and _begins_line(text, start)


def _ends_identifier(before: str) -> bool:
    """Whether `before` ends with a variable such as `x` or `row_ids`, not with a word of a sentence."""
    found = _IDENTIFIER.search(before)
    return found is not None and ("_" in found[0] or (len(found[0]) == 1 and found[0].isalpha()))


def _begins_line(text: str, place: int) -> bool:
    while place > 0 and text[place - 1] in _LINE_LEAD:
        place -= 1
    return place == 0 or text[place - 1] in "\r\n"


def _is_escaped(text: str, place: int) -> bool:
    before = place
    while before > 0 and text[before - 1] == "\\":
        before -= 1
    return (place - before) % 2 == 1
