"""Splits a byte stream into lines of bounded length. No sockets here."""

from workspaced_events.schema.nesting import is_deeper

from ..errors import RequestError
from ..limits import JSON_DEPTH_MAX, REQUEST_BYTES_MAX


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
        if self._partial_bytes > self._bytes_max or any(len(line) > self._bytes_max for line in lines):
            self._partial, self._partial_bytes = [], 0
            raise RequestError(
                "LINE_TOO_LARGE",
                f"A line is longer than {self._bytes_max} bytes.",
                hint="Publish in smaller batches. The connection is closed.",
            )
        return lines


def check_depth(line: bytes) -> None:
    """Refuses JSON nested deeper than JSON_DEPTH_MAX, before any parser sees it.

    Raises:
        RequestError: INVALID_REQUEST.
    """
    if is_deeper(line, JSON_DEPTH_MAX):
        raise RequestError("INVALID_REQUEST", f"The JSON is nested deeper than {JSON_DEPTH_MAX}.")
