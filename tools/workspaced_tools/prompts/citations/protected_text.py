"""Spans of an answer where citations must not be rewritten: code, links, images and, for some, quotations.

pulldown-cmark (through pyromark) parses the Markdown in linear time and decides what is code. Its offsets are
bytes of the UTF-8 form, ours are characters.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, Final, Literal, NamedTuple

import pyromark
from pyromark import Options

_PARSER: Final = pyromark.Markdown(
    options=Options.ENABLE_TABLES
    | Options.ENABLE_FOOTNOTES
    | Options.ENABLE_STRIKETHROUGH
    | Options.ENABLE_TASKLISTS
)
_SURROGATE: Final = re.compile(r"[\ud800-\udfff]")
_LONE_CR: Final = re.compile(r"\r(?!\n)")
_FENCE: Final = re.compile(r"```+|~~~+")
_NUMBER: Final = re.compile(r"\[\^\d{1,9}\]|\[\d{1,9}\](?![(\[])", re.ASCII)
_NUMBER_BYTES_MAX: Final = 16
_PROBE: Final = "\n\n# -"


class Part(NamedTuple):
    """Characters of the answer, from `start` to before `end`."""

    kind: Literal["block", "span", "link", "number", "quote"]
    """`block`: a code block, fenced or indented; `span`: a code span; `link`: a link or image, with its text;
    `number`: a link whose text is only a citation mark; `quote`: a block quotation or a footnote's definition."""
    start: int
    end: int


class Protected:
    """The protected parts of an answer, in order and disjoint; quotations apart, which may hold the others."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self._parts = [part for part in parts if part.kind != "quote"]
        self._starts = [part.start for part in self._parts]
        self._quotes = [part for part in parts if part.kind == "quote"]
        self._quote_starts = [part.start for part in self._quotes]

    def at(self, place: int) -> Part | None:
        """The part that has the character at `place`."""
        found = bisect_right(self._starts, place) - 1
        return self._parts[found] if found >= 0 and place < self._parts[found].end else None

    def is_quoted(self, place: int) -> bool:
        """Whether a block quotation or a footnote's definition has the character at `place`."""
        found = bisect_right(self._quote_starts, place) - 1
        return found >= 0 and place < self._quotes[found].end

    def cut(self, start: int, end: int) -> bool:
        """Whether removing the characters from `start` to before `end` would touch a block or split a part."""
        first = bisect_right(self._starts, start - 1)
        before = first > 0 and start < self._parts[first - 1].end
        within = self._parts[first : bisect_right(self._starts, end - 1)]
        return before or any(part.kind == "block" or part.end > end for part in within)


def protected_parts(answer: str) -> Protected:
    readable = _LONE_CR.sub("\n", _SURROGATE.sub("\ufffd", answer))
    parts = list(_parts_in_bytes(readable))
    if not answer.isascii():
        source, places = readable.encode(), {0: 0}
        for before, place in pairwise(sorted({0, *(at for part in parts for at in part[1:])})):
            places[place] = places[before] + len(source[before:place].decode(errors="replace"))
        parts = [Part(part.kind, places[part.start], places[part.end]) for part in parts]
    return Protected(parts)


def closing_fence(answer: str) -> str:
    """The line that closes a code fence left open at the answer's end; empty if none is open."""
    if "```" not in answer and "~~~" not in answer:
        return ""
    probed = f"{answer}{_PROBE}"
    part = protected_parts(probed).at(len(probed) - 1)
    fence = _FENCE.match(probed, part.start) if part is not None and part.kind == "block" else None
    return fence[0] if fence is not None else ""


def _parts_in_bytes(readable: str) -> Iterator[Part]:
    source = readable.encode()
    link_end = quote_end = 0
    """The ends of the last outermost link and quotation so far."""
    event: Any
    for event, place in _PARSER.events_with_range(readable, merge_text=True):
        start, end = place["start"], place["end"]
        if type(event) is str or start < link_end:  # SoftBreak, HardBreak, Rule
            continue
        ((kind, value),) = event.items()
        name = value if isinstance(value, str) else next(iter(value), "") if isinstance(value, dict) else ""
        if kind == "Code":
            yield Part("span", start, end)
        elif kind == "Start" and name == "CodeBlock":
            yield Part("block", start, end)
        elif kind == "Start" and name in ("Link", "Image"):
            link_end = end
            begin = source[start : min(end, start + _NUMBER_BYTES_MAX)].decode(errors="replace")
            is_number = name == "Link" and _NUMBER.match(begin)
            yield Part("number" if is_number else "link", start, end)
        elif kind == "Start" and name in ("BlockQuote", "FootnoteDefinition") and start >= quote_end:
            quote_end = end
            yield Part("quote", start, end)
