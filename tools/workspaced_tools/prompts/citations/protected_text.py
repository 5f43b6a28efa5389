"""Spans of an answer where citations must not be rewritten: code and link targets.

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
_AUTOLINKS: Final = frozenset({"Autolink", "Email"})
_PROBE: Final = "\n\n# -"


class Part(NamedTuple):
    """Characters of the answer, from `start` to before `end`."""

    kind: Literal["block", "span", "address"]
    """`block`: a code block, fenced or indented; `span`: a code span; `address`: a link except its text."""
    start: int
    end: int


class Protected:
    """The protected parts of an answer, in order; two parts share at most one character."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self._parts = parts
        self._starts = [part.start for part in parts]

    def at(self, place: int) -> Part | None:
        """The part that has the character at `place`."""
        found = bisect_right(self._starts, place) - 1
        return self._parts[found] if found >= 0 and place < self._parts[found].end else None

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
    last = 0
    """The end of the innermost link's text so far."""
    event: Any
    for event, place in _PARSER.events_with_range(readable, merge_text=True):
        start, end = place["start"], place["end"]
        if type(event) is str:  # SoftBreak, HardBreak, Rule
            last = end
            continue
        ((kind, value),) = event.items()
        name = value if isinstance(value, str) else next(iter(value), "") if isinstance(value, dict) else ""
        if kind == "Code":
            yield Part("span", start, end)
        elif kind == "Start" and name == "CodeBlock":
            yield Part("block", start, end)
        elif kind == "Start" and name == "Link" and value["Link"]["link_type"] in _AUTOLINKS:
            yield Part("address", start, end)
        elif kind == "End" and name in ("Link", "Image") and last < end:
            yield Part("address", last, end)
        last = start if kind == "Start" else end
