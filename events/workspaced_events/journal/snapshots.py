"""Snapshots of the fold: with one, opening reads only the end of the log, however long the log is.

A snapshot is a file `snapshots/<seq>.wsnap` of one line, `crc SP json LF`, with the state, the id window and their
position in the log. It covers synced events only, and is used only if the log has the same chain value at that
position (`resume_scan`). Snapshots may be deleted at any time; a bad one only costs time.
"""

import contextlib
import re
import zlib
from collections import deque
from collections.abc import Iterator
from typing import Final, TypeVar

import msgspec

from ..ids import EventId
from ..limits import ID_WINDOW_EVENTS
from ..log.data_directory import SNAPSHOTS
from ..log.disk import Disk, write_whole
from ..log.line_format import PREFIX_BYTES, frame_line
from ..log.scan import LogOffset, Tail
from ..projections.note_visibility import VisibilityFold
from ..projections.pending_writes import PendingWrites
from ..projections.workspace_fold import FOLD_VERSION, fold_all
from ..projections.workspace_state import EMPTY, WorkspaceState
from ..schema.catalogue import CATALOGUE_VERSION, Event
from .idempotency import IdWindow, Seen, seen_in

FORMAT_VERSION: Final = 1
_NAME: Final = re.compile(r"^[0-9]{20}\.wsnap\Z", re.ASCII)


class Made(msgspec.Struct, frozen=True):
    """The versions that made a snapshot; a program with other versions folds the log from the beginning."""

    format: int = FORMAT_VERSION
    catalogue: int = CATALOGUE_VERSION
    fold: int = FOLD_VERSION


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """The fold of a log up to `tail`, with everything else that opening derives from its events."""

    made: Made = Made()
    log: str
    tail: Tail
    positions: list[LogOffset]
    """Positions in the tail's segment."""
    last_time: str
    state: WorkspaceState
    ids: dict[EventId, Seen]
    visibility: VisibilityFold
    pending: PendingWrites


class _Envelope(msgspec.Struct, frozen=True):
    made: Made


T = TypeVar("T")


class Folding:
    """A sink that folds its events and keeps the latest ones for the id window."""

    def __init__(
        self, snapshot: Snapshot | None = None, *, state: WorkspaceState = EMPTY, last_time: str = ""
    ) -> None:
        """Starts from a snapshot, or from a state and its time."""
        self.state: WorkspaceState = snapshot.state if snapshot else state
        self.last_time = snapshot.last_time if snapshot else last_time
        self.visibility = snapshot.visibility if snapshot else VisibilityFold()
        self.pending = snapshot.pending if snapshot else PendingWrites()
        self._ids = snapshot.ids if snapshot else {}
        self.latest: deque[list[Event]] = deque()
        self._latest_count = 0

    def __call__(self, events: list[Event]) -> None:
        self.state = fold_all(events, self.state)
        self.visibility.feed(events)
        self.pending.feed(events)
        self.last_time = events[-1].time
        self.latest.append(events)
        self._latest_count += len(events)
        while self._latest_count - len(self.latest[0]) >= ID_WINDOW_EVENTS:
            self._latest_count -= len(self.latest.popleft())

    def id_window(self) -> IdWindow:
        """The window over the latest events."""
        window = IdWindow()
        window.add(self._ids)
        for events in self.latest:
            window.add({event.id: seen_in(event) for event in events})
        return window


class Snapshots:
    """The snapshots of one data directory. Not thread-safe: one thread at a time."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self._fitting = ""
        """The file name of the latest snapshot known to fit the log."""

    def newest_first(self, warnings: list[str]) -> Iterator[Snapshot]:
        """The valid snapshots of this program's versions; asking for the next one means that the last did not fit.

        Args:
            warnings: gets a line for each snapshot that is unreadable, invalid or unfit.
        """
        try:
            names = [name for name in self._disk.names(SNAPSHOTS) if _NAME.match(name)]
        except OSError as error:
            warnings.append(f"{SNAPSHOTS} cannot be read ({error.strerror}); ignored.")
            return
        for name in reversed(names):
            try:
                snapshot = parse(self._disk.read(f"{SNAPSHOTS}/{name}"), Snapshot)
            except ValueError as error:
                warnings.append(f"{SNAPSHOTS}/{name} is no good snapshot ({error}); ignored.")
                continue
            except OSError as error:
                warnings.append(f"{SNAPSHOTS}/{name} cannot be read ({error.strerror}); ignored.")
                continue
            if snapshot is not None:
                self._fitting = name
                yield snapshot
                self._fitting = ""
                warnings.append(f"{SNAPSHOTS}/{name} does not fit the log; ignored.")

    def put(self, snapshot: Snapshot) -> None:
        """Writes a snapshot durably and removes all others except the latest that fits the log.

        Raises:
            OSError: the older snapshots are unchanged.
        """
        self._disk.make_directory(SNAPSHOTS)
        name = f"{snapshot.tail.seq:020d}.wsnap"
        try:
            write_whole(self._disk, f"{SNAPSHOTS}/{name}", encode(snapshot))
        except OSError:
            with contextlib.suppress(OSError):
                self._disk.remove(f"{SNAPSHOTS}/{name}.tmp")
            raise
        staying, self._fitting = {name, self._fitting}, name
        for each in self._disk.names(SNAPSHOTS):
            if each not in staying and _NAME.match(each.removesuffix(".tmp")):
                self._disk.remove(f"{SNAPSHOTS}/{each}")


def encode(value: msgspec.Struct) -> bytes:
    """The bytes of the file of a snapshot, or of another value that is kept like one."""
    return frame_line(msgspec.json.encode(value), 0)[0]


def parse(data: bytes, kind: type[T]) -> T | None:
    """Decodes such a file; None if other versions made it.

    Raises:
        ValueError: the file is torn, damaged, or no value of that kind.
    """
    payload = data[PREFIX_BYTES:-1]
    if data[:PREFIX_BYTES] != b"%08x " % zlib.crc32(payload) or data[-1:] != b"\n":
        raise ValueError("its checksum is wrong")
    try:
        is_ours = msgspec.json.decode(payload, type=_Envelope).made == Made()
        return msgspec.json.decode(payload, type=kind) if is_ours else None
    except msgspec.MsgspecError as error:
        raise ValueError(str(error)) from None
