"""Renumbers the citations of a model's answer by first mention, and adds one list of sources at the end.

A model cites `[^3]`, several as `[^3][^4]`, `[^3, ^4]` or `[^3-5]`. A plain `[3]` is no citation: it may be an
index or a footnote in a quotation. Marks in code or in a link's address are no citations either.

Our list names each source, and a line of that list overrides a number of the catalogue. So renumbering an answer
again changes nothing. Removing a mark may change the Markdown around it, so passes repeat until one changes
nothing.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from msgspec.structs import replace

from ...ports.base import Wire
from ..model.blocks import BLANK_LINE, TRIMMED
from ..sources.search_block import Source
from .protected_text import Protected, closing_fence, protected_parts
from .source_list import (
    Catalogue,
    Line,
    definitions,
    lines_of,
    our_definitions,
    plain_list,
    trailing_list,
)

RANGE_MAX: Final = 20
"""A longer range cites only its two ends."""
PASSES_MAX: Final = 8

_NUMBER: Final = r"[1-9]\d{0,8}+"
_MARK: Final = re.compile(
    rf"\[\^(?P<numbers>{_NUMBER}(?:(?:[ \t]*+(?:[,;–-][ \t]*+\^?|\^)){_NUMBER})*+)[ \t]*+\]", re.ASCII
)
_ITEMS: Final = re.compile(rf"(?P<range>[–-])?[ \t]*+\^?(?P<number>{_NUMBER})", re.ASCII)
_ENDS_WORD: Final = frozenset(" \t\r\n.,;:!?)]}\"'”’»")


class Cited(Wire, frozen=True):
    """A renumbered answer and its sources."""

    text: str
    sources: tuple[Source, ...]
    """As listed, with the numbers in `text`; for a fallback with the catalogue's numbers."""
    unknown: tuple[int, ...]
    """Cited numbers that the catalogue does not have; their marks are removed from the text."""
    fallback: bool
    """Whether the answer cites nothing and therefore lists all sources of the catalogue."""


def cited(answer: str, catalogue: Sequence[Source]) -> Cited:
    """Renumbers the citations of an answer. Idempotent: renumbering the result changes nothing.

    Each source gets one number, from 1 on by first mention. Our list replaces the model's own definitions and its
    list of sources at the end. An answer that cites nothing gets a list of all sources, unless it has its own.
    Nothing else changes; without a catalogue, or without words, nothing changes at all. Linear in the length of
    both. No model writes an answer that still changes after PASSES_MAX passes; such an answer is returned
    unchanged.
    """
    if not catalogue:
        return Cited(answer, (), (), False)
    known = Catalogue(catalogue)
    unknown: dict[int, None] = {}
    text = answer
    for _ in range(PASSES_MAX):
        done = _Pass(text, known).run()
        unknown.update(dict.fromkeys(done.unknown))
        if done.text == text:
            return replace(done, unknown=tuple(unknown))
        text = done.text
    return Cited(answer, (), (), False)


class _Edit(NamedTuple):
    start: int
    end: int
    text: str


