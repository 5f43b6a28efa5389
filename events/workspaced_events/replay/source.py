"""`Source`: a log for replay: a data directory, an export or a bundle.

A source can be read repeatedly; its content does not change while it is open, except that a data directory's log
may grow.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, Protocol, Self, runtime_checkable

from ..blobs.durable import DurableBlobs
from ..blobs.evictable import EvictableBlobStore
from ..errors import InvalidArgument, LogDamaged
from ..journal.opening import read_journal
from ..journal.start import Start
from ..limits import LINE_BYTES_MAX
from ..log.data_directory import LOG
from ..log.disk import RealDisk
from ..log.scan import Scan
from ..projections.visits import VisitFold, visits_from
from ..projections.workspace_state import EMPTY, WorkspaceState
from ..schema.catalogue import Event
from .event_columns import EventColumns
from .event_pages import LinePages, SegmentPages
from .indexed_events import Index
from .json_lines import read_export, read_header

Sink = Callable[[list[Event]], None]
Progress = Callable[[int, int], None]
"""Called with the number of parts read and of all parts."""
NEVER_COMPLETED = "of a line that was never completed."
"""Ends the warning of a torn last line. While a daemon writes the log, that is nothing to warn of."""
_CHUNK_EVENTS = 10_000


@runtime_checkable
class Source(Protocol):
    """A log for replay; leaving its `with` block closes it."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *_error: object) -> None: ...

    @property
    def log_id(self) -> str:
        """The log's id; empty if unknown."""

    @property
    def start(self) -> WorkspaceState:
        """The state before the first event; empty unless the source is a part of a log."""

    @property
    def redacted(self) -> bool:
        """Whether pseudonyms replace names and texts."""

    @property
    def swept_until(self) -> str:
        """Recordings of calls up to this event time may have been removed on purpose; empty: none were."""

    def start_visits(self) -> VisitFold:
        """The fold of visits before the first event; a new object for the caller to feed the events to."""

    def feed(self, sink: Sink, progress: Progress | None = None) -> list[str]:
        """Passes all events to `sink`, in order and in batches; returns warnings for people.

        Exceptions of `sink` propagate.

        Raises:
            LogDamaged: the log does not verify; `sink` got nothing after the damage.
            InvalidArgument: the source is no log, or one of a newer version.
            OSError: a file cannot be read.
        """

    def blob(self, name: str) -> bytes | None:
        """The content with the sha256 `name`; None if the source does not hold it.

        Raises:
            LogDamaged: the content has another hash, or cannot be read.
        """


class StoredSource(Source, Protocol):
    """A log whose events can be read again, page by page. `open_source` gives one."""

    def index(self, progress: Progress | None = None, sink: Sink | None = None) -> Index:
        """Verifies all as `feed` does, and keeps nothing of the events but their types, times and pages.

        The pages can be read as long as the source is open. `sink` gets the events, too, up to the damage.

        Raises:
            InvalidArgument: the source is no log, or one of a newer version.
            OSError: a file cannot be read.
        """


