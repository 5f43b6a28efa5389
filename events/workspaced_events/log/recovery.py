"""Opening a log for appending: scan it, put aside what was torn, and go on where it ends.

After an unclean stop the open segment's good part is copied to a new file, because the page cache may hold what
the platter does not. A torn tail is kept in `quarantine/`, never deleted. Every step is durable before the next,
so that dying in between leaves a log that opens. Where the disk has no room for a step the log opens for reading
only, and goes on with that step when it is asked to (`SegmentLog.begin`).
"""

import os
from collections.abc import Callable
from hashlib import blake2b

import msgspec

from ..errors import DiskFull
from ..limits import SEGMENT_BYTES_MAX
from ..schema.catalogue import LogRecovered
from .data_directory import LOG
from .disk import Disk, write_whole
from .head import HeadFile
from .scan import Scan, Sink, Tail, Torn, is_unfinished, read_segment, scan_log
from .segments import SegmentLog, Writable, create_segment

QUARANTINE = "quarantine"


class OpenedLog(msgspec.Struct, frozen=True):
    """An open log and what opening it found."""

    log: SegmentLog
    recovered: LogRecovered | None
    """To be appended, if a torn tail was put aside."""
    warnings: list[str]


def open_log(
    disk: Disk,
    sink: Sink,
    *,
    version: str,
    now: Callable[[], str],
    new_id: Callable[[], str] = lambda: os.urandom(8).hex(),
    segment_bytes_max: int = SEGMENT_BYTES_MAX,
) -> OpenedLog:
    """Opens the log, handing every event to `sink`. A log with damage opens read-only, up to the damage.

    Args:
        disk: the data directory; its `log` and `quarantine` are made where they are missing.
        sink: gets each batch in order.
        version: of the program, for the headers of new segments.
        now: the clock, in an event's time form.
        new_id: makes the id of a new log.
        segment_bytes_max: a segment that would grow larger is sealed.

    Raises:
        OSError: the directory cannot be read or written.
    """
    scan = scan_log(disk, sink)
    return open_scanned(disk, scan, version=version, now=now, new_id=new_id, segment_bytes_max=segment_bytes_max)


def open_scanned(
    disk: Disk,
    scan: Scan,
    *,
    version: str,
    now: Callable[[], str],
    new_id: Callable[[], str] = lambda: os.urandom(8).hex(),
    segment_bytes_max: int = SEGMENT_BYTES_MAX,
) -> OpenedLog:
    """Opens a log that was just scanned; else like `open_log`.

    Raises:
        OSError: the directory cannot be read or written, for another reason than want of room.
    """
    if scan.damage is not None:
        log = SegmentLog(disk, scan.log_id, scan.tail, scan.positions, writable=None, damage=scan.damage)
        return OpenedLog(log, None, scan.warnings)
    if scan.segments == 0:
        scan.log_id = new_id()
    log = SegmentLog(
        disk,
        scan.log_id,
        scan.tail,
        scan.positions,
        writable=None,
        opening=_Opening(disk, scan, version, now),
        segment_bytes_max=segment_bytes_max,
    )
    try:
        log.begin()
    except DiskFull as full:
        scan.warnings.append(full.message)
    return OpenedLog(log, log.recovered, scan.warnings)


class _Opening:
    """The steps from a scanned log to one that takes events. Called again after an error it goes on."""

    def __init__(self, disk: Disk, scan: Scan, version: str, now: Callable[[], str]) -> None:
        self._disk = disk
        self._scan = scan
        self._version = version
        self._now = now
        self._recovered: LogRecovered | None = None

    def __call__(self) -> tuple[Writable, Tail, LogRecovered | None]:
        """
        Raises:
            OSError: the disk refused; nothing acknowledged is lost by that.
        """
        disk, scan = self._disk, self._scan
        disk.make_directory(LOG)
        disk.make_directory(QUARANTINE)
        for name in disk.names(LOG):
            if is_unfinished(name):
                disk.remove(f"{LOG}/{name}")
        if scan.torn is not None and self._recovered is None:
            self._recovered = _put_aside(disk, scan, scan.torn)
        tail = scan.tail
        if scan.segments == 0:
            file, tail, content = create_segment(disk, scan.log_id, 0, 0, self._version, self._now())
        else:
            name = f"{LOG}/{tail.segment}"
            content = read_segment(disk, tail.segment, 0, tail.offset)
            if scan.torn is not None or not scan.clean:
                write_whole(disk, name, content)
            file = disk.open(name)
        head = HeadFile(disk, scan.head.stamp if scan.head else 0)
        writable = Writable(file, blake2b(content, digest_size=32), head, self._version, self._now)
        return writable, tail, self._recovered


def _put_aside(disk: Disk, scan: Scan, torn: Torn) -> LogRecovered:
    """Copies the torn bytes to `quarantine/`; a segment that never got its header goes there whole."""
    content = read_segment(disk, torn.segment, torn.offset)
    taken = set(disk.names(QUARANTINE))
    stem = f"{torn.segment}.{torn.offset}"
    kept = next(name for n in range(len(taken) + 1) if (name := f"{stem}.{n}.torn") not in taken)
    write_whole(disk, f"{QUARANTINE}/{kept}", content)
    if torn.offset == 0:
        disk.remove(f"{LOG}/{torn.segment}")
        disk.sync_directory(LOG)
    return LogRecovered(
        segment=torn.segment,
        offset=torn.offset,
        bytes=torn.bytes,
        last_seq=scan.tail.seq,
        quarantined=f"{QUARANTINE}/{kept}",
    )
