"""Keeping the index true to the files.

Three ways lead here: a reconcile scan (at start, and from time to time), a watcher's hint that paths changed, and
a tool that met a file newer than its entry. All end in `refresh`: read the file now and file what it holds. Hints
may be lost, late or wrong; the scan repairs.

Notes are read past the content cache, one at a time: indexing a large vault must not push out what agents read.
"""

import logging
import os
import threading
import time
import unicodedata
from collections.abc import Callable, Iterable
from enum import Enum
from typing import Final

import msgspec

from workspaced_events.errors import ActionError
from workspaced_events.ids import NoteId, note_id

from ..errors import ReadFailed
from ..limits import UNCERTAIN_NS
from .cache import ContentCache
from .index import Index, entry_of
from .note import Note, NoteFailure, StatKey
from .paths import VaultRoot
from .scan import ScanReport, scan

_log = logging.getLogger(__name__)

_BATCH_NOTES: Final = 8
_BATCH_SCANNED: Final = 256
_YIELD_S: Final = 0.001


class FileVersion(msgspec.Struct, frozen=True, rename="camel"):
    """A note's file as it was last read."""

    id: NoteId
    stat: StatKey
    sha256: str


class Changes(msgspec.Struct, frozen=True, rename="camel"):
    """What became different since the index was last true."""

    created: tuple[FileVersion, ...] = ()
    changed: tuple[FileVersion, ...] = ()
    deleted: tuple[NoteId, ...] = ()


class Progress(msgspec.Struct, frozen=True, rename="camel"):
    """How far the index is. `notes_found` is what the scan has met, `notes_indexed` what is filed."""

    state: str
    notes_found: int
    notes_indexed: int


class _Outcome(Enum):
    SAME = 0
    CREATED = 1
    CHANGED = 2
    DELETED = 3