class DirectorySource:
    """Implements `StoredSource` over a data directory; takes no lock, so it works beside a running daemon."""

    def __init__(self, directory: Path) -> None:
        """
        Raises:
            InvalidArgument: the directory holds no log.
            LogDamaged: what the log begins with is damaged.
        """
        is_log = directory.name == LOG and not (directory / LOG).is_dir()
        self.root = directory.absolute().parent if is_log else directory
        if not (self.root / LOG).is_dir():
            raise InvalidArgument(f"{directory} holds no log.", hint="Give the daemon's data directory.")
        self.start = Start.of(RealDisk(self.root)).state
        self.log_id = ""
        self.redacted = False
        self._texts = DurableBlobs(RealDisk(self.root))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        pass

    @property
    def swept_until(self) -> str:
        return EvictableBlobStore(self.root).swept_until()

    def start_visits(self) -> VisitFold:
        return Start.of(RealDisk(self.root)).visits  # a new one, for the caller

    def feed(self, sink: Sink, progress: Progress | None = None) -> list[str]:
        scan = self._scan(sink, progress)
        if scan.damage is not None:
            raise scan.damage
        return scan.warnings

    def index(self, progress: Progress | None = None, sink: Sink | None = None) -> Index:
        columns = EventColumns()

        def take(events: list[Event]) -> None:
            columns.take(events)
            if sink is not None:
                sink(events)

        scan = self._scan(take, progress)
        return Index(columns, SegmentPages(RealDisk(self.root), scan), scan.warnings, scan.damage)

    def _scan(self, sink: Sink, progress: Progress | None) -> Scan:
        scan = read_journal(self.root, sink, progress=progress)
        self.log_id = scan.log_id
        if scan.torn is not None and scan.damage is None:
            torn = scan.torn
            scan.warnings.append(f"log/{torn.segment} ends with {torn.bytes} bytes {NEVER_COMPLETED}")
        return scan

    def blob(self, name: str) -> bytes | None:
        # Packs are looked for last: most blobs that are asked for are those of recorded calls.
        try:
            content = self._texts.find(name)
            if content is None:
                content = EvictableBlobStore(self.root).whole(name)
            return content if content is not None else self._texts.get(name)
        except OSError as error:
            raise LogDamaged(f"The blob {name} cannot be read: {error.strerror}.") from error


class ExportSource:
    """Implements `StoredSource` over an export; it holds no blobs."""

    def __init__(self, file: IO[bytes], name: str) -> None:
        """`file` must be seekable; `name` is for errors."""
        self._file = file
        self._name = name
        self.start = EMPTY
        header = read_header(self._file.readline(LINE_BYTES_MAX), self._name)
        self.log_id = header.log
        self.redacted = header.redacted is True
        self.swept_until = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._file.close()

    def start_visits(self) -> VisitFold:
        return visits_from(0)

    def feed(self, sink: Sink, progress: Progress | None = None) -> list[str]:
        size = self._file.seek(0, os.SEEK_END)
        self._file.seek(0)

        def sink_and_report(events: list[Event]) -> None:
            sink(events)
            if progress is not None:
                progress(self._file.tell(), size)

        feed_in_chunks(read_export(self._file, self._name), sink_and_report)
        return []

    def index(self, progress: Progress | None = None, sink: Sink | None = None) -> Index:
        size = self._file.seek(0, os.SEEK_END)
        self._file.seek(0)
        pages = LinePages(self._file, self._name)
        events = read_export(pages.passed(self._file), self._name)
        return index_lines(events, pages, [], size, progress, sink)

    def blob(self, name: str) -> bytes | None:  # noqa: ARG002
        return None


def feed_in_chunks(events: Iterable[Event], sink: Sink) -> None:
    """Passes `events` to `sink` in batches of _CHUNK_EVENTS."""
    chunk: list[Event] = []
    for event in events:
        chunk.append(event)
        if len(chunk) >= _CHUNK_EVENTS:
            sink(chunk)
            chunk = []
    if chunk:
        sink(chunk)


def index_lines(
    events: Iterator[Event],
    pages: LinePages,
    warnings: list[str],
    size: int,
    progress: Progress | None,
    sink: Sink | None,
) -> Index:
    """Adds the lines of an export to `pages`, up to the damage if there is one.

    Args:
        events: reads the lines that `pages` passes, one for each event.
        size: of all lines, in bytes.
    """
    columns, damage = EventColumns(), None
    try:
        for event in events:
            pages.add(event.seq)
            columns.take((event,))
            if sink is not None:
                sink([event])
            if progress is not None and len(columns) % _CHUNK_EVENTS == 0:
                progress(pages.begin, size)
    except LogDamaged as found:
        damage = found
    return Index(columns, pages, warnings, damage)
