"""Pages: the events of a log in stretches of about PAGE_BYTES, each of which can be read again alone.

Opening a log verifies all of it once and remembers where its pages begin. Whoever needs events later reads their
pages, and each of these reads verifies its bytes again: a file may change while it is open.
"""

import zlib
from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import IO, Any, Final, Protocol

from ..errors import LogDamaged
from ..limits import INDEX_STRIDE_BYTES
from ..log.disk import Disk
from ..log.line_format import Line, verified_lines
from ..log.scan import LogOffset, Scan, Tail, read_segment
from ..schema.catalogue import Event
from ..schema.codec import decode_batch, decode_event, encode_batch

PAGE_BYTES: Final = INDEX_STRIDE_BYTES
_EVENTS_A_PAGE: Final = 256
"""For events that are kept in memory."""


class Pages(Protocol):
    """Consecutive events, at least one on each page. For one thread at a time."""

    @property
    def firsts(self) -> Sequence[int]:
        """The sequence of each page's first event."""

    def read(self, page: int) -> list[Event]:
        """The events of a page, a new list.

        Raises:
            LogDamaged: the page's bytes are no longer those that were verified.
            LogUnreadable, OSError: they cannot be read.
        """


class SegmentPages:
    """Implements `Pages` over the segments of a data directory; a page begins where reading of a line may."""

    def __init__(self, disk: Disk, scan: Scan) -> None:
        """`scan`: of the whole log; what follows its tail is never read."""
        self._disk = disk
        self._positions: list[LogOffset] = scan.positions
        self._tail: Tail = scan.tail
        self.firsts = array("q", (position.seq for position in scan.positions))

    def read(self, page: int) -> list[Event]:
        position = self._positions[page]
        following = self._positions[page + 1] if page + 1 < len(self._positions) else None
        if following is not None and following.segment == position.segment:
            end = following.offset
        elif self._tail.segment == position.segment:
            end = self._tail.offset
        else:
            end = None
        size = end - position.offset if end is not None else -1
        data = read_segment(self._disk, position.segment, position.offset, size)
        last = following.seq - 1 if following is not None else self._tail.seq
        events: list[Event] = []
        for line in verified_lines(data, 0, position.chain):
            if not isinstance(line, Line):
                break  # what is missing is noticed below
            if line.is_batch:
                events += decode_batch(line.payload)
        if len(events) != last - position.seq + 1:
            where = f"log/{position.segment}, from offset {position.offset} on,"
            raise _changed(where, file=f"log/{position.segment}", offset=position.offset)
        return events


class LinePages:
    """Implements `Pages` over JSON Lines in a seekable file."""

    def __init__(self, file: IO[bytes], name: str) -> None:
        """
        Args:
            file: stays open as long as pages are read.
            name: the file's name in errors.
        """
        self._file = file
        self._name = name
        self.firsts = array("q")
        self._begins = array("q")
        self._checksums = array("L")
        self._line = b""
        """The last line that `passed` gave."""
        self.begin = self._end = 0
        """The file's offsets where that line begins, and where the last event's ends."""

    def passed(self, lines: Iterable[bytes]) -> Iterator[bytes]:
        """Passes on all lines of the file, from its first one on; knows where the last one passed begins."""
        for line in lines:
            self.begin += len(self._line)
            self._line = line
            yield line

    def add(self, seq: int) -> None:
        """Notes that the line passed last holds the next event."""
        if not self.firsts or self.begin - self._begins[-1] >= PAGE_BYTES:
            self.firsts.append(seq)
            self._begins.append(self.begin)
            self._checksums.append(0)
        self._checksums[-1] = zlib.crc32(self._line.strip(), self._checksums[-1])
        self._end = self.begin + len(self._line)

    def read(self, page: int) -> list[Event]:
        begin = self._begins[page]
        end = self._begins[page + 1] if page + 1 < len(self._begins) else self._end
        self._file.seek(begin)
        lines = [stripped for line in self._file.read(end - begin).split(b"\n") if (stripped := line.strip())]
        checksum = 0
        for line in lines:
            checksum = zlib.crc32(line, checksum)
        if checksum != self._checksums[page]:
            raise _changed(f"{self._name}, from offset {begin} on,", offset=begin)
        return [decode_event(line) for line in lines]


class KeptPages:
    """Implements `Pages` over events that came after the log was opened: encoded and compressed in memory."""

    def __init__(self) -> None:
        self.firsts = array("q")
        self._encoded: list[bytes] = []
        self._newest: list[Event] = []
        """The events of the last page, until it is full."""

    def add(self, events: Iterable[Event]) -> None:
        """Takes the next events."""
        for event in events:
            if not self._newest:
                self.firsts.append(event.seq)
            self._newest.append(event)
            if len(self._newest) >= _EVENTS_A_PAGE:
                self._encoded.append(zlib.compress(encode_batch(self._newest), 1))
                self._newest = []

    def read(self, page: int) -> list[Event]:
        if page == len(self._encoded):
            return self._newest.copy()
        return decode_batch(zlib.decompress(self._encoded[page]))


def _changed(where: str, **details: Any) -> LogDamaged:
    return LogDamaged(
        f"{where} is not what it was when the log was opened.",
        hint="The file was changed, or the disk is failing: open the log again, or see `workspaced log verify`.",
        **details,
    )
