"""The citations of a model's answer, put in order: numbered as they come, with one list of sources at the end.

A model cites `[^3]`, several as `[^3][^4]`, `[^3, ^4]` or `[^3-5]`. A plain `[3]` is no citation: it may as well
be an index, or a footnote of what is quoted. What stands in code, or is a link's address, is none either.

Our list names each source, and such a line counts for more than a number of the catalogue. So an answer that was
put in order once stays as it is. To take a mark out may make other Markdown of what stood around it; passes
therefore go on until one changes nothing.
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
"""Of a range that is longer only the two ends are cited."""
PASSES_MAX: Final = 8

_NUMBER: Final = r"[1-9]\d{0,8}+"
_MARK: Final = re.compile(
    rf"\[\^(?P<numbers>{_NUMBER}(?:(?:[ \t]*+(?:[,;–-][ \t]*+\^?|\^)){_NUMBER})*+)[ \t]*+\]", re.ASCII
)
_ITEMS: Final = re.compile(rf"(?P<range>[–-])?[ \t]*+\^?(?P<number>{_NUMBER})", re.ASCII)
_ENDS_WORD: Final = frozenset(" \t\r\n.,;:!?)]}\"'”’»")


class Cited(Wire, frozen=True):
    """An answer in order, and what it rests on."""

    text: str
    sources: tuple[Source, ...]
    """As listed, under the numbers that the text has now; of a fallback under those of the catalogue."""
    unknown: tuple[int, ...]
    """Numbers that were cited though the catalogue has them not. They are out of the text."""
    fallback: bool
    """Whether the answer cites nothing, and so lists all sources of the catalogue."""


def cited(answer: str, catalogue: Sequence[Source]) -> Cited:
    """The answer with its citations in order: `cited` of its text is the same again.

    Numbers are 1 and up by first mention, one for each source; a model's own definitions and its list of sources
    at the end give way to ours. An answer that cites nothing gets a list of all sources, unless it has one of its
    own. Nothing else of it is touched; without a catalogue, or without words, nothing is. Linear in the length of
    both. An answer that PASSES_MAX passes do not settle is nothing that a model writes, and stays as it came.
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
    """One reading of an answer."""

    def __init__(self, text: str, catalogue: Catalogue) -> None:
        self.text, self.catalogue = text, catalogue
        self.protected: Protected = protected_parts(text)
        self.lines = lines_of(text, self.protected, catalogue)
        self.list_start = trailing_list(self.lines, len(text))
        self.named = our_definitions(text, self.lines, catalogue)
        self.numbers: dict[str, Source] = {}
        """The sources cited so far, by their addresses, under their new numbers."""
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
        """The answer up to its list of sources."""
        parts: list[str] = []
        place = 0
        for edit in sorted(edits):
            parts += (self.text[place : edit.start], edit.text)
            place = edit.end
        return "".join((*parts, self.text[place : self.list_start]))

    def _listed(self, edits: list[_Edit], sources: str) -> str:
        """The answer with that list at its end, outside of any code."""
        text = self._edited(edits)
        if fence := closing_fence(text):
            text = f"{text}{fence}" if text.endswith(("\n", "\r")) else f"{text}\n{fence}"
        else:
            kept = len(text.rstrip(TRIMMED))
            while text[kept : kept + 1] in (" ", "\t"):  # They may be of code.
                kept += 1
            text = text[:kept]
        return f"{text}{BLANK_LINE}{sources}"

    # -- marks --

    def _marks(self, defined: Sequence[Line]) -> Iterator["re.Match[str]"]:
        """In order; those of definitions and of the list of sources are none."""
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
        """The marks under their new numbers; in a row of marks each number stands once."""
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
        """Takes a mark out, and the blanks before it that nothing needs then; at a line's start those behind."""
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
        """The new numbers of a mark's numbers."""
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
