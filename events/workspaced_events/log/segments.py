"""`SegmentLog`: the open log. Appends a batch durably or not at all; reads from any sequence.

Rules (docs/explanation/decisions.md): a batch is one line, written whole and synced before `append` returns. A
partial write is cut off again. A failed sync poisons the log until it is reopened: the kernel may have dropped the
unsynced pages, and a second sync would succeed without them.
"""

import errno
import threading
import time
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from hashlib import blake2b
from typing import Final, NamedTuple

import msgspec

from ..errors import DiskFull, LogDamaged, LogError, LogFailed, LogReadOnly
from ..limits import INDEX_STRIDE_BYTES, LINE_BYTES_MAX, READ_BYTES_MAX, SEGMENT_BYTES_MAX
from ..schema.catalogue import CATALOGUE_VERSION, Event, LogRecovered
from ..schema.codec import decode_batch
from .data_directory import LOG
from .disk import Disk, DiskFile, write_all
from .head import Head, HeadFile
from .line_format import (
    FORMAT_VERSION,
    PREFIX_BYTES,
    BadLine,
    Header,
    Line,
    Seal,
    chain_text,
    frame_line,
    segment_name,
    verified_lines,
)
from .scan import LogOffset, Tail, read_segment

_HEAD_SYNC_INTERVAL_S: Final = 1.0
NO_SPACE: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_CHUNK_BYTES: Final = 256 * 1024
_RESERVED_DESCRIPTORS: Final = 2
"""Rotation opens the new segment and syncs its directory while the old segment is still open."""


class Batch(NamedTuple):
    """Consecutive events, encoded: `payload` is their JSON array."""

    first: int
    last: int
    payload: bytes


class Writable(msgspec.Struct):
    """The parts of a log that only appending needs."""

    file: DiskFile
    hasher: blake2b
    """Hash of the open segment's bytes, for its seal."""
    head: HeadFile
    version: str
    now: Callable[[], str]


Opening = Callable[[], tuple[Writable, Tail, LogRecovered | None]]


