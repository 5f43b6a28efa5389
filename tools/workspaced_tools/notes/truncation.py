"""Smart truncation: a page of a text that ends where a reader would pause.

Order: paragraph break, sentence end, word, hard cut. A boundary counts only beyond 70 % of the room, and none is
within a grapheme cluster or on a fence's line. A cut inside a code fence moves before the fence if that keeps
70 %; otherwise the page closes the fence within the limit and the next page reopens it, so that each page is valid
Markdown by itself. A cut inside a row of a table moves before the row.

Everything is linear in the length of the page, and with an offset also of the text before it.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator
from typing import Final, NamedTuple

import msgspec
import regex

from ..answers import Truncation
from .code_fences import Fence, fence_around, find_fences

MARKER: Final = "[Content truncated...]"
PARAGRAPH: Final = "\n\n"
LIMIT_MARKED_MIN: Final = 2 * len(MARKER)
"""A smaller page has no room for a marker."""

_SENTENCE: Final = re.compile(r"[.!?][\"'”’)\]*_]{0,3}(?=\s)|[。！？][」』”’）]{0,3}")
_BLANK_LINE: Final = re.compile(r"\r?\n[ \t]*+\r?(?:\n|\Z)")
_LIST_MARKER_CHARS: Final = 24
_LINE_CHARS: Final = 1_000
_CLUSTER: Final = regex.compile(r"\X")
_FLAG_RUN: Final = re.compile("[\U0001f1e6-\U0001f1ff]+")


class Truncated(msgspec.Struct, frozen=True):
    """A page: `lead` characters that reopen a fence, the text's own, and those that the cut added."""

    text: str
    truncation: Truncation
    lead: int = 0


