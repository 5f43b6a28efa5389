"""Lines and columns of a text as editors count them.

A line ends with LF, CR LF or CR, and the first has the number 0. Columns count the code units of an encoding:
UTF-16 unless an editor and its server agreed on another one (the Language Server Protocol's `positionEncoding`).
"""

import re
from bisect import bisect_right
from typing import Final, Literal

import msgspec

_LINE_END: Final = re.compile(rb"\r\n?|\n")

Encoding = Literal["utf-8", "utf-16", "utf-32"]


class Position(msgspec.Struct, frozen=True, order=True):
    """A place between two characters."""

    line: int
    character: int


class Range(msgspec.Struct, frozen=True):
    """The text between two places."""

    start: Position
    end: Position


class Positions:
    """Converts between byte offsets in the UTF-8 form of a text, which the parser gives, and positions."""

    def __init__(self, text: str, encoding: Encoding = "utf-16") -> None:
        self._source = text.encode(errors="replace")
        self._encoding = encoding
        self._starts = [0, *(end.end() for end in _LINE_END.finditer(self._source))]

    @property
    def size(self) -> int:
        """The length of the text in bytes."""
        return len(self._source)

    def at(self, offset: int) -> Position:
        """The position of a byte; of one beyond the text, the text's end."""
        offset = max(0, min(offset, len(self._source)))
        line = bisect_right(self._starts, offset) - 1
        return Position(line, self._units(self._source[self._starts[line] : offset]))

    def range(self, start: int, end: int) -> Range:
        """The range between two byte offsets."""
        return Range(self.at(start), self.at(end))

    def offset(self, position: Position) -> int:
        """The byte at a position; of a column beyond its line, the line's end; of a line beyond the text, the
        text's end; within a character, the character's beginning."""
        if position.line >= len(self._starts):
            return len(self._source)
        line = self._line(max(0, position.line))
        left = max(0, position.character)
        if self._encoding == "utf-8" or line.isascii():
            cut = line[:left].decode(errors="ignore")
        elif self._encoding == "utf-32":
            cut = line.decode()[:left]
        else:
            cut = line.decode().encode("utf-16-le")[: 2 * left].decode("utf-16-le", errors="ignore")
        return self._starts[max(0, position.line)] + len(cut.encode())

    def line(self, line: int) -> str:
        """A line without its end; empty beyond the text."""
        return self._line(line).decode() if 0 <= line < len(self._starts) else ""

    def _line(self, line: int) -> bytes:
        end = self._starts[line + 1] if line + 1 < len(self._starts) else len(self._source)
        return self._source[self._starts[line] : end].rstrip(b"\r\n")

    def _units(self, part: bytes) -> int:
        if self._encoding == "utf-8" or part.isascii():
            return len(part)
        text = part.decode()
        return len(text) if self._encoding == "utf-32" else len(text.encode("utf-16-le")) // 2
