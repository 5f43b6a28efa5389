"""Opening a data directory: log, fold and id window in one pass.

A daemon starts with `open_journal`. `read_journal` only reads: it takes no lock and changes nothing, so it works
beside a running daemon.
"""

from collections import deque
from collections.abc import Callable
from pathlib import Path

import msgspec

from ..blobs.durable import DurableBlobStore
from ..clock import Clock, Uptime, system_clock
from ..errors import LogReadOnly
from ..limits import ID_WINDOW_EVENTS, SEGMENT_BYTES_MAX, SNAPSHOT_EVENTS
from ..log.data_directory import ERASURE, ERASURE_READY
from ..log.disk import Disk, RealDisk
from ..log.recovery import open_log
from ..log.scan import Scan, Sink, resume_scan, scan_log
from ..log.segments import SegmentLog
from ..projections.note_visibility import VisibilityFold
from ..projections.pending_writes import PendingWrites
from ..projections.workspace_fold import fold_all
from ..projections.workspace_state import EMPTY, WorkspaceState
from ..schema.catalogue import Event, LogRecovered
from .idempotency import IdWindow, seen_in
from .segment_states import SegmentStates
from .snapshots import Snapshot, Snapshots
from .start import Start
from .writer import Committed, LogWriter


class Journal(msgspec.Struct, frozen=True):
    """An open data directory."""

    writer: LogWriter
    log: SegmentLog
    blobs: DurableBlobStore
    states: SegmentStates
    recovered: LogRecovered | None
    warnings: list[str]


class Folding:
    """A sink that folds its events and keeps the latest ones for the id window."""

    def __init__(self, keep_events: int = 0, snapshot: Snapshot | None = None, start: Start | None = None) -> None:
        """Starts from an empty state, from what the log begins with, or from a snapshot."""
        self.state: WorkspaceState = snapshot.state if snapshot else start.state if start else EMPTY
        self.last_time = snapshot.last_time if snapshot else start.time if start else ""
        self.visibility = snapshot.visibility if snapshot else VisibilityFold()
        self.pending = snapshot.pending if snapshot else PendingWrites()
        self._ids = snapshot.ids if snapshot else {}
        self.latest: deque[list[Event]] = deque()
        self._keep_events = keep_events
        self._latest_count = 0

    def __call__(self, events: list[Event]) -> None:
        self.state = fold_all(events, self.state)
        self.visibility.feed(events)
        self.pending.feed(events)
        self.last_time = events[-1].time
        if self._keep_events:
            self.latest.append(events)
            self._latest_count += len(events)
            while self._latest_count - len(self.latest[0]) >= self._keep_events:
                self._latest_count -= len(self.latest.popleft())

    def id_window(self) -> IdWindow:
        """The window over the latest events."""
        window = IdWindow()
        window.add(self._ids)
        for events in self.latest:
            window.add({event.id: seen_in(event) for event in events})
        return window


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
    opened = open_log(disk, scan, version=version, now=clock, segment_bytes_max=segment_bytes_max)
    blobs = DurableBlobStore(disk)
    states = SegmentStates(disk, opened.log)
    writer = LogWriter(
        opened.log,
        folding.state,
        folding.id_window(),
        folding.visibility,
        folding.pending,
        blobs,
        clock=clock,
        uptime=uptime,
        last_time=folding.last_time,
        deliver=deliver,
        snapshots=snapshots,
        snapshot_events=snapshot_events,
        snapshot_seq=snapshot_seq,
        states=states,
    )
    return Journal(writer, opened.log, blobs, states, opened.recovered, opened.warnings)


def _fold(disk: Disk, snapshots: Snapshots) -> tuple[Scan, Folding, int]:
    """Scans the log from the newest fitting snapshot or the beginning; also returns the snapshot's sequence."""
    warnings: list[str] = []
    for snapshot in snapshots.newest_first(warnings):
        folding = Folding(ID_WINDOW_EVENTS, snapshot)
        scan = resume_scan(disk, folding, snapshot.log, snapshot.tail, snapshot.positions)
        if scan is not None:
            scan.warnings.extend(warnings)
            return scan, folding, snapshot.tail.seq
    start = Start.of(disk)
    folding = Folding(ID_WINDOW_EVENTS, start=start)
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