def truncate(text: str, limit: int, offset: int = 0) -> Truncated:
    """The page of at most `limit` code points that begins at `offset`, marker and added fences included.

    Contract: with p = truncate(text, limit, offset) and n = p.truncation.returned_length,
    `p.text[p.lead : p.lead + n] == text[offset : offset + n]`, and next_offset is offset + n > offset. So the
    pages from offset 0 along next_offset hold the whole text, each character once, and they end. Beyond the end
    the page is empty.

    `lead` is 0 unless the offset lies in a code fence. Each cut page has its fences closed, unless a fence's own
    line is longer than the page. A limit under 44 gives a bare cut without marker and fences. A grapheme cluster
    longer than the page is cut through.
    """
    if limit < 1 or offset < 0:
        raise ValueError(f"Expected limit >= 1 and offset >= 0, got {limit} and {offset}.")
    total = len(text)
    inside = fence_around(text, offset) if 0 < offset < total else None
    if limit < LIMIT_MARKED_MIN or (inside is not None and len(inside.line) >= limit // 4):
        inside = None
    lead = _lead(inside, limit, text, offset) if inside is not None else ""
    if len(lead) + total - offset <= limit:
        rest = text[offset:]
        return Truncated(lead + rest if rest else "", Truncation(total, len(rest)), len(lead))
    if limit < LIMIT_MARKED_MIN:
        end = _Page(text, offset, offset + limit, None).floor(offset + limit)
        return Truncated(text[offset:end], Truncation(total, end - offset, end))
    cut = _Cutter(text, offset, limit - len(lead), inside).cut()
    page = f"{lead}{text[offset : cut.end]}{cut.closing}{cut.separator}{MARKER}"
    return Truncated(page, Truncation(total, cut.end - offset, cut.end), len(lead))


def _lead(fence: Fence, limit: int, text: str, offset: int) -> str:
    """What reopens the fence; the text's own line end ends its line, if there is one."""
    line = fence.opening if len(fence.opening) < limit // 4 else fence.line
    return line if text.startswith(("\n", "\r\n"), offset) else f"{line}\n"


class _Cut(NamedTuple):
    end: int
    closing: str = ""
    separator: str = " "


class _Page:
    """Fences, grapheme clusters and boundaries of text[start:], read only within [start, top]."""

    def __init__(self, text: str, start: int, top: int, inside: Fence | None) -> None:
        self.text, self.start, self.top = text, start, top
        # The page's last line is read further: it may be a fence after indent and quote marks.
        line_end = text.find("\n", top, top + _LINE_CHARS)
        self.fences = find_fences(
            text, start, min(top + _LINE_CHARS, len(text)) if line_end < 0 else line_end, inside
        )
        self.fence_starts = [fence.start for fence in self.fences]
        self.ascii = text[start : top + 1].isascii()
        self.clusters: frozenset[int] | None = None

    def fence_at(self, place: int) -> Fence | None:
        """The fence that a cut at `place` would break."""
        index = bisect_left(self.fence_starts, place) - 1
        return self.fences[index] if index >= 0 and self.fences[index].holds(place) else None

    def is_boundary(self, place: int) -> bool:
        """Whether no grapheme cluster spans `place`, in [start, top]."""
        if self.ascii:
            return self.text[place - 1 : place + 1] != "\r\n"
        if self.clusters is None:
            # The next character decides too; later ones and the text before the page do not.
            window = _FLAG_RUN.sub(_letters, self.text[self.start : self.top + 1])
            self.clusters = frozenset(self.start + cluster.start() for cluster in _CLUSTER.finditer(window))
        return place in self.clusters or place == len(self.text)

    def floor(self, place: int) -> int:
        """The last cluster boundary up to `place`; `place` itself if the page is one cluster."""
        end = place
        while end > self.start and not self.is_boundary(end):
            end -= 1
        return end if end > self.start else place

    def line_ends(self, low: int, top: int) -> Iterator[int]:
        """Places before a line break, in (low, top], last first."""
        place = top + 1
        while (place := self.text.rfind("\n", low, place)) > low:
            end = place - 1 if self.text[place - 1] == "\r" else place
            if low < end <= top:
                yield end

    def paragraph_ends(self, low: int, top: int) -> Iterator[int]:
        """Ends of non-blank lines with a blank line after them, last first."""
        for end in self.line_ends(low, top):
            line_start = max(self.start, self.text.rfind("\n", self.start, end) + 1)
            if _BLANK_LINE.match(self.text, end) and not self.text[line_start:end].isspace() and end > line_start:
                yield end

    def sentence_ends(self, low: int, top: int) -> list[int]:
        """Places after the punctuation that ends a sentence, last first."""
        found = _SENTENCE.finditer(self.text, max(self.start, low - 4), top + 1)
        return [hit.end() for hit in found if low < hit.end() <= top and not self.is_list_marker(hit.start())][
            ::-1
        ]

    def is_list_marker(self, dot: int) -> bool:
        low = max(self.start, dot - _LIST_MARKER_CHARS)
        line_start = self.text.rfind("\n", low, dot) + 1
        if line_start == 0 and low > self.start:
            return False
        return self.text[max(line_start, self.start) : dot].strip(" \t>").isdecimal()

    def word_ends(self, low: int, top: int) -> Iterator[int]:
        """Places after a word and before a blank, last first."""
        for place in range(top, low, -1):
            if self.text[place].isspace() and not self.text[place - 1].isspace():
                yield place


def _letters(flags: re.Match[str]) -> str:
    """Replaces a run of regional indicators by accented letters that cluster alike: in pairs from the beginning.

    At each place of such a run the pattern engine counts back to its beginning, which takes quadratic time.
    """
    length = flags.end() - flags.start()
    return ("a\u0301" * (length // 2 + 1))[:length]


class _Cutter:
    """Chooses where a page ends. `budget` is the limit without the lead; the rest of the text is longer."""

    def __init__(self, text: str, start: int, budget: int, inside: Fence | None) -> None:
        self.text, self.start, self.budget, self.inside = text, start, budget, inside
        self.room = budget - len(MARKER) - 1
        self.block_room = budget - len(MARKER) - len(PARAGRAPH)
        self.page = _Page(text, start, start + self.room, inside)

    def cut(self) -> _Cut:
        fence = self.page.fence_at(self.start + self.room)
        return self.mended(self.outside() if fence is None else self.at_fence(fence))

    def low(self, room: int) -> int:
        """The last place that does not count: at 70 % of the room."""
        return self.start + room * 7 // 10

    def outside(self) -> _Cut:
        """The cut of a page that ends outside any fence."""
        page, low, top = self.page, self.low(self.block_room), self.start + self.block_room
        blocks = [fence.end for fence in page.fences if low < fence.end <= top]
        blocks.append(next((end for end in page.paragraph_ends(low, top) if page.fence_at(end) is None), 0))
        if max(blocks) > 0:
            return _Cut(max(blocks), separator=PARAGRAPH)
        low, top = self.low(self.room), self.start + self.room
        for ends in (page.sentence_ends(low, top), page.word_ends(low, top)):
            fit = (end for end in ends if page.fence_at(end) is None and page.is_boundary(end))
            if (end := next(fit, 0)) > 0:
                return self.between_rows(end)
        return self.between_rows(page.floor(top))

    def between_rows(self, end: int) -> _Cut:
        """The cut at `end`, or before the row of a table that it would cut."""
        text, start = self.text, self.start
        line_start = text.rfind("\n", start, end) + 1 or start
        line_end = text.find("\n", end, end + _LINE_CHARS)
        line_end = min(end + _LINE_CHARS, len(text)) if line_end < 0 else line_end
        following = text[line_end + 1 : line_end + 1 + _LINE_CHARS].partition("\n")[0]
        before = text[max(start, line_start - _LINE_CHARS) : max(start, line_start - 1)].rpartition("\n")[2]
        if "|" not in text[line_start:line_end] or not ("|" in before or "|" in following):
            return _Cut(end)
        if line_end - end <= 1 and end <= start + self.block_room and not text[end:line_end].strip():
            return _Cut(end, separator=PARAGRAPH)
        place = line_start - 2 if text[line_start - 2 : line_start] == "\r\n" else line_start - 1
        return _Cut(place, separator=PARAGRAPH) if place > start else _Cut(end)

    def at_fence(self, fence: Fence) -> _Cut:
        """The cut of a page whose room ends in `fence`: before it, or within it with a closing line."""
        before = len(self.text[self.start : max(self.start, fence.start)].rstrip()) + self.start
        if fence.start > self.start and not self.page.is_boundary(before):
            before = fence.start
        if self.low(self.block_room) < before <= self.start + self.block_room:
            return _Cut(before, separator=PARAGRAPH)
        end = self.within(fence, self.block_room - len(fence.line) - 1)
        if end is not None:
            return self.closed(end, fence)
        if fence.start > self.start:
            return _Cut(before if before > self.start else fence.start, separator=PARAGRAPH)
        return _Cut(self.page.floor(self.start + self.room))

    def within(self, fence: Fence, room: int) -> int | None:
        """A place in the fence's content, by blank line, line, word; None if the fence's lines leave no room."""
        page, low, top = self.page, self.low(room), self.start + room
        least = max(fence.run_end, self.start + 1)
        if fence.end >= 0:
            top = min(top, fence.closing_start)
        if top < least:
            return None
        low = max(low, least - 1)
        for ends in (page.paragraph_ends(low, top), page.line_ends(low, top), page.word_ends(low, top)):
            if (end := next((end for end in ends if page.is_boundary(end)), 0)) > 0:
                return end
        return max(page.floor(top), least)

    def closed(self, end: int, fence: Fence) -> _Cut:
        return _Cut(end, ("" if self.text[end - 1] == "\n" else "\n") + fence.line, PARAGRAPH)

    def mended(self, cut: _Cut) -> _Cut:
        """Corrects the cut by reading the whole page: a line cut short can become a fence, or close one."""
        fences = find_fences(self.text, self.start, cut.end, self.inside)
        last = fences[-1] if fences else None
        if last is None or 0 <= last.end < cut.end:
            wanted = cut._replace(closing="")
        elif last.end == cut.end:
            wanted = _Cut(cut.end, separator=PARAGRAPH)
        else:
            wanted = self.closed(cut.end, last)
        if self.fits(wanted):
            return wanted
        if last is not None and last.start > self.start:
            return _Cut(last.start, separator=PARAGRAPH)
        end = self.within(last, self.block_room - len(last.line) - 1) if last is not None else None
        return cut if last is None or end is None else self.closed(end, last)

    def fits(self, cut: _Cut) -> bool:
        return cut.end - self.start + len(cut.closing) + len(cut.separator) + len(MARKER) <= self.budget
