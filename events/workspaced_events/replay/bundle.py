"""Bundles: a part of a log with everything it needs, in one file for replay on another machine.

A bundle is a zip file: `manifest.json`, `state.json` and `visits.json` (the folds before the first event),
`log.jsonl` (an export of the events) and `blobs/<sha256>` (the blobs they name). Equal parts give equal files,
except for the time in the manifest.

A bundle is untrusted input: no name in it becomes a path, every entry has a maximum size, a blob must match its
hash, and inconsistent content is refused.
"""

import re
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from typing import IO, Any, Final, Self

import msgspec

from ..errors import InvalidArgument, LogDamaged
from ..limits import BUNDLE_ENTRY_BYTES_MAX, BUNDLE_LOG_BYTES_MAX, LINE_BYTES_MAX
from ..projections.visits import VisitFold
from ..projections.workspace_fold import FOLD_VERSION
from ..projections.workspace_state import WorkspaceState
from ..schema.catalogue import Event
from ..schema.codec import encode_event
from .event_pages import LinePages
from .indexed_events import Index
from .json_lines import export_lines, read_export, read_header
from .log_slice import Slice
from .source import Progress, Sink, feed_in_chunks, index_lines

MAGIC: Final = b"PK"
VERSION: Final = 1
MANIFEST: Final = "manifest.json"
STATE: Final = "state.json"
VISITS: Final = "visits.json"
LOG: Final = "log.jsonl"
_PARTS: Final = (MANIFEST, STATE, VISITS, LOG)
_BLOB: Final = re.compile(r"blobs/([0-9a-f]{64})")
_ZIP_TIME: Final = (1980, 1, 1, 0, 0, 0)
"""The earliest time a zip file can hold."""
_UNREADABLE: Final = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, RuntimeError, ValueError)
"""What reading a damaged part of a zip file raises."""
_UNPACKED_BYTES_MAX: Final = 8 * 1024 * 1024
"""Beyond it, the unpacked events of an indexed bundle lie in a temporary file."""


class Versions(msgspec.Struct, frozen=True):
    """The versions that made a bundle."""

    workspaced: str
    python: str
    platform: str
    fold: int = FOLD_VERSION


class Manifest(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """The bundle's description."""

    workspaced: str = "bundle"
    version: int = VERSION
    log: str
    first: int
    last: int
    created: str
    redacted: bool
    versions: Versions
    swept_until: str | msgspec.UnsetType = msgspec.UNSET
    """`Source.swept_until` of the log; unset: nothing was removed."""
    missing: tuple[str, ...] = ()
    """Blobs that the events name and that no longer existed when the bundle was made."""


class _Envelope(msgspec.Struct, frozen=True):
    workspaced: str = ""
    version: int = 0


# -- writing --


def write_bundle(
    file: IO[bytes], part: Slice, blobs: Iterable[str], manifest: Manifest, *, visibility: bool
) -> Manifest:
    """Writes the bundle of `part` with those of `blobs` it holds; returns the completed manifest.

    `visibility`: as in `export_lines`.

    Raises:
        InvalidArgument: the part is too large.
        OSError: the file cannot be written.
    """
    missing = []
    with zipfile.ZipFile(file, "w") as bundle:
        with bundle.open(_entry(LOG), "w", force_zip64=True) as log:
            size = 0
            for line in export_lines(part.log_id, part.events, redacted=manifest.redacted, visibility=visibility):
                size += log.write(line)
        _check_size(LOG, size, BUNDLE_LOG_BYTES_MAX)
        _put(bundle, STATE, msgspec.json.encode(part.start))
        _put(bundle, VISITS, part.visits_json)
        for name in sorted(set(blobs)):
            content = None
            with suppress(LogDamaged):
                content = part.blob(name)
            if content is None:
                missing.append(name)
            else:
                _put(bundle, f"blobs/{name}", content)
        manifest = msgspec.structs.replace(manifest, missing=tuple(missing))
        _put(bundle, MANIFEST, msgspec.json.format(msgspec.json.encode(manifest), indent=1))
    return manifest


def append_to_bundle(bundle: IO[bytes], to: IO[bytes], event: Event) -> None:
    """Writes the bundle with one event more to `to`; all else is as it was.

    Args:
        bundle: a verified one (`BundleSource`).
        event: its sequence is the one after the bundle's last.

    Raises:
        InvalidArgument: the events would be too many.
        LogDamaged: a part that was not read yet cannot be read.
        OSError: the file cannot be written.
    """
    with zipfile.ZipFile(bundle) as old, zipfile.ZipFile(to, "w") as new:
        for each in old.infolist():
            try:
                content = old.read(each)
            except _UNREADABLE as error:
                said = f"The bundle is cut off or damaged: {each.filename} cannot be read ({error})."
                raise LogDamaged(said, hint="Ask for it again.") from None
            if each.filename == LOG:
                content += encode_event(event) + b"\n"
                _check_size(LOG, len(content), BUNDLE_LOG_BYTES_MAX)
            elif each.filename == MANIFEST:
                manifest = msgspec.structs.replace(msgspec.json.decode(content, type=Manifest), last=event.seq)
                content = msgspec.json.format(msgspec.json.encode(manifest), indent=1)
            new.writestr(_entry(each.filename), content)


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, _ZIP_TIME)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.create_system = 3  # the same on every system
    entry.external_attr = 0o600 << 16
    return entry


