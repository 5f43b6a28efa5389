"""Renumbers the citations of a model's answer by first mention, and adds one list of sources at the end.

A model cites `[^3]`, several as `[^3][^4]`, `[^3, ^4]` or `[^3-5]`, or writes `[3]` or `【3†source】`.
Marks in code, links and images are no citations. A mark of an unknown number goes with all that held only it.

Our list names each source, and a line of that list overrides a number of the catalogue. So renumbering an answer
again changes nothing. Removing a mark may change the Markdown around it, so passes repeat until one changes
nothing.

With a removed mark goes what held only it (brackets, quotes, emphasis), its comma, its blanks: removing `[9]`
alone leaves `()`, `****`, `[, 1]` or a blank before the full stop; models write all of these. What stood empty
before stays as it was.

Only `[^3]` is a citation beyond doubt: no shown source holds one (sources/search_block.py disarms them). The other
forms, each with several numbers and ranges, may be a note's own, so they do not count in a quotation or a
footnote, nor as an index (`x[3]`), a wiki link (`[[3]]`) or a year (`[2026]`).
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from msgspec.structs import replace

from workspaced_events.projections.conversations import Conversation

from ...ports.base import Wire
from ..assembly.history import continuation_of
from ..model.blocks import BLANK_LINE, TRIMMED
from ..model.types import PARTS, Texts, Turn
from ..sources.search_block import Source, numbered
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
_QUOTE_LEAD: Final = frozenset(" \t>")
_QUOTED_CHARS_MAX: Final = 500
_QUOTATION: Final = re.compile(
    rf"“[^“”\r\n]{{1,{_QUOTED_CHARS_MAX}}}+”|„[^„“”\r\n]{{1,{_QUOTED_CHARS_MAX}}}+[“”]"
    rf"|«[^«»\r\n]{{1,{_QUOTED_CHARS_MAX}}}+»"
    rf'|(?<![\w"])"(?=[^\s"])[^"\r\n]{{1,{_QUOTED_CHARS_MAX}}}+"(?![\w"])'
)
_WORDS: Final = re.compile(r"[^\W\d_]{2}")
RANGE_MAX: Final = 20
"""A longer range cites only its two ends."""
PASSES_MAX: Final = 8

_ITEMS: Final = re.compile(rf"(?P<range>[–-])?[ \t]*+\^?(?P<number>{NUMBER})", re.ASCII)
_SEPARATOR: Final = re.compile(r"[ \t]*+(?:[,;][ \t]*+)?+")
_BRACKETS: Final = (
    ("(", ")"),
    ("[", "]"),
    ("{", "}"),
    ("（", "）"),
    ("【", "】"),
    ("<sup>", "</sup>"),
    (r"\(", r"\)"),
)
_TIGHT: Final = (
    *(("**", "**"), ("__", "__"), ("~~", "~~"), ("==", "=="), ("*", "*"), ("_", "_")),
    *(('"', '"'), ("'", "'"), ("“", "”"), ("„", "“"), ("„", "”"), ("‘", "’"), ("«", "»"), ("‹", "›")),
)
"""These hold what stands right at them."""
_LEAD_WORD: Final = re.compile(r"(?:see|cf\.?|from|ref\.?|sources?:?|references?:?)[ \t]+\Z", re.I)
_LEAD_WORD_CHARS_MAX: Final = 16
_STOPS: Final = (",", ";", ".", ":")
_CLOSES: Final = ".,;:!?)]}）】"
_ENDS_WORD: Final = frozenset(f" \t\r\n{_CLOSES}\"'”’»›")
_EMPHASIS: Final = "*_~="
_OPENS: Final = frozenset("([{（【“„‘«‹")
_LINE_LEAD: Final = re.compile(r"(?:[ \t>]|[-*+](?=[ \t])|\d{1,9}[.)](?=[ \t])|#{1,6}(?=[ \t]))*")
_LINE_LEAD_CHARS_MAX: Final = 64


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
    while place > 0 and text[place - 1] in _QUOTE_LEAD:
        place -= 1
    return place == 0 or text[place - 1] in "\r\n"


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
        self.named = our_definitions(text, self.lines, catalogue)
        self.list_start = trailing_list(self.lines, len(text), loose=True)
        if not self._cites():
            self.list_start = trailing_list(self.lines, len(text), loose=False)
        self.numbers: dict[str, Source] = {}
        """The sources cited so far, with their new numbers, by address."""
        self.unknown: dict[int, None] = {}

    def run(self) -> Cited:
        defined = self._defined()
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

    def _cites(self) -> bool:
        """Whether the words before the list of sources cite something of the catalogue."""
        marks = self._marks(self._defined())
        return any(self._source(number) is not None for mark in marks for number in _numbers(mark.numbers))

    def _defined(self) -> list[Line]:
        return [line for line in self.lines if line.kind == "definition" and line.end <= self.list_start]

    def _edited(self, edits: list[_Edit]) -> str:
        """The edited answer up to its list of sources."""
        parts: list[str] = []
        place = 0
        for edit in sorted(edits):
            parts += (self.text[place : edit.start], edit.text)
            place = max(place, edit.end)
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

    def _marks(self, defined: Sequence[Line]) -> Iterator[Mark]:
        """The citation marks in order, without those in definitions and in the list of sources."""
        upcoming = iter(defined)
        line = next(upcoming, None)
        for mark in marks_in(self.text, self.list_start, self.protected):
            while line is not None and line.end <= mark.start:
                line = next(upcoming, None)
            in_definition = line is not None and line.start <= mark.start
            if not in_definition and not self._is_foreign(mark):
                yield mark

    def _is_foreign(self, mark: Mark) -> bool:
        """Whether the mark is a link to something that the catalogue does not have."""
        if not self.protected.at(mark.start):
            return False
        return any(self._source(number) is None for number in _numbers(mark.numbers))

    def _mark_edits(self, defined: Sequence[Line]) -> Iterator[_Edit]:
        """Edits that renumber the marks, and remove those of unknown numbers with what held only them."""
        gone: list[tuple[int, int]] = []
        for row in self._rows(defined):
            start, end = row[0].start, row[-1].end
            if text := self._renumbered(row):
                yield _Edit(start, end, text)
                continue
            start, end = held(self.text, start, end)
            while gone and _SEPARATOR.fullmatch(self.text, gone[-1][1], start):
                start, end = held(self.text, gone.pop()[0], end)
            gone.append((start, end))
        for start, end in gone:
            yield _Edit(*with_blanks(self.text, start, end), "")

    def _rows(self, defined: Sequence[Line]) -> Iterator[list[Mark]]:
        """The marks by rows: marks with nothing but blanks or a comma between them."""
        row: list[Mark] = []
        for mark in self._marks(defined):
            if row and not _SEPARATOR.fullmatch(self.text, row[-1].end, mark.start):
                yield row
                row = []
            row.append(mark)
        if row:
            yield row

    def _renumbered(self, row: Sequence[Mark]) -> str:
        """The text of a row; empty if it cites nothing. Marks without a comma between them cite a number once."""
        parts: list[str] = []
        seen: set[int] = set()
        end = row[0].start
        for mark in row:
            between = self.text[end : mark.start]
            if between.strip(" \t"):
                seen.clear()
            fresh = [number for number in dict.fromkeys(self._cite(mark.numbers)) if number not in seen]
            if fresh:
                parts += (between if parts else "", "".join(f"[^{number}]" for number in fresh))
            seen.update(fresh)
            end = mark.end
            trail = "" if fresh else between
        if parts and trail[:1] in (" ", "\t") and self.text[end : end + 1].isalnum():
            parts.append(trail)
        return "".join(parts)

    def _cite(self, written: str) -> Iterator[int]:
        """The new numbers for the numbers in a mark."""
        for number in _numbers(written):
            source = self._source(number)
            if source is None:
                self.unknown[number] = None
                continue
            new = Source(len(self.numbers) + 1, source.title, source.source)
            yield self.numbers.setdefault(source.source, new).number

    def _source(self, number: int) -> Source | None:
        return self.named.get(number) or self.catalogue.by_number.get(number)


def _numbers(written: str) -> Iterator[int]:
    """The numbers in a mark; of a range that is too long only its ends."""
    previous = 0
    for item in _ITEMS.finditer(written):
        number = int(item["number"])
        is_range = item["range"] and 0 < number - previous <= RANGE_MAX
        yield from range(previous + 1 if is_range else number, number + 1)
        previous = number


def held(text: str, start: int, end: int) -> tuple[int, int]:
    """The widest span around `start` to before `end` that holds nothing else. Linear in what it adds."""
    while (wider := _wider(text, start, end)) is not None:
        start, end = wider
    return start, end


def with_blanks(text: str, start: int, end: int) -> tuple[int, int]:
    """The span with the commas and blanks that are superfluous once it is gone."""
    before, after = _blanks_before(text, start), _blanks_after(text, end)
    if before == 0 or text[before - 1] in "\r\n":
        return start, _without_comma(text, after)
    if _begins_phrase(text, start, before):
        return start, _without_comma(text, after)
    if _follows_lead(text, before) and (behind := _without_comma(text, after)) != after:
        return start, behind
    ends = after == len(text) or text[after] in _CLOSES
    if text[before - 1] in ",;" and ends:
        return before - 1, end
    return (before if _ends_word(text, end) else start), end


def _wider(text: str, start: int, end: int) -> tuple[int, int] | None:
    for opening, closing in _TIGHT:
        behind = end + (text[end : end + 1] in (".", ":", ",") and opening[0] in _EMPHASIS)
        if text.startswith(closing, behind) and text.endswith(opening, 0, start):
            left, right = start - len(opening), behind + len(closing)
            if not (_is_word(text, left - 1) and _is_word(text, right)) and not _is_escaped(text, left):
                return left, right
    left, right = _blanks_before(text, start), _blanks_after(text, end)
    behind = _blanks_after(text, right + (text[right : right + 1] in _STOPS))
    for opening, closing in _BRACKETS:
        for stop in {right, behind}:
            if not text.startswith(closing, stop):
                continue
            for begin in (left, _before_lead_word(text, start)):
                is_escaped = len(opening) == 1 and _is_escaped(text, begin - 1)
                if text.endswith(opening, 0, begin) and not is_escaped:
                    return begin - len(opening), stop + len(closing)
    return None


def _before_lead_word(text: str, start: int) -> int:
    """The place before a word such as `see` that stands between an opening bracket and `start`."""
    window = max(0, start - _LEAD_WORD_CHARS_MAX)
    found = _LEAD_WORD.search(text[window:start])
    return window + found.start() if found is not None else start


def _begins_phrase(text: str, start: int, before: int) -> bool:
    """Whether an opening bracket, quote or emphasis ends right before the span."""
    sign = text[before - 1]
    if sign in _OPENS:
        return True
    if before != start or sign not in f"{_EMPHASIS}\"'":
        return False
    first = start
    while first > 0 and text[first - 1] == sign:
        first -= 1
    return first == 0 or text[first - 1].isspace() or text[first - 1] in _OPENS


def _ends_word(text: str, end: int) -> bool:
    """Whether what follows the span belongs to what stands before it."""
    behind = end
    while text[behind : behind + 1] and text[behind] in _EMPHASIS:
        behind += 1
    return behind == len(text) or text[behind] in _ENDS_WORD


def _follows_lead(text: str, before: int) -> bool:
    """Whether only the lead of a line stands before `before`: a list's sign, a quote's, a heading's."""
    first = before
    while first > 0 and text[first - 1] not in "\r\n" and before - first < _LINE_LEAD_CHARS_MAX:
        first -= 1
    return _LINE_LEAD.fullmatch(f"{text[first:before]} ") is not None


def _without_comma(text: str, after: int) -> int:
    return _blanks_after(text, after + 1) if text[after : after + 1] in (",", ";") else after


def _blanks_before(text: str, place: int) -> int:
    while place > 0 and text[place - 1] in " \t":
        place -= 1
    return place


def _blanks_after(text: str, place: int) -> int:
    while text[place : place + 1] in (" ", "\t"):
        place += 1
    return place


def _is_word(text: str, place: int) -> bool:
    return 0 <= place < len(text) and text[place].isalnum()


def _is_escaped(text: str, place: int) -> bool:
    before = place
    while before > 0 and text[before - 1] == "\\":
        before -= 1
    return (place - before) % 2 == 1


def sources_of(conversation: Conversation, turn: Turn, texts: Texts) -> tuple[Source, ...]:
    """The catalogue of the turn up to `turn.message`, with the numbers that its prompt shows.

    Raises:
        NotRecorded: a text is not kept.
        LogDamaged: a text of the form `search` is no search.
    """
    numbers = numbered(turn.artifacts, texts)
    if PARTS[turn.policy.pipeline].turn:
        continuation_of(conversation, turn.message, texts, numbers)
    return numbers.sources