class SegmentLog:
    """One log. `append` and `close` belong to one thread; `read` and the attributes to any.

    Attributes:
        log_id: the log's id in clocks.
        tail: the synced end.
        damage: the reason for being read-only, if any.
        failure: the reason for being poisoned, if any.
        head_problem: why the last write of HEAD failed, if it did.
        waiting: set while the log takes no appends because the disk had no room at opening.
        recovered: to be appended; set if opening quarantined a torn tail.
    """

    def __init__(
        self,
        disk: Disk,
        log_id: str,
        tail: Tail,
        positions: list[LogOffset],
        *,
        damage: LogDamaged | None = None,
        opening: Opening | None = None,
        segment_bytes_max: int = SEGMENT_BYTES_MAX,
    ) -> None:
        """`begin` calls `opening`, which makes the parts for appending."""
        self.log_id = log_id
        self.tail = tail
        self.damage = damage
        self.failure: LogFailed | None = None
        self.head_problem: str | None = None
        self.waiting: DiskFull | None = None
        self.recovered: LogRecovered | None = None
        self._opening = opening
        self._disk = disk
        self._positions = positions
        self._passed: dict[str, list[LogOffset]] = {}
        """Further places of segments, in their order, where reads have come by."""
        self._passing = threading.Lock()
        self._writable: Writable | None = None
        self._segment_bytes_max = segment_bytes_max
        self._head_synced_at = time.monotonic()
        self._head_seq = tail.seq

    # -- appending --

    def begin(self) -> None:
        """Completes the opening if the disk has room. Call it on the appending thread.

        Raises:
            DiskFull: no room yet; try again later.
            LogFailed: opening failed for another reason, after an earlier lack of room.
            OSError: the first try failed for another reason.
        """
        if self._opening is None:
            return
        try:
            self._writable, self.tail, self.recovered = self._opening()
        except OSError as error:
            if error.errno in NO_SPACE:
                self.waiting = DiskFull(
                    f"The disk has no room to open log/{self.tail.segment} for writing: {error.strerror}.",
                    hint="Free some space; events are recorded from then on, without a restart.",
                )
                raise self.waiting from error
            if self.waiting is None:
                raise
            self._opening = self.waiting = None
            raise self.poison(f"Opening log/{self.tail.segment} for writing failed: {error.strerror}.") from error
        self._opening = self.waiting = None
        self._disk.reserve(_RESERVED_DESCRIPTORS)
        self._write_head(self._writable, sync=True)

    def append(self, batch: Batch, expected: int) -> None:
        """Appends `batch` as one line and syncs it.

        Args:
            batch: its first sequence must be `expected` + 1.
            expected: the sequence of the tail as the caller knows it.

        Raises:
            DiskFull: nothing was kept; appends work again once there is space.
            LogFailed: the log is poisoned, now or before.
            LogReadOnly: the log was opened over damage.
        """
        writable = self._ready()
        assert batch.first == expected + 1 == self.tail.seq + 1, (batch.first, expected, self.tail.seq)
        assert len(batch.payload) <= LINE_BYTES_MAX
        size = PREFIX_BYTES + len(batch.payload) + 1
        tail = self.tail
        rotate = (
            tail.sealed
            or tail.catalogue != CATALOGUE_VERSION
            or (tail.events > 0 and tail.offset + size > self._segment_bytes_max)
        )
        # Appending to a file that was replaced would lose acknowledged events; an empty segment is made again.
        may_be_gone = rotate and tail.events == 0
        if not may_be_gone and (trouble := writable.file.trouble(tail.offset)) is not None:
            raise self.poison(f"log/{tail.segment} {trouble}: it was changed behind the daemon's back.")
        if rotate:
            self._rotate(writable)
            tail = self.tail
        line, chain = frame_line(batch.payload, tail.chain)
        self._write_synced(writable, tail.offset, line)
        writable.hasher.update(line)
        last = self._positions[-1] if self._positions else None
        if last is None or last.segment != tail.segment or tail.offset - last.offset >= INDEX_STRIDE_BYTES:
            self._positions.append(LogOffset(batch.first, tail.segment, tail.offset, tail.chain))
        self.tail = msgspec.structs.replace(
            tail,
            seq=batch.last,
            offset=tail.offset + len(line),
            chain=chain,
            events=tail.events + batch.last - batch.first + 1,
        )

    def acknowledged(self) -> None:
        """Notes that everything up to the tail was acknowledged, so HEAD may name it."""
        if self._writable is not None and self.failure is None and self._head_seq != self.tail.seq:
            self._write_head(self._writable)

    def close(self) -> None:
        """Writes HEAD with `clean` set and closes the descriptors."""
        writable, self._writable = self._writable, None
        if writable is None:
            return
        try:
            if self.failure is None:
                writable.file.sync()  # a cut may be unsynced, and an opening after a clean stop does not check
                self._write_head(writable, sync=True, clean=True)
        except OSError as error:
            self.poison(f"Syncing log/{self.tail.segment} at the end failed: {error.strerror}.")
        finally:
            writable.head.close()
            writable.file.close()
            self._disk.reserve(0)

    def _ready(self) -> Writable:
        if self.failure is not None:
            raise self.failure
        if self.waiting is not None:
            raise self.waiting
        if self._writable is None:
            raise LogReadOnly(
                "The log is read-only." if self.damage is None else f"The log is read-only: {self.damage.message}",
                hint="See `workspaced log verify`.",
            )
        return self._writable

    def _write_synced(self, writable: Writable, offset: int, data: bytes) -> None:
        """Writes and syncs `data`; on an error leaves the file unchanged or poisons the log."""
        try:
            write_all(writable.file, offset, data)
        except OSError as error:
            self._cut_back(writable, offset, error)
        try:
            writable.file.sync()
        except OSError as error:
            raise self.poison(f"Syncing log/{self.tail.segment} failed: {error.strerror}.") from error

    def _cut_back(self, writable: Writable, offset: int, error: OSError) -> None:
        try:
            writable.file.truncate(offset)
        except OSError as second:
            problem = f"Cutting log/{self.tail.segment} back to offset {offset} failed: {second.strerror}."
            raise self.poison(problem) from second
        if error.errno in NO_SPACE:
            raise DiskFull(
                f"The disk refused an append to log/{self.tail.segment}: {error.strerror}.",
                hint="Nothing was kept of it. Free some space and publish again; no restart is needed.",
            ) from error
        raise self.poison(f"Writing log/{self.tail.segment} failed: {error.strerror}.") from error

    def poison(self, problem: str) -> LogFailed:
        """Stops all appends until the log is reopened; reads continue to work."""
        self.failure = LogFailed(
            f"{problem} Nothing more is appended; reading goes on.",
            hint="Check the disk, then restart the daemon: it recovers everything acknowledged.",
            file=f"log/{self.tail.segment}",
            offset=self.tail.offset,
            seq=self.tail.seq,
        )
        if self._writable is not None:
            # Acknowledged events stay so: the next start must notice if they are gone.
            self._write_head(self._writable, sync=True)
        return self.failure

    def positions(self) -> list[LogOffset]:
        """Where reading of the open segment may start; call it on the appending thread."""
        segment = self.tail.segment
        first = bisect_left(self._positions, segment, key=lambda position: position.segment)
        return self._positions[first:]

    @property
    def is_healthy(self) -> bool:
        """Whether the log takes appends: neither read-only nor poisoned nor closed."""
        return self._writable is not None and self.failure is None

    # -- rotation --

    def _rotate(self, writable: Writable) -> None:
        """Seals the segment and begins the next one. The next append retries a failed step."""
        if not self.tail.sealed and self.tail.events > 0:
            seal = Seal(self.tail.events, self.tail.seq, writable.hasher.hexdigest())
            line, chain = frame_line(msgspec.json.encode(seal), self.tail.chain)
            self._write_synced(writable, self.tail.offset, line)
            self.tail = msgspec.structs.replace(
                self.tail, offset=self.tail.offset + len(line), chain=chain, sealed=True
            )
        chain_before = self.tail.chain if self.tail.sealed else self.tail.chain_before
        try:
            file, tail, header = create_segment(
                self._disk, self.log_id, self.tail.seq, chain_before, writable.version, writable.now()
            )
        except OSError as error:
            if error.errno in NO_SPACE:
                raise DiskFull(
                    f"The disk refused a new log segment: {error.strerror}.",
                    hint="Nothing was kept. Free some space and publish again; no restart is needed.",
                ) from error
            raise self.poison(f"Making a new log segment failed: {error.strerror}.") from error
        writable.file.close()
        self._disk.reserve(_RESERVED_DESCRIPTORS)
        writable.file, writable.hasher = file, blake2b(header, digest_size=32)
        self.tail = tail
        self._write_head(writable, sync=True)

    # -- HEAD --

    def _head(self, *, clean: bool) -> Head:
        tail = self.tail
        return Head(self.log_id, tail.seq, tail.segment, tail.offset, chain_text(tail.chain), clean=clean)

    def _write_head(self, writable: Writable, *, sync: bool = False, clean: bool = False) -> None:
        """Writes HEAD. A failure does not stop the log, because HEAD only helps to notice missing events."""
        now = time.monotonic()
        self._head_seq = self.tail.seq
        try:
            writable.head.write(self._head(clean=clean))
            if sync or now - self._head_synced_at >= _HEAD_SYNC_INTERVAL_S:
                self._head_synced_at = now
                writable.head.sync()
        except OSError as error:
            self.head_problem = (
                f"log/HEAD cannot be written: {error.strerror}. Events are kept, but one that is lost later "
                "may not be noticed. Check the disk; HEAD is tried again with the next event."
            )
        else:
            self.head_problem = None

    # -- reading --

    def read(self, first: int, limit: int, bytes_max: int = READ_BYTES_MAX) -> list[Event]:
        """Up to `limit` synced events from sequence `first` on, of about `bytes_max` in all; [] past the tail.

        Returns at least one event if there is one.

        Raises:
            LogDamaged: the bytes on the disk no longer verify.
            LogUnreadable: the disk cannot read them.
        """
        events: list[Event] = []
        taken = 0
        for batch, size in self._batches(max(first, 1), self.tail):
            share = size / len(batch)
            for event in batch:
                if event.seq < first:
                    continue
                if len(events) >= limit or (events and taken + share > bytes_max):
                    return events
                events.append(event)
                if len(events) == limit:  # the rest may be damaged, and the caller does not need it
                    return events
                taken += int(share)
        return events

    def _batches(self, first: int, tail: Tail) -> Iterator[tuple[list[Event], int]]:
        if first > tail.seq:
            return
        index = bisect_right(self._positions, first, key=lambda position: position.seq) - 1
        while index < len(self._positions):
            position = self._nearer(self._positions[index], first)
            at_tail = position.segment == tail.segment
            for offset, chain, line in self._lines(position, tail.offset if at_tail else None):
                if line.is_batch:
                    batch = decode_batch(line.payload)
                    if offset - position.offset >= INDEX_STRIDE_BYTES:
                        position = LogOffset(batch[0].seq, position.segment, offset, chain)
                        # Of a segment that was skipped at opening only the first place is known.
                        with self._passing:
                            passed = self._passed.setdefault(position.segment, [])
                            if not passed or position.offset - passed[-1].offset >= INDEX_STRIDE_BYTES:
                                passed.append(position)
                    if batch[-1].seq >= first:
                        yield batch, len(line.payload)
            if at_tail:
                return
            index = bisect_right(self._positions, position.segment, key=lambda each: each.segment)

    def _nearer(self, position: LogOffset, first: int) -> LogOffset:
        """The last known place at or before `first`, from `position` on, in its segment."""
        passed = self._passed.get(position.segment, [])
        index = bisect_right(passed, first, key=lambda each: each.seq) - 1
        return max(position, passed[index], key=lambda each: each.seq) if index >= 0 else position

    def _lines(self, position: LogOffset, end: int | None) -> Iterator[tuple[int, int, Line]]:
        """The lines from `position` on, each with its offset and the chain's value before it."""
        offset, chain, chunk = position.offset, position.chain, _CHUNK_BYTES
        while end is None or offset < end:
            size = chunk if end is None else min(chunk, end - offset)
            data = read_segment(self._disk, position.segment, offset, size)
            if not data:
                if end is None:
                    return
                raise _damaged_since(position.segment, offset, BadLine(offset, "incomplete"))
            consumed = 0
            for line in verified_lines(data, 0, chain):
                if isinstance(line, BadLine):
                    if line.reason == "incomplete" and len(data) == size and size == chunk:
                        break
                    raise _damaged_since(position.segment, offset + line.offset, line)
                yield offset + consumed, chain, line
                consumed, chain = line.end, line.chain
            if consumed == 0:
                chunk *= 2
            offset += consumed


def create_segment(
    disk: Disk, log_id: str, seq: int, chain: int, version: str, now: str
) -> tuple[DiskFile, Tail, bytes]:
    """Makes the segment after `seq` with its header, durably: its bytes first, then its name.

    Returns the open file, the log's new tail, and the header's line.

    Raises:
        OSError: the segment may exist in part; another call starts over.
    """
    name = segment_name(seq + 1)
    chained = chain_text(chain)
    header = Header("header", FORMAT_VERSION, CATALOGUE_VERSION, version, log_id, seq + 1, chained, now)
    line, after = frame_line(msgspec.json.encode(header), chain)
    file = disk.open(f"{LOG}/{name}", create=True)
    try:
        file.truncate(0)
        write_all(file, 0, line)
        file.sync()
        disk.sync_directory(LOG)
    except BaseException:
        file.close()
        raise
    return file, Tail(seq, name, len(line), after, 0, chain, CATALOGUE_VERSION), line


def _damaged_since(segment: str, offset: int, bad: BadLine) -> LogError:
    return LogDamaged(
        f"log/{segment} no longer verifies at offset {offset} ({bad.reason}).",
        hint="The file was changed or the disk is failing; see `workspaced log verify`.",
        file=f"log/{segment}",
        offset=offset,
    )