class Upkeep:
    """Writes the index; readers may ask it at any time. Safe from any thread; `reconcile` runs one at a time."""

    def __init__(
        self,
        root: VaultRoot,
        index: Index,
        *,
        clock_ns: Callable[[], int] = time.time_ns,
        is_busy: Callable[[], bool] = lambda: False,
    ) -> None:
        """`is_busy` says whether tools are being answered: then the work pauses for a moment between batches."""
        self.ready = threading.Event()
        self.report = ScanReport()
        """Of the last complete scan."""
        self.error: str | None = None
        """Why the last scan failed."""
        self._root = root
        self._index = index
        self._clock_ns = clock_ns
        self._is_busy = is_busy
        self._reader = ContentCache(root, bytes_max=0, threads=1)
        self._scanning = threading.Lock()
        self._writing = threading.Lock()
        self._stop = threading.Event()
        self._uncertain: set[NoteId] = set()
        """Read so soon after their last change that they may change again under an equal stat."""
        self._found = 0
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Builds the index on a thread of its own."""
        assert self._thread is None, "started twice"
        self._thread = threading.Thread(target=self._build, name="vault-index", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stops after the note at hand and waits for that. Idempotent."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
        self._reader.close()

    def progress(self) -> Progress:
        """How far the index is."""
        count = self._index.count()
        ready = self.ready.is_set()
        return Progress("ready" if ready else "building", count if ready else max(self._found, count), count)

    def reconcile(self) -> Changes:
        """Scans the vault and indexes what differs; afterwards the index is ready.

        Raises:
            ReadFailed: the folder is absent or cannot be opened. The index stays as it was: a disk that is
                unmounted for a while loses no names.
        """
        with self._scanning:
            try:
                changes = self._reconcile()
            except ReadFailed as failure:
                self.error = failure.message
                raise
            finally:
                if not self._stop.is_set():
                    self.ready.set()
            self.error = None
            return changes

    def hinted(self, paths: Iterable[str]) -> tuple[set[NoteId], bool]:
        """The notes that changed paths (absolute, or relative to the vault) speak of, and whether to reconcile.

        A path that is no note's is taken for a folder if it has no ending, or if notes are known below it.
        """
        notes: set[NoteId] = set()
        folders: list[str] = []
        root = os.fspath(self._root.path) + "/"
        for path in paths:
            relative = path.removeprefix(root).rstrip("/")
            try:
                notes.add(note_id(relative))
                # Not NFC and yet an id: the other one of two files that differ only in normalisation.
                if self._index.entry(NoteId(relative)) is not None:
                    notes.add(NoteId(relative))
            except (ActionError, UnicodeEncodeError):
                if not any(part.startswith(".") for part in relative.split("/")):
                    folders.append(relative + "/")
        if not folders:
            return notes, False
        if any("." not in folder.rpartition("/")[0].rpartition("/")[2] for folder in folders):
            return notes, True
        return notes, any(note.startswith(tuple(folders)) for note in self._index.ids())

    def refresh(self, notes: Iterable[NoteId]) -> Changes:
        """Reads these notes now and files what they hold."""
        changes = _Changes()
        for note in notes:
            changes.add(note, *self._refresh(note))
        return changes.done()

    def file(self, found: Note | NoteFailure) -> bool:
        """Files a version that was read elsewhere; whether the index was not true to it."""
        entry = self._index.entry(found.id)
        if isinstance(found, Note):
            if entry is not None and entry.stat == found.stat:
                return False
        elif entry is None or found.code == ReadFailed.code:
            return False
        # Read anew under the lock: by now another thread may have filed a newer version.
        return self._refresh(found.id)[0] is not _Outcome.SAME

    def _build(self) -> None:
        try:
            self.reconcile()
        except ReadFailed as failure:
            _log.warning("the vault cannot be indexed: %s", failure.message)
        except Exception:
            self.error = "The index could not be built."
            _log.exception("the vault cannot be indexed")

    def _reconcile(self) -> Changes:
        report = ScanReport()
        seen: set[NoteId] = set()
        stale: list[NoteId] = []
        self._found = 0
        for found in scan(self._root, report):
            entry = self._index.entry(found.id)
            if entry is None or entry.stat != found.stat or found.id in self._uncertain:
                stale.append(found.id)
            seen.add(found.id)
            self._found += 1
            if self._found % _BATCH_SCANNED == 0 and self._paused():
                return Changes()
        # A note that came after the scan passed by is missing there: refresh asks the disk.
        changes = _Changes()
        for note in self._index.ids():
            if note in seen:
                continue
            if unicodedata.normalize("NFC", note) in seen and not unicodedata.is_normalized("NFC", note):
                # Its file has got the NFC id, the other's being gone, but can still be opened by its own spelling.
                changes.add(note, self._forget(note), None)
            else:
                stale.append(note)
        del seen
        for done, note in enumerate(stale, start=1):
            changes.add(note, *self._refresh(note))
            if done % _BATCH_NOTES == 0 and self._paused():
                return changes.done()
        self.report = report
        return changes.done()

    def _paused(self) -> bool:
        """Lets other threads in; whether to stop."""
        return self._stop.wait(_YIELD_S) if self._is_busy() else self._stop.is_set()

    def _refresh(self, note: NoteId) -> tuple[_Outcome, FileVersion | None]:
        # One lock around read and write: of two versions the one read later is filed later.
        with self._writing:
            now = self._clock_ns()
            found = self._reader.read(note)
            entry = self._index.entry(note)
            if isinstance(found, NoteFailure):
                # Unreadable for a while is not gone.
                if entry is None or found.code == ReadFailed.code:
                    return _Outcome.SAME, None
                return self._forget(note), None
            if found.stat.ctime_ns > now - UNCERTAIN_NS:
                self._uncertain.add(note)
            else:
                self._uncertain.discard(note)
            try:
                fresh = entry_of(found)
            except Exception:
                # One note that cannot be parsed must not keep the others out.
                _log.exception("note %r cannot be indexed", note)
                return _Outcome.SAME, None
            if fresh == entry:
                return _Outcome.SAME, None
            self._index.upsert(fresh)
            version = FileVersion(note, found.stat, found.sha256)
            return (_Outcome.CREATED if entry is None else _Outcome.CHANGED), version

    def _forget(self, note: NoteId) -> _Outcome:
        self._index.remove(note)
        self._uncertain.discard(note)
        return _Outcome.DELETED


class _Changes:
    """Collects outcomes."""

    def __init__(self) -> None:
        self._versions: dict[_Outcome, list[FileVersion]] = {_Outcome.CREATED: [], _Outcome.CHANGED: []}
        self._deleted: list[NoteId] = []

    def add(self, note: NoteId, outcome: _Outcome, version: FileVersion | None) -> None:
        if outcome is _Outcome.DELETED:
            self._deleted.append(note)
        elif version is not None:
            self._versions[outcome].append(version)

    def done(self) -> Changes:
        return Changes(
            tuple(self._versions[_Outcome.CREATED]), tuple(self._versions[_Outcome.CHANGED]), tuple(self._deleted)
        )
