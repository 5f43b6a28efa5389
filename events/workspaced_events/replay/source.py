"""`Source`: a log to be replayed, wherever it is kept: a data directory, an export, a bundle.

A source is read as often as is wanted; what it holds does not change while it is open (a data directory's log may
grow: then a later reading sees more).
"""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import IO, Protocol, Self, runtime_checkable

from ..blobs.durable import DIRECTORY as BLOBS
from ..blobs.durable import read_blob
from ..blobs.evictable import ServedBlobs
from ..errors import InvalidArgument
from ..journal.opening import read_journal
from ..log.disk import RealDisk
from ..log.scan import DIRECTORY
from ..projections.visits import VisitFold, visits_from
from ..projections.workspace_state import EMPTY, WorkspaceState
from ..schema.catalogue import Event
from .json_lines import read_export, read_header

Sink = Callable[[list[Event]], None]
Progress = Callable[[int, int], None]
"""Told how many parts of a source are read, of how many."""
_CHUNK_EVENTS = 10_000
_SPOOLED_BYTES_MAX = 16 * 1024 * 1024


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


def open_source(place: Path | IO[bytes]) -> Source:
    """The source at `place`: a data directory (or its `log` directory), or the file or binary stream of an export
    or a bundle.

    Raises:
        InvalidArgument: there is nothing, or nothing that could be a log.
    """
    if not isinstance(place, Path):
        return _of_file(_spooled(place), "standard input")
    if place.is_dir():
        return DirectorySource(place)
    if not place.exists():
        raise InvalidArgument(
            f"There is no {place}.", hint="Give a data directory, an export, a bundle, or - for stdin."
        )
    file: IO[bytes] = place.open("rb")
    if not file.seekable():
        with file as pipe:
            file = _spooled(pipe)
    return _of_file(file, place.name)


def _of_file(file: IO[bytes], name: str) -> Source:
    from .bundle import MAGIC, BundleSource  # it is made of what stands here

    try:
        begin = file.read(len(MAGIC))
        file.seek(0)
        return BundleSource(file, name) if begin == MAGIC else ExportSource(file, name)
    except BaseException:
        file.close()
        raise


class DirectorySource:
    """Implements `Source` over a data directory; takes no lock, so it works beside a running daemon."""

    def __init__(self, directory: Path) -> None:
        """
        Raises:
            InvalidArgument: it holds no log.
        """
        is_log = directory.name == DIRECTORY and not (directory / DIRECTORY).is_dir()
        self.root = directory.absolute().parent if is_log else directory
        if not (self.root / DIRECTORY).is_dir():
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
        return kept if kept is not None else ServedBlobs(self.root).whole(name)


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


def _spooled(stream: IO[bytes]) -> IO[bytes]:
    """The whole of `stream`, to be read as often as is wanted."""
    file = tempfile.SpooledTemporaryFile(_SPOOLED_BYTES_MAX)  # noqa: SIM115 (lives as long as its source)
    shutil.copyfileobj(stream, file)
    file.seek(0)
    return file
