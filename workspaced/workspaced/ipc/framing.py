"""Splits a byte stream into lines of bounded length, and makes them text that a parser takes. No sockets here."""

import re
from typing import Final

from workspaced_events.schema.nesting import is_deeper

from ..errors import RequestError
from ..limits import JSON_DEPTH_MAX, REQUEST_BYTES_MAX

_MARK: Final = "\ufeff".encode()
_MAYBE_HALF: Final = re.compile(rb"\\u[dD][89a-fA-F]")
_ESCAPE: Final = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})|\\.", re.DOTALL
)
"""A pair of surrogates, half of a pair as the group, or any other escape."""


class LineSplitter:
    """Splits received data into lines; holds at most one incomplete line of `bytes_max`."""

    def __init__(self, bytes_max: int = REQUEST_BYTES_MAX) -> None:
        self._bytes_max = bytes_max
        self._partial: list[bytes] = []
        self._partial_bytes = 0

    @property
    def partial(self) -> bool:
        """Whether an incomplete line has begun."""
        return self._partial_bytes > 0

    def take_partial(self) -> bytes:
        """What came behind the last LF, or the line that was too long: at the end of the stream."""
        partial, self._partial, self._partial_bytes = b"".join(self._partial), [], 0
        return partial

    def feed(self, data: bytes) -> list[bytes]:
        """The lines that `data` completes, without their LF.

        Raises:
            RequestError: LINE_TOO_LARGE; the stream is unusable from here on.
        """
        *lines, rest = data.split(b"\n")
        if lines and self._partial:
            lines[0] = b"".join((*self._partial, lines[0]))
            self._partial, self._partial_bytes = [], 0
        if rest:
            self._partial.append(rest)
            self._partial_bytes += len(rest)
        too_long = next((line for line in lines if len(line) > self._bytes_max), None)
        if too_long is not None:
            self._partial, self._partial_bytes = [too_long], len(too_long)
        if self._partial_bytes > self._bytes_max:
            raise RequestError(
                "LINE_TOO_LARGE",
                f"A line is longer than {self._bytes_max} bytes.",
                hint="Send less in one line: fewer actions, or a shorter text. The connection is closed.",
            )
        return lines


def mended(line: bytes) -> bytes:
    """The line without a byte order mark, and with U+FFFD for what is no character: bytes that are not UTF-8, and
    halves of surrogate pairs, as `JSON.stringify` writes a cut emoji."""
    if not line.isascii():
        try:
            line.decode()
        except UnicodeDecodeError:
            line = line.decode(errors="replace").encode()
        line = line.removeprefix(_MARK)
    if b"\\u" in line and _MAYBE_HALF.search(line):
        line = _ESCAPE.sub(lambda found: rb"\ufffd" if found[1] else found[0], line)
    return line


def check_depth(line: bytes) -> None:
    """Refuses JSON nested deeper than JSON_DEPTH_MAX, before any parser sees it.

    Raises:
        RequestError: INVALID_REQUEST.
    """
    if is_deeper(line, JSON_DEPTH_MAX):
        raise RequestError("INVALID_REQUEST", f"The JSON is nested deeper than {JSON_DEPTH_MAX}.")
