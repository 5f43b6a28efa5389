"""Finds code fences in Markdown line by line, and the fence around a place.

It covers only the needs of truncation: a fence may be indented, quoted or in a list, and is then closed with the
same indent, so that the closing line belongs to the same container. Everything is linear in the length of the
text.
"""

import re
from typing import Final, NamedTuple

_RUN: Final = re.compile(r"```+|~~~+")
_LEAD: Final = re.compile(r"[ \t>]*+(?:(?:[-*+]|[0-9]{1,9}[.)])[ \t][ \t>]*+){0,4}")
_MARKS: Final = re.compile(r"[^\s>]")
_QUOTED: Final = re.compile(r"[ \t]*+>")
_UNQUOTED: Final = re.compile(r"\n(?![ \t]*+>)")


_INFO_CHARS: Final = 100


class Fence(NamedTuple):
    """A fenced block. Offsets are code points in the searched text."""

    start: int
    """The start of the opening line."""
    run_end: int
    """The end of the opening line's run of backticks or tildes."""
    closing_start: int
    """The start of the closing line; the end of the quote if that ended the fence; -1 while open."""
    end: int
    """The end of the closing line, before its line break; -1 while open."""
    line: str
    """The line that closes the fence: indent, quote marks and run."""
    opening: str
    """The line that reopens it on a later page: the same, with what follows the run, such as the language."""

    def holds(self, place: int) -> bool:
        """Whether a cut at `place` would leave the fence open, or touch its lines."""
        return self.start < place and (self.end < 0 or place <= self.end)


def find_fences(text: str, start: int, end: int, inside: Fence | None = None) -> list[Fence]:
    """The fences of text[start:end], read as a text of its own; `inside` is the fence around `start`.

    `inside` comes first, with a start before `start`, unless it is quoted and the text is not. Only the last fence
    may be open.
    """
    return _Finder(text, start, end, inside).run()


def fence_around(text: str, place: int) -> Fence | None:
    """The fence with `place` in its content or in the rest of its opening line."""
    line_end = text.find("\n", place)
    fences = find_fences(text, 0, len(text) if line_end < 0 else line_end)
    last = fences[-1] if fences else None
    if last is None or last.start >= place or (last.end >= 0 and last.closing_start < place):
        return None
    return last


class _Finder:
    def __init__(self, text: str, start: int, end: int, inside: Fence | None) -> None:
        self.text, self.start, self.end = text, start, end
        self.found: list[Fence] = []
        self.quote_end = -1
        self.open: Fence | None = None
        if inside is not None and (">" not in inside.line or _QUOTED.match(text, start)):
            self.begin(inside._replace(start=start - 1, run_end=start, closing_start=-1, end=-1), start)

    def run(self) -> list[Fence]:
        place = self.start
        while (hit := _RUN.search(self.text, place, self.end)) is not None:
            run_start, run_end = hit.span()
            line_start = max(self.start, self.text.rfind("\n", self.start, run_start) + 1)
            line_end = self.text.find("\n", run_end, self.end)
            line_end = self.end if line_end < 0 else line_end
            self.leave_quote(line_start)
            if self.open is None:
                lead = _LEAD.fullmatch(self.text, line_start, run_start)
                ticks = self.text[run_start] == "`" and self.text.find("`", run_end, line_end) >= 0
                if lead is not None and not ticks:
                    line = _MARKS.sub(" ", lead[0]) + self.text[run_start:run_end]
                    info = self.text[run_end : min(line_end, run_end + _INFO_CHARS)].rstrip()
                    self.begin(Fence(line_start, run_end, -1, -1, line, f"{line}{info}"), line_start)
            else:
                before = self.text[line_start:run_start].strip(" \t>")
                rest = self.text[run_end:line_end].strip()
                run = self.open.line.lstrip(" \t>")
                if not before and not rest and self.text[run_start] == run[0] and run_end - run_start >= len(run):
                    self.found.append(
                        self.open._replace(closing_start=line_start, end=self.before_break(line_end))
                    )
                    self.open = None
            place = line_end
        self.leave_quote(self.end)
        if self.open is not None:
            self.found.append(self.open)
        return self.found

    def begin(self, fence: Fence, place: int) -> None:
        self.open = fence
        if ">" in fence.line and self.quote_end < place:
            out = _UNQUOTED.search(self.text, place, self.end)
            self.quote_end = self.end if out is None else self.before_break(out.start())

    def leave_quote(self, place: int) -> None:
        """Closes a quoted fence whose quote ended before `place`."""
        if self.open is not None and ">" in self.open.line and self.quote_end < place:
            self.found.append(self.open._replace(closing_start=self.quote_end, end=self.quote_end))
            self.open = None

    def before_break(self, line_end: int) -> int:
        """The end of a line without the first half of CRLF."""
        return line_end - 1 if self.text[line_end - 1] == "\r" else line_end