class _Pass:
    """One pass over an answer."""

    def __init__(self, text: str, catalogue: Catalogue) -> None:
        self.text, self.catalogue = text, catalogue
        self.protected: Protected = protected_parts(text)
        self.lines = lines_of(text, self.protected, catalogue)
        self.list_start = trailing_list(self.lines, len(text))
        self.named = our_definitions(text, self.lines, catalogue)
        self.numbers: dict[str, Source] = {}
        """The sources cited so far, with their new numbers, by address."""
        self.unknown: dict[int, None] = {}

    def run(self) -> Cited:
        defined = [line for line in self.lines if line.kind == "definition" and line.end <= self.list_start]
        marks = list(self._mark_edits(defined))
        removed = [_Edit(line.start, line.end, "") for line in defined]
        unknown = tuple(self.unknown)
        if self.numbers:
            sources = tuple(self.numbers.values())
            return Cited(self._listed(marks + removed, definitions(sources)), sources, unknown, False)
        if any(line.kind == "heading" for line in self.lines):
            text = self._edited(marks) + self.text[self.list_start :]
            is_ours = self.text[self.list_start :] == plain_list(self.catalogue.sources)
            return Cited(text, self.catalogue.sources if is_ours else (), unknown, is_ours)
        if not self._edited(marks + removed).strip(TRIMMED):
            return Cited(self._edited(marks), (), unknown, False)
        text = self._listed(marks + removed, plain_list(self.catalogue.sources))
        return Cited(text, self.catalogue.sources, unknown, True)

    def _edited(self, edits: list[_Edit]) -> str:
        """The edited answer up to its list of sources."""
        parts: list[str] = []
        place = 0
        for edit in sorted(edits):
            parts += (self.text[place : edit.start], edit.text)
            place = edit.end
        return "".join((*parts, self.text[place : self.list_start]))

    def _listed(self, edits: list[_Edit], sources: str) -> str:
        """The edited answer with the list `sources` at its end, outside of any code."""
        text = self._edited(edits)
        if fence := closing_fence(text):
            text = f"{text}{fence}" if text.endswith(("\n", "\r")) else f"{text}\n{fence}"
        else:
            kept = len(text.rstrip(TRIMMED))
            while text[kept : kept + 1] in (" ", "\t"):  # They may be part of code.
                kept += 1
            text = text[:kept]
        return f"{text}{BLANK_LINE}{sources}"

    # -- marks --

    def _marks(self, defined: Sequence[Line]) -> Iterator["re.Match[str]"]:
        """The citation marks in order, without those in definitions and in the list of sources."""
        upcoming = iter(defined)
        line = next(upcoming, None)
        for mark in _MARK.finditer(self.text, 0, self.list_start):
            while line is not None and line.end <= mark.start():
                line = next(upcoming, None)
            in_definition = line is not None and line.start <= mark.start()
            if not in_definition and not self._is_escaped(mark.start()) and not self.protected.at(mark.start()):
                yield mark

    def _is_escaped(self, place: int) -> bool:
        before = place
        while before > 0 and self.text[before - 1] == "\\":
            before -= 1
        return (place - before) % 2 == 1

    def _mark_edits(self, defined: Sequence[Line]) -> Iterator[_Edit]:
        """Edits that renumber the marks; consecutive marks have each number once."""
        row: set[int] = set()
        row_end = -1
        for mark in self._marks(defined):
            start, end = mark.span()
            blanks = self._blanks_before(start)
            if blanks != row_end:
                row.clear()
            fresh = [number for number in dict.fromkeys(self._cite(mark["numbers"])) if number not in row]
            if fresh:
                yield _Edit(start, end, "".join(f"[^{number}]" for number in fresh))
            else:
                yield self._without(start, end, blanks)
            row.update(fresh)
            row_end = end

    def _without(self, start: int, end: int, blanks: int) -> _Edit:
        """Removes a mark and the superfluous blanks before it; at a line's start the blanks after it."""
        if blanks == 0 or self.text[blanks - 1] in "\r\n":
            while self.text[end : end + 1] in (" ", "\t"):
                end += 1
            return _Edit(start, end, "")
        ends_word = end == len(self.text) or self.text[end] in _ENDS_WORD
        return _Edit(blanks if ends_word else start, end, "")

    def _blanks_before(self, place: int) -> int:
        while place > 0 and self.text[place - 1] in " \t":
            place -= 1
        return place

    def _cite(self, written: str) -> Iterator[int]:
        """The new numbers for the numbers in a mark."""
        previous = 0
        for item in _ITEMS.finditer(written):
            number = int(item["number"])
            first = number
            if item["range"] and 0 < number - previous <= RANGE_MAX:
                first = previous + 1
            for each in range(first, number + 1):
                source = self.named.get(each) or self.catalogue.by_number.get(each)
                if source is None:
                    self.unknown[each] = None
                    continue
                new = Source(len(self.numbers) + 1, source.title, source.source)
                yield self.numbers.setdefault(source.source, new).number
            previous = number
