"""Opening a data directory: log, fold and id window in one pass.

A daemon starts with `open_journal`. `read_journal` only reads: it takes no lock and changes nothing, so it works
beside a running daemon.
"""

from collections.abc import Callable
from pathlib import Path

import msgspec

from ..blobs.durable import DurableBlobStore
from ..clock import Clock, Uptime, system_clock
from ..errors import LogReadOnly
from ..limits import SEGMENT_BYTES_MAX, SNAPSHOT_EVENTS
from ..log.data_directory import ERASURE, ERASURE_READY
from ..log.disk import Disk, RealDisk
from ..log.recovery import open_log
from ..log.scan import Scan, Sink, resume_scan, scan_log
from ..log.segments import SegmentLog
from ..schema.catalogue import LogRecovered
from .snapshots import Folding, Snapshots
from .start import Start
from .writer import Committed, LogWriter


class Journal(msgspec.Struct, frozen=True):
    """An open data directory."""

    writer: LogWriter
    log: SegmentLog
    blobs: DurableBlobStore
    recovered: LogRecovered | None
    warnings: list[str]


def open_journal(
    disk: Disk,
    *,
    version: str,
    clock: Clock = system_clock,
    uptime: Uptime | None = None,
    deliver: Callable[[Committed], None] | None = None,
    segment_bytes_max: int = SEGMENT_BYTES_MAX,
    snapshot_events: int = SNAPSHOT_EVENTS,
) -> Journal:
    """Opens the log for writing and folds it, starting at the newest snapshot that fits.

    The caller holds the lock (log/lock.py). `clock` and `uptime` are those of a `LogClock`.

    Raises:
        OSError: the directory cannot be read or written.
    """
    snapshots = Snapshots(disk)
    scan, folding, snapshot_seq = _fold(disk, snapshots)
    log = open_log(disk, scan, version=version, now=clock, segment_bytes_max=segment_bytes_max)
    blobs = DurableBlobStore(disk)
    writer = LogWriter(
        log,
        folding,
        blobs,
        clock=clock,
        uptime=uptime,
        deliver=deliver,
        snapshots=snapshots,
        snapshot_events=snapshot_events,
        snapshot_seq=snapshot_seq,
    )
    return Journal(writer, log, blobs, log.recovered, scan.warnings)


def _fold(disk: Disk, snapshots: Snapshots) -> tuple[Scan, Folding, int]:
    """Scans the log from the newest fitting snapshot or the beginning; also returns the snapshot's sequence."""
    warnings: list[str] = []
    for snapshot in snapshots.newest_first(warnings):
        folding = Folding(snapshot)
        scan = resume_scan(disk, folding, snapshot.log, snapshot.tail, snapshot.positions)
        if scan is not None:
            scan.warnings.extend(warnings)
            return scan, folding, snapshot.tail.seq
    start = Start.of(disk)
    folding = Folding(state=start.state, last_time=start.time)
    scan = scan_log(disk, folding, after=start.seq)
    scan.warnings.extend(warnings)
    return scan, folding, 0


def read_journal(directory: Path, sink: Sink, *, progress: Callable[[int, int], None] | None = None) -> Scan:
    """Verifies the log in `directory` and passes its events to `sink`, without changing anything.

    Raises:
        LogReadOnly: an erasure was interrupted there, so the log is neither the old nor the new one.
        LogDamaged: what the log begins with is damaged.
        OSError: a file cannot be read.
    """
    check_no_erasure(directory)
    disk = RealDisk(directory)
    return scan_log(disk, sink, after=Start.of(disk).seq, progress=progress)


def check_no_erasure(directory: Path) -> None:
    """Checks that the log in `directory` is one log.

    Raises:
        LogReadOnly: an erasure was interrupted there.
    """
    if (directory / ERASURE / ERASURE_READY).exists():
        raise LogReadOnly(
            f"A note was being forgotten in {directory}, and that was interrupted.",
            hint="Start the daemon, or run `workspaced forget` again: either finishes it.",
        )
