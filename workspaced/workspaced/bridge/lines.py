"""The bytes on both sides of a bridge as lines. No I/O.

Imports only a small part of the standard library, because every agent has its own bridge process.
"""

import json
import re
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from ..limits import REQUEST_BYTES_MAX

_BRIDGE_ID_BYTES: Final = 1024
"""Of the beginning and the end of a line that is too long, where its id is looked for."""
_ID: Final = rb'"id"\s*:\s*(-?\d{1,400}|"(?:[^"\\]|\\.)*")\s*'
_TEXT: Final = rb'"(?:jsonrpc|method)"\s*:\s*"(?:[^"\\]|\\.)*"\s*'
_FIRST: Final = rb"\s*\{\s*(?:" + _TEXT + rb",\s*)*" + _ID + rb","
_LAST: Final = rb",\s*" + _ID + rb"(?:,\s*" + _TEXT + rb")*\}\s*$"


class TooLong(NamedTuple):
    """A line of an agent's that is longer than the daemon takes."""

    request_id: int | str | None
    """Its id, where that stands before or behind the parameters; None: it is unknown."""


class Input:
    """What comes from the agent, in whole lines with their LF; holds at most one line of `bytes_max`."""

    def __init__(self, bytes_max: int = REQUEST_BYTES_MAX) -> None:
        self._bytes_max = bytes_max
        self._partial = bytearray()
        self._head: bytes | None = None
        """The beginning of a line that is too long, of which `_partial` keeps the end."""

    @property
    def partial(self) -> bool:
        """Whether a line has begun."""
        return len(self._partial) > 0

    def feed(self, data: bytes) -> Iterator[bytes | TooLong]:
        """The lines that `data` completes."""
        *ends, rest = data.split(b"\n")
        for end in ends:
            self._add(end)
            line = bytes(self._partial)
            yield line + b"\n" if self._head is None else TooLong(_id_of(self._head, line))
            self._partial, self._head = bytearray(), None
        self._add(rest)

    def _add(self, part: bytes) -> None:
        self._partial += part
        if self._head is None and len(self._partial) > self._bytes_max:
            self._head = bytes(self._partial[:_BRIDGE_ID_BYTES])
        if self._head is not None:
            del self._partial[:-_BRIDGE_ID_BYTES]


def _id_of(head: bytes, tail: bytes) -> int | str | None:
    found = re.match(_FIRST, head) or re.search(_LAST, tail)
    try:
        return json.loads(found[1]) if found else None
    except ValueError:
        return None


class Output:
    """What goes to the agent. Of the daemon's bytes it holds what is not a whole line yet, too, so that a daemon
    that ends in the middle of an answer leaves no half line behind."""

    def __init__(self, see: Callable[[bytes], bytes]) -> None:
        """`see`: what the agent is to see of a line of the daemon's."""
        self._see = see
        self._bytes = bytearray()
        self.ready = 0
        """How many bytes the agent may be given: whole lines."""

    def feed(self, data: bytes) -> None:
        """Takes bytes of the daemon's."""
        begin = len(self._bytes)
        self._bytes += data
        while (end := self._bytes.find(b"\n", begin) + 1) > 0:
            line = bytes(self._bytes[self.ready : end])
            seen = self._see(line)
            if seen is not line:
                self._bytes[self.ready : end] = seen
            self.ready = begin = self.ready + len(seen)

    def add(self, lines: bytes) -> None:
        """Adds whole lines of the bridge's own."""
        self._bytes[self.ready : self.ready] = lines
        self.ready += len(lines)

    def first(self, count: int) -> bytes:
        """The next bytes for the agent, at most so many."""
        return bytes(self._bytes[: min(count, self.ready)])

    def written(self, count: int) -> None:
        """Drops bytes that the agent has got."""
        del self._bytes[:count]
        self.ready -= count

    @property
    def partial(self) -> int:
        """How many bytes there are of a line that is not whole."""
        return len(self._bytes) - self.ready

    def drop_partial(self) -> None:
        """Drops the line that its daemon will not complete."""
        del self._bytes[self.ready :]
