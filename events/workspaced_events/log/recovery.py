"""Opening a log for appending: scan it, quarantine a torn tail, and continue at its end.

After an unclean stop the valid part of the open segment is copied to a new file, because the page cache may hold
bytes that the platter does not. A torn tail is kept in `quarantine/`, never deleted. Each step is durable before
the next, so a crash in between leaves a log that opens. If the disk has no room for a step, the log opens
read-only and retries that step on demand (`SegmentLog.begin`).
"""

import os
from collections.abc import Callable
from hashlib import blake2b

from ..errors import DiskFull
from ..limits import SEGMENT_BYTES_MAX
from ..schema.catalogue import LogRecovered
from .data_directory import LOG
from .disk import Disk, write_whole
from .head import HeadFile
from .scan import Scan, Tail, Torn, is_unfinished, read_segment
from .segments import SegmentLog, Writable, create_segment

QUARANTINE = "quarantine"


def open_log(
    disk: Disk, scan: Scan, *, version: str, now: Callable[[], str], segment_bytes_max: int = SEGMENT_BYTES_MAX
) -> SegmentLog:
    """Opens a log that was just scanned for appending. A damaged log opens read-only, up to the damage.

    What people should know of it is added to the warnings of the scan.

    Args:
        disk: the data directory; its missing `log` and `quarantine` are made.
        version: the program's, for the headers of new segments.
        now: the clock, in an event's time form.
        segment_bytes_max: the log seals a segment before it exceeds this.

    Raises:
        OSError: the directory cannot be read or written, for a reason other than lack of space.
    """
    if scan.damage is not None:
        return SegmentLog(disk, scan.log_id, scan.tail, scan.positions, damage=scan.damage)
    if scan.segments == 0:
        scan.log_id = os.urandom(8).hex()
    log = SegmentLog(
        disk,
        scan.log_id,
        scan.tail,
        scan.positions,
        opening=_opening(disk, scan, version, now),
        segment_bytes_max=segment_bytes_max,
    )
    try:
        log.begin()
    except DiskFull as full:
        scan.warnings.append(full.message)
    return log


def _opening(
    disk: Disk, scan: Scan, version: str, now: Callable[[], str]
) -> Callable[[], tuple[Writable, Tail, LogRecovered | None]]:
    """The steps from a scanned log to one that takes appends. A call after an error resumes at the failed step."""
    recovered: LogRecovered | None = None

    def opening() -> tuple[Writable, Tail, LogRecovered | None]:
        """Raises OSError: a disk operation failed; nothing acknowledged is lost."""
        nonlocal recovered
        disk.make_directory(LOG)
        disk.make_directory(QUARANTINE)
        for name in disk.names(LOG):
            if is_unfinished(name):
                disk.remove(f"{LOG}/{name}")
        if scan.torn is not None and recovered is None:
            recovered = _quarantine(disk, scan, scan.torn)
        tail = scan.tail
        if scan.segments == 0:
            file, tail, content = create_segment(disk, scan.log_id, tail.seq, 0, version, now())
        else:
            name = f"{LOG}/{tail.segment}"
            content = read_segment(disk, tail.segment, 0, tail.offset)
            if scan.torn is not None or not scan.clean:
                write_whole(disk, name, content)
            file = disk.open(name)
        head = HeadFile(disk, scan.head.stamp if scan.head else 0)
        return Writable(file, blake2b(content, digest_size=32), head, version, now), tail, recovered

    return opening


def _quarantine(disk: Disk, scan: Scan, torn: Torn) -> LogRecovered:
    """Copies the torn bytes to `quarantine/`; moves a segment without a header there whole."""
    content = read_segment(disk, torn.segment, torn.offset)
    taken = set(disk.names(QUARANTINE))
    stem = f"{torn.segment}.{torn.offset}"
    quarantined_name = next(name for n in range(len(taken) + 1) if (name := f"{stem}.{n}.torn") not in taken)
    write_whole(disk, f"{QUARANTINE}/{quarantined_name}", content)
    if torn.offset == 0:
        disk.remove(f"{LOG}/{torn.segment}")
        disk.sync_directory(LOG)
    return LogRecovered(
        segment=torn.segment,
        offset=torn.offset,
        bytes=torn.bytes,
        last_seq=scan.tail.seq,
        quarantined=f"{QUARANTINE}/{quarantined_name}",
    )
