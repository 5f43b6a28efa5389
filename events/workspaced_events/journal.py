"""Opening a data directory: log, fold and id window in one pass.

`open_journal` is what a daemon starts from. `read_journal` only reads: it takes no lock and changes nothing, so it
works beside a running daemon.
"""

from collections import deque
from collections.abc import Callable
from pathlib import Path

import msgspec

from .blobs import BlobStore
from .catalogue import Event, LogRecovered
from .clock import Clock, system_clock
from .fold import fold_all
from .id_window import IdWindow, seen_in
from .limits import ID_WINDOW_EVENTS, SEGMENT_BYTES_MAX
from .log.disk import Disk, RealDisk
from .log.recovery import open_log
from .log.scan import Scan, Sink, scan_log
from .log.segments import SegmentLog
from .recorder import Committed, Recorder
from .state import EMPTY, WorkspaceState


class Journal(msgspec.Struct, frozen=True):
    """An open data directory."""

    recorder: Recorder
    log: SegmentLog
    blobs: BlobStore
    recovered: LogRecovered | None
    warnings: list[str]


class Folding:
    """A sink that folds what it is given and keeps the latest events, from which the id window is made."""

    def __init__(self, keep_events: int = 0) -> None:
        self.state: WorkspaceState = EMPTY
        self.last_time = ""
        self.latest: deque[list[Event]] = deque()
        self._keep_events = keep_events
        self._kept = 0

    def __call__(self, events: list[Event]) -> None:
        self.state = fold_all(events, self.state)
        self.last_time = events[-1].time
        if self._keep_events:
            self.latest.append(events)
            self._kept += len(events)
            while self._kept - len(self.latest[0]) >= self._keep_events:
                self._kept -= len(self.latest.popleft())

    def id_window(self) -> IdWindow:
        """The window over the latest events."""
        window = IdWindow()
        for events in self.latest:
            window.add({event.id: seen_in(event) for event in events})
        return window


def open_journal(
    disk: Disk,
    *,
    version: str,
    clock: Clock = system_clock,
    deliver: Callable[[Committed], None] | None = None,
    segment_bytes_max: int = SEGMENT_BYTES_MAX,
) -> Journal:
    """Opens the log for writing and folds it. The caller holds the lock (log/lock.py).

    Raises:
        OSError: the directory cannot be used.
    """
    folding = Folding(ID_WINDOW_EVENTS)
    opened = open_log(disk, folding, version=version, now=clock, segment_bytes_max=segment_bytes_max)
    blobs = BlobStore(disk)
    recorder = Recorder(
        opened.log,
        folding.state,
        folding.id_window(),
        blobs,
        clock=clock,
        last_time=folding.last_time,
        deliver=deliver,
    )
    return Journal(recorder, opened.log, blobs, opened.recovered, opened.warnings)


def read_journal(directory: Path, sink: Sink, *, progress: Callable[[int, int], None] | None = None) -> Scan:
    """Verifies the log in `directory` and hands its events to `sink`, without changing anything.

    Raises:
        OSError: a file cannot be read.
    """
    return scan_log(RealDisk(directory), sink, progress=progress)