def _put(bundle: zipfile.ZipFile, name: str, content: bytes) -> None:
    _check_size(name, len(content), BUNDLE_ENTRY_BYTES_MAX)
    bundle.writestr(_entry(name), content)


def _check_size(name: str, size: int, limit: int) -> None:
    if size > limit:
        raise InvalidArgument(
            f"{name} would have {size} bytes; a bundle holds {limit} of it.", hint="Bundle fewer events."
        )


# -- reading --


class BundleSource:
    """Implements `StoredSource` over a bundle."""

    def __init__(self, file: IO[bytes], name: str) -> None:
        """`file` must be seekable; `name` is for errors.

        Raises:
            InvalidArgument: the file is no bundle, or one of a newer version.
            LogDamaged: the bundle is incomplete or inconsistent.
        """
        self._file = file
        self._name = name
        with self._reading("its list of contents"):
            self._zip = zipfile.ZipFile(file)
        entries = self._zip.infolist()
        self._entries = {entry.filename: entry for entry in entries}
        self.manifest = self._manifest()
        if len(self._entries) < len(entries):
            raise self._damaged("it holds two entries of one name")
        for entry in self._entries:
            if entry not in _PARTS and not _BLOB.fullmatch(entry):
                raise self._damaged(f"it holds {entry[:100]!r}, which is no part of a bundle")
        self.log_id = self.manifest.log
        self.redacted = self.manifest.redacted
        self.swept_until = self.manifest.swept_until or ""
        self.start: WorkspaceState = self._decoded(STATE, WorkspaceState)
        self._visits = self._content(VISITS)
        self._unpacked: IO[bytes] | None = None
        """The events' lines, which can be read in any order; made when they are indexed."""
        manifest = self.manifest
        if not 1 <= manifest.first <= manifest.last:
            raise self._damaged(f"{MANIFEST} names the events {manifest.first} to {manifest.last}")
        if self.start.seq >= manifest.first or self.start_visits().seq != manifest.first - 1:
            raise self._damaged(f"its start is not that of event {manifest.first}")
        header = read_header(next(self._lines(), b""), f"{self._name}, {LOG}")
        if header.log != manifest.log:
            raise self._damaged(f"{LOG} is of another log than {MANIFEST}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        if self._unpacked is not None:
            self._unpacked.close()
        self._zip.close()
        self._file.close()

    def start_visits(self) -> VisitFold:
        with self._reading(VISITS):
            return msgspec.json.decode(self._visits, type=VisitFold)

    def feed(self, sink: Sink, progress: Progress | None = None) -> list[str]:
        manifest = self.manifest

        def report(events: list[Event]) -> None:
            sink(events)
            if progress is not None:
                progress(events[-1].seq - manifest.first + 1, manifest.last - manifest.first + 1)

        feed_in_chunks(self._promised(read_export(self._lines(), f"{self._name}, {LOG}")), report)
        return self._warnings()

    def index(self, progress: Progress | None = None, sink: Sink | None = None) -> Index:
        if self._unpacked is not None:
            self._unpacked.close()
        unpacked: IO[bytes] = tempfile.SpooledTemporaryFile(_UNPACKED_BYTES_MAX)  # noqa: SIM115 (closed with it)
        self._unpacked = unpacked

        def copied() -> Iterator[bytes]:
            for line in self._lines():
                unpacked.write(line)
                yield line

        name = f"{self._name}, {LOG}"
        pages = LinePages(unpacked, name)
        events = self._promised(read_export(pages.passed(copied()), name))
        return index_lines(events, pages, self._warnings(), self._entries[LOG].file_size, progress, sink)

    def _promised(self, events: Iterator[Event]) -> Iterator[Event]:
        """Checks that the events are those of the manifest.

        Raises:
            LogDamaged: at the first event that is not, or at the end if one is missing.
        """
        manifest, following = self.manifest, self.manifest.first
        for event in events:
            if event.seq != following or event.seq > manifest.last:
                raise self._damaged(f"{LOG} does not hold the events {manifest.first} to {manifest.last}")
            following += 1
            yield event
        if following != manifest.last + 1:
            raise self._damaged(f"{LOG} ends before event {manifest.last}")

    def blob(self, name: str) -> bytes | None:
        entry = f"blobs/{name}"
        if entry not in self._entries:
            return None
        content = self._content(entry)
        if sha256(content).hexdigest() != name:
            raise self._damaged(f"{entry} is not what its name says", file=entry)
        return content

    def _manifest(self) -> Manifest:
        if MANIFEST not in self._entries:
            raise InvalidArgument(
                f"{self._name} is a zip file, but no bundle.", hint="Make one with `workspaced bundle`."
            )
        envelope = self._decoded(MANIFEST, _Envelope)
        if envelope.workspaced != "bundle":
            raise InvalidArgument(f"{self._name} is no bundle of workspaced.")
        if envelope.version > VERSION:
            raise InvalidArgument(
                f"{self._name} is a bundle of version {envelope.version}; this program reads up to {VERSION}.",
                hint="Use a newer workspaced.",
            )
        manifest: Manifest = self._decoded(MANIFEST, Manifest)
        return manifest

    def _warnings(self) -> list[str]:
        fold = self.manifest.versions.fold
        if fold == FOLD_VERSION:
            return []
        return [
            f"The state that {self._name} begins with was folded by version {fold} of the fold; "
            f"this program's is {FOLD_VERSION}."
        ]

    # -- entries --

    def _decoded(self, name: str, kind: Any) -> Any:
        content = self._content(name)
        with self._reading(name):
            return msgspec.json.decode(content, type=kind)

    def _content(self, name: str) -> bytes:
        with self._opened(name, BUNDLE_ENTRY_BYTES_MAX) as entry, self._reading(name):
            return entry.read()

    def _lines(self) -> Iterator[bytes]:
        with self._opened(LOG, BUNDLE_LOG_BYTES_MAX) as log:
            while True:
                with self._reading(LOG):
                    line = log.readline(LINE_BYTES_MAX)
                if not line:
                    return
                yield line

    def _opened(self, name: str, limit: int) -> IO[bytes]:
        entry = self._entries.get(name)
        if entry is None:
            raise self._damaged(f"it holds no {name}")
        if entry.file_size > limit:
            raise self._damaged(f"{name} has {entry.file_size} bytes, more than the {limit} of any bundle")
        if entry.compress_type not in (zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED):
            raise self._damaged(f"{name} is compressed in a way that no bundle uses")
        with self._reading(name):
            return self._zip.open(entry)

    @contextmanager
    def _reading(self, part: str) -> Iterator[None]:
        """Converts errors of the file's content into ours.

        Raises:
            LogDamaged: the part cannot be read.
        """
        try:
            yield
        except _UNREADABLE as error:
            raise self._damaged(f"{part} cannot be read ({error})") from None
        except msgspec.MsgspecError as error:
            raise self._damaged(f"{part} is not what it should be ({error})") from None

    def _damaged(self, what: str, **details: Any) -> LogDamaged:
        return LogDamaged(
            f"The bundle {self._name} is cut off or damaged: {what}.", hint="Ask for it again.", **details
        )
