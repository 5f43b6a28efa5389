"""`Source`: a log to be replayed, wherever it is kept: a data directory, an export, a bundle.

A source is read as often as is wanted; what it holds does not change while it is open (a data directory's log may
grow: then a later reading sees more).
"""

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import IO, Protocol, Self, runtime_checkable

from ..blobs.durable import read_blob
from ..blobs.evictable import EvictableBlobStore
from ..errors import InvalidArgument
from ..journal.opening import read_journal
from ..log.data_directory import BLOBS, LOG
from ..log.disk import RealDisk
from ..projections.visits import VisitFold, visits_from
from ..projections.workspace_state import EMPTY, WorkspaceState
from ..schema.catalogue import Event
from .json_lines import read_export, read_header

Sink = Callable[[list[Event]], None]
Progress = Callable[[int, int], None]
"""Told how many parts of a source are read, of how many."""
_CHUNK_EVENTS = 10_000


@runtime_checkable
class Source(Protocol):
    """A log to be replayed; closed by leaving its `with` block."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *_error: object) -> None: ...

    @property
    def log_id(self) -> str:
        """Names the log; empty where that is not known."""
        ...

    @property
    def start(self) -> WorkspaceState:
        """The state before the first event; that of an empty log, unless the source is a part of one."""
        ...

    def start_visits(self) -> VisitFold:
        """The visits that events before the first one tell of; a fresh value, to be fed the events."""
        ...

    def feed(self, sink: Sink, progress: Progress | None = None) -> list[str]:
        """Hands all events to `sink`, in order and in batches; returns warnings for people.

        What `sink` raises goes through.

        Raises:
            LogDamaged: the log does not verify; nothing past the damage was handed on.
            InvalidArgument: this is no log, or one of a newer version.
            OSError: a file cannot be read.
        """
        ...

    def blob(self, name: str) -> bytes | None:
        """The content whose sha256 is `name`, or None if the source does not hold it.

        Raises:
            LogDamaged: it holds something else under that name.
        """
        ...


class DirectorySource:
    """Implements `Source` over a data directory; takes no lock, so it works beside a running daemon."""

    def __init__(self, directory: Path) -> None:
        """
        Raises:
            InvalidArgument: it holds no log.
        """
        is_log = directory.name == LOG and not (directory / LOG).is_dir()
        self.root = directory.absolute().parent if is_log else directory
        if not (self.root / LOG).is_dir():
            raise InvalidArgument(f"{directory} holds no log.", hint="Give the daemon's data directory.")
        self.start = EMPTY
        self.log_id = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        pass

    def start_visits(self) -> VisitFold:
        return visits_from(0)

    def feed(self, sink: Sink, progress: Progress | None = None) -> list[str]:
        scan = read_journal(self.root, sink, progress=progress)
        self.log_id = scan.log_id
        if scan.damage is not None:
            raise scan.damage
        if scan.torn is not None:
            torn = scan.torn
            scan.warnings.append(
                f"log/{torn.segment} ends with {torn.bytes} bytes of a line that was never completed."
            )
        return scan.warnings

    def blob(self, name: str) -> bytes | None:
        kept = read_blob(RealDisk(self.root), BLOBS, name)
        return kept if kept is not None else EvictableBlobStore(self.root).whole(name)


class ExportSource:
    """Implements `Source` over an export; it holds no blobs."""

    def __init__(self, file: IO[bytes], name: str) -> None:
        """`file` can be read again from its beginning; `name` is for errors."""
        self._file = file
        self._name = name
        self.start = EMPTY
        self.log_id = read_header(self._file.readline(), self._name).log

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._file.close()

    def start_visits(self) -> VisitFold:
        return visits_from(0)

    def feed(self, sink: Sink, progress: Progress | None = None) -> list[str]:
        size = self._file.seek(0, os.SEEK_END)
        self._file.seek(0)

        def sink_and_tell(events: list[Event]) -> None:
            sink(events)
            if progress is not None:
                progress(self._file.tell(), size)

        feed_in_chunks(read_export(self._file, self._name), sink_and_tell)
        return []

    def blob(self, name: str) -> bytes | None:  # noqa: ARG002
        return None


def feed_in_chunks(events: Iterable[Event], sink: Sink) -> None:
    """Hands `events` to `sink` in batches of some thousand."""
    chunk: list[Event] = []
    for event in events:
        chunk.append(event)
        if len(chunk) >= _CHUNK_EVENTS:
            sink(chunk)
            chunk = []
    if chunk:
        sink(chunk)
