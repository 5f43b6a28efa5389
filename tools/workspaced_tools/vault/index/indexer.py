"""Keeps the index up to date with the files.

There are three causes for an update: a reconcile (at start, and from time to time), a watcher's hint that paths
changed, and a tool that read a file newer than its entry. Each reads the present file and writes its values to the
index. Hints may be lost, late or wrong; the reconcile repairs that.

Notes are read without the content cache: indexing a large vault must not evict the notes that agents read.

There are two indexes. In the vault's own, a note for explicit requests only is withheld like a private one: so no
look-up, count, weight or score over it can depend on such a note. The other one, `requested`, has such notes
alone, and is made with the first of them.
"""

import logging
import os
import sqlite3
import threading
import time
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Final

import msgspec

from workspaced_events.errors import ActionError
from workspaced_events.ids import NoteId, is_markdown, note_id

from ...errors import ReadFailed
from ...notes.name_keys import stem
from ...notes.note import Level, Note, NoteFailure, StatKey
from ...ports.asking import check_may_wait
from ..files.content_cache import ContentCache
from ..files.ignore_rules import Policy
from ..files.note_levels import NoteLevels
from ..files.safe_open import VaultRoot, is_utf8
from ..files.walk import ScanReport
from .changes import ChangeLog, Changes
from .crawl import Batch, Bounds, Crawl, TooMuch, grouped, indexed_or_none, is_gone, read_note
from .crawl_workers import CRAWL_WORKERS_MAX, CrawlWorkers, SurveyFailed
from .database import IndexFull, IndexLost
from .entries import IndexedNote, IndexEntry, LevelledNote, NamedNote, Withheld, bare, embedded_by, withheld_by
from .files import age_former, any_file_below, change_files, forget_former, replace_files
from .index import Index

_log = logging.getLogger(__name__)

INLINE: Final = Bounds(notes=3_000, stale=300)
"""Worker processes crawl larger vaults."""
_ATTEMPTS: Final = 3
_YIELD_S: Final = 0.001


class Progress(msgspec.Struct, frozen=True, rename="camel"):
    """Progress of indexing: `notes_found` by the crawl, and `notes_indexed`."""

    state: str
    """`building` until names and links of all notes are written, then `ready`."""
    text: str
    """As `state`, for the notes' text, which search needs."""
    notes_found: int
    notes_indexed: int
    withheld: int


class Indexer:
    """Writes the index, which can be read meanwhile. Safe from any thread; only one `reconcile` runs at a time."""

    def __init__(
        self,
        root: VaultRoot,
        index: Index,
        requested: Index,
        policy: Policy,
        levels: NoteLevels,
        *,
        clock_ns: Callable[[], int] = time.time_ns,
        clock_s: Callable[[], float] = time.monotonic,
        is_busy: Callable[[], bool] = lambda: False,
        inline: Bounds = INLINE,
        on_compared: Callable[[], object] = lambda: None,
    ) -> None:
        """See `Vault`.

        Args:
            requested: the index of notes for explicit requests only.
            is_busy: whether tools are being answered; if so, a crawl in this process pauses between batches.
        """
        self.usable = threading.Event()
        """Names and links of nearly all notes can be looked up: `ready`, or complete at the last stop."""
        self.ready = threading.Event()
        self.text_ready = threading.Event()
        self.report = ScanReport()
        """The report of the last complete crawl."""
        self.error: str | None = None
        """Why the last reconcile failed."""
        self.begun_s = time.monotonic()
        """When the building of the index began."""
        self.elsewhere: tuple[NamedNote, ...] = ()
        """The notes that are gone and could be shown, and that a sync program keeps elsewhere."""
        self._root = root
        self._index = index
        self._requested = requested
        self._policy = policy
        self._levels = levels
        self._clock_ns = clock_ns
        self._clock_s = clock_s
        self._is_busy = is_busy
        self._inline = inline
        self._on_compared = on_compared
        self._reader = ContentCache(root, bytes_max=0, threads=1)
        self._reconciling = threading.Lock()
        self._writing = threading.Lock()
        self._stop = threading.Event()
        self._touched: set[NoteId] = set()
        """Notes refreshed since the present crawl began, which may have read older versions of them."""
        self._touched_others: set[str] = set()
        """As `_touched`, for files that are no notes."""
        self._found = 0
        self._unreported = ChangeLog()
        self._enforced: str | None = None
        """The digest of the rules that the index already follows."""
        self._threads: list[threading.Thread] = []
        self._lost = False
        self._crawl_workers: CrawlWorkers | None = None

    def start(self) -> None:
        """Builds the index on its own thread."""
        self.begun_s = time.monotonic()
        self._threads.append(threading.Thread(target=self._build, name="vault-index", daemon=True))
        self._threads[-1].start()

    def close(self) -> None:
        """Stops after the present note, waits for that and closes the index. Idempotent."""
        self._stop.set()
        if self._crawl_workers is not None:
            self._crawl_workers.stop()
        for thread in self._threads:
            thread.join()
        with self._reconciling, self._writing:
            self._reader.close()
            self._index.close()
            self._requested.close()

    def progress(self) -> Progress:
        """The present progress of indexing."""
        return Progress(
            "ready" if self.ready.is_set() else "building",
            "ready" if self.text_ready.is_set() else "building",
            self.note_count(),
            self._index.count(),
            self._index.withheld_count,
        )

    def note_count(self) -> int:
        """The notes that are not withheld, as far as they were found."""
        count = self._index.count()
        return count if self.ready.is_set() else max(self._found - self._index.withheld_count, count)

    @property
    def is_complete(self) -> bool:
        """Whether the index has all notes: it is `ready`, and the last reconcile did not fail."""
        return self.ready.is_set() and self.error is None and self._index.is_complete

    def reconcile(self) -> Changes:
        """Compares all files with the index and writes the differences; afterwards the index is ready.

        Raises:
            ReadFailed: the folder is absent or cannot be opened (the index stays unchanged: a disk that is
                unmounted for a while loses no names), or the index cannot be written.
        """
        self._reconcile()
        return self._report()

    def rebuild(self, generation: int) -> None:
        """Rebuilds the index on its own thread if this generation of its file failed. Does not wait."""
        with self._writing:
            if self._lost or generation != self._index.file.generation:
                return
            self._lose()
            if self._stop.is_set():
                return
        _log.warning("the index is damaged and is made anew")
        self.start()

    def due_s(self) -> float | None:
        """When, by our own clock, `refresh` may report more changes; None: nothing waits for a time."""
        return self._unreported.due_s()

    def hinted(self, paths: Iterable[str]) -> tuple[set[NoteId], bool]:
        """The notes at changed paths (absolute, or relative to the vault), and whether to reconcile.

        A path that is no note's counts as a folder if it has no suffix, or if the index has notes or files below
        it. A file that is no Markdown may have the name of a folder that is gone.
        """
        notes: set[NoteId] = set()
        folders: list[str] = []
        root = os.fspath(self._root.path) + "/"
        for path in paths:
            relative = path.removeprefix(root).rstrip("/")
            found = self._notes_at(relative)
            notes |= found
            is_file = found and (
                is_markdown(relative) or not (self._root.is_folder(relative) or self._any_below(f"{relative}/"))
            )
            if not is_file and not any(part.startswith(".") for part in relative.split("/")):
                folders.append(relative + "/")
        bare = any("." not in folder.rpartition("/")[0].rpartition("/")[2] for folder in folders)
        return notes, bare or any(map(self._any_below, filter(is_utf8, folders)))

    def _notes_at(self, path: str) -> set[NoteId]:
        """The notes that a file at this path would be."""
        if not self._root.selected.holds(path):
            return set()
        try:
            note = note_id(path)
            # An id that is not NFC belongs to the second of two files that differ only in normalisation.
            return {note, NoteId(path)} if self._index.entry(NoteId(path)) is not None else {note}
        except (ActionError, UnicodeEncodeError):
            return set()

    def _any_below(self, folder: str) -> bool:
        return self._index.any_below(folder) or any_file_below(self._index.file, folder)

    def refresh(self, notes: Iterable[NoteId]) -> Changes:
        """Reads these notes now and writes their entries; returns all changes not reported yet."""
        self._refresh(notes)
        return self._report()

    def file(self, notes: Iterable[NoteId]) -> bool:
        """As `refresh`, for a reader: returns whether an entry was out of date.

        The next refresh or reconcile reports the changes.
        """
        check_may_wait()
        return self._refresh(notes)

    def file_others(self, paths: Iterable[str]) -> None:
        """Writes whether there are files that are no notes at these paths (as in `hinted`) now."""
        root = os.fspath(self._root.path) + "/"
        relative = (path.removeprefix(root) for path in paths)
        is_note = self._root.selected.holds
        wanted = {unicodedata.normalize("NFC", path) for path in relative if is_utf8(path) and not is_note(path)}
        if not wanted:
            return
        check_may_wait()
        with self._writing:
            if self._stop.is_set() or not self._index.file.is_open:
                return
            found = {path for path in wanted if self._root.has_other(path)}
            self._touched_others |= wanted
            with suppress(IndexFull):  # The next crawl adds them.
                change_files(self._index.file, found, wanted - found)

    def hide(self, note: NoteId) -> None:
        """Removes a note that was just found to be withheld, since counts and scores must not reveal it."""
        with self._writing:
            if self._index.file.is_open and not self._stop.is_set():
                with suppress(IndexFull):
                    self._index.hide(note, Withheld.PRIVATE)
                    self._remove_requested([note])

    def enforce(self) -> None:
        """Removes notes that the present rules withhold from the index.

        The next reconcile adds notes that the rules no longer withhold.
        """
        digest = self._policy.digest
        if digest == self._enforced:
            return
        check_may_wait()
        with self._writing:
            if self._index.file.is_open and not self._stop.is_set():
                with suppress(IndexFull):
                    self._index.withhold(self._policy.denies)
                    never = [note for note in self._requested.ids() if self._policy.level(note) is Level.NEVER]
                    self._remove_requested(never)
                    self._enforced = digest

    def _build(self) -> None:
        try:
            self._reconcile()
        except ReadFailed as failure:
            _log.warning("the vault cannot be indexed: %s", failure.message)
        except Exception:
            self.error = "The index could not be built."
            _log.exception("the vault cannot be indexed")

    # -- reconciling --

    def _reconcile(self) -> None:
        with self._reconciling:
            try:
                self._compare()
            except ReadFailed as failure:
                self.error = failure.message
                raise
            except (OSError, sqlite3.Error, IndexLost, IndexFull) as reason:
                _log.warning("the index cannot be kept: %s", reason)
                self.error = "The index cannot be written: look-ups by name and search are not complete."
                raise ReadFailed(self.error, hint="Make room on the disk of the cache directory.") from None
            finally:
                if not self._stop.is_set():
                    self.usable.set()
                    self.ready.set()
            self.error = None

    def _compare(self) -> None:
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                with self._writing:
                    if self._stop.is_set():
                        return
                    self._opened()
                begun_s = self._clock_s()
                for batch in self._crawled():
                    self._apply(batch)
                    if self._stop.is_set():
                        return
                self._levels.searched(begun_s, lambda notes: self._index.entries(list(notes)))
                gone = [note for note in self._levels.gone if self._root.program_with(note) is not None]
                self.elsewhere = tuple(NamedNote(note, stem(note)) for note in gone)
                self._policy.counted(self._found, begun_s)
                self.text_ready.set()
                self._rest()
                return
            except IndexLost:
                with self._writing:
                    self._lose()
                if attempt == _ATTEMPTS or self._stop.is_set():
                    raise

    def _rest(self) -> None:
        with self._writing:
            self._index.file.rest()
            self._requested.file.rest()
        self._on_compared()

    def _lose(self) -> None:
        for state in (self.usable, self.ready, self.text_ready):
            state.clear()
        self._lost = True
        self._index.file.drop()
        self._requested.file.drop()

    def _opened(self) -> None:
        if self._lost or not self._index.file.is_open:
            for state in (self.usable, self.ready, self.text_ready):
                state.clear()
            self._enforced = None
            if self._lost:
                self._index.remake()
                if self._requested.file.is_open:
                    self._requested.remake()
                self._lost = False
            else:
                self._open_kept()
                if self._index.is_complete:
                    self.usable.set()
        self._touched.clear()
        self._touched_others.clear()
        age_former(self._index.file)
        self._index.file.expect_writes()
        self._requested.file.expect_writes()
        self._found = 0
        self._policy.refresh()

    def _open_kept(self) -> None:
        """Opens the kept index, or a new one. A note that `requested` lacks will be read again."""
        if not self._index.open():
            return
        flagged = self._index.private.items()
        self._levels.remember_flagged(
            {note for note, withheld in flagged if withheld is Withheld.PRIVATE},
            {note for note, withheld in flagged if withheld is Withheld.REQUESTED},
        )
        if not (wanted := set(self._index.for_requests())):
            return
        if not self._requested.open():
            self._index.doubt(wanted)
            return
        found = set(self._requested.ids())
        self._remove_requested(list(found - wanted))
        self._index.doubt((wanted - found).union(self._requested.textless()))

    def _crawled(self) -> Iterator[Batch]:
        """The batches of one crawl, in this process if the vault is small, else by worker processes."""
        known = self._index.known() if self._index.count() <= self._inline.notes else None
        if known is not None:
            try:
                crawl = Crawl(self._root, self._policy, known, bounds=self._inline, clock_ns=self._clock_ns)
                yield from grouped(self._throttled(crawl.batches()))
                return
            except TooMuch:
                pass
        del known
        try:
            # If a worker fails, its unwritten group is lost: the next crawl yields those notes, once.
            yield from grouped(self._crawled_by_workers())
        except (OSError, SurveyFailed) as reason:
            if self._stop.is_set():
                return
            _log.warning("surveying in this process: %s", reason)
            crawl = Crawl(self._root, self._policy, self._index.known(), clock_ns=self._clock_ns)
            yield from grouped(self._throttled(crawl.batches()))

    def _crawled_by_workers(self) -> Iterator[Batch]:
        # A complete index needs little more than the files' stats.
        count = 1 if self._index.is_complete else max(1, min(CRAWL_WORKERS_MAX, os.cpu_count() or 1))
        self._root.directory()  # Raises if the folder is absent.
        workers = self._crawl_workers = CrawlWorkers(self._root, self._policy.globs, self._index.file.path, count)
        found = [0] * count
        reports: list[ScanReport] = []
        try:
            if self._stop.is_set():  # `close` may have run before these workers started.
                return
            for number, batch in workers.batches():
                found[number] = batch.found
                report = None
                if batch.report is not None:
                    reports.append(batch.report)
                    report = batch.report if len(reports) == count else None
                yield msgspec.structs.replace(batch, found=sum(found), report=report)
                if self._stop.is_set():
                    return
        finally:
            self._crawl_workers = None
            workers.close()

    def _throttled(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        for batch in batches:
            yield batch
            if self._is_busy():
                self._stop.wait(_YIELD_S)

    def _apply(self, batch: Batch) -> None:
        self._found = batch.found
        for note, spelled in batch.spellings.items():
            self._root.learn(note, spelled)
        again: set[NoteId] = set()
        with self._writing:
            if batch.notes or batch.gone:
                again = self._touched.intersection((*(each.note.entry.id for each in batch.notes), *batch.gone))
                fresh = [each for each in batch.notes if each.note.entry.id not in again]
                made = [self._at_level(each.note) for each in fresh]
                gone = [note for note in batch.gone if note not in again]
                if self.usable.is_set():
                    known = self._index.entries([*(each.note.entry.id for each in fresh if each.was_known), *gone])
                    for each in made:
                        self._unreported.add(known.get(each.entry.id), each.entry)
                    for note in gone:
                        self._unreported.add(known.get(note), None)
                self._put(made, gone)
                if any(each.note.text is None and each.level is not Level.NEVER for each in made):
                    self.text_ready.clear()
            if batch.texts:
                texts = [(each.note, each.stat, each.text) for each in batch.texts]
                self._index.put_texts(texts)
                if self._requested.file.is_open:
                    self._requested.put_texts(texts)
            if batch.others is not None:
                replace_files(self._index.file, batch.others)
            if batch.report is not None:
                forget_former(self._index.file)
                self._index.set_complete()
                self.report = batch.report
                self.usable.set()
                self.ready.set()
        self._refresh(again)
        if batch.others is not None:
            self.file_others(list(self._touched_others))

    # -- single notes --

    def _refresh(self, notes: Iterable[NoteId]) -> bool:
        """Writes the present entries of those that are notes; returns whether one was out of date."""
        wanted = list(filter(self._root.selected.holds, dict.fromkeys(notes)))
        if not wanted:
            return False
        # One lock around read and write, so that versions are written in the order in which they were read.
        with self._writing:
            if self._stop.is_set() or not self._index.file.is_open:
                return False
            known = self._index.entries(wanted)
            put, gone, moved = [], [], False
            for note in wanted:
                entry = known.get(note)
                found, certain = read_note(self._reader, note, self._clock_ns)
                if isinstance(found, NoteFailure):
                    if is_gone(self._root, found):
                        self._levels.is_missing(note)
                        if entry is not None:
                            gone.append(note)
                            self._unreported.add(entry, None)
                    continue
                level, withheld = self._level(note, found.stat, withheld_by(self._policy, found))
                is_up_to_date = entry is not None and self._is_up_to_date(entry, found, level, withheld)
                if entry is not None and is_up_to_date and entry.certain:
                    continue
                if level is Level.NEVER:
                    made: IndexedNote | None = bare(
                        *(note, found.stat, found.sha256, withheld), certain=certain, images=embedded_by(found)
                    )
                else:
                    made = indexed_or_none(found, self._policy, certain=certain)
                if made is not None:
                    put.append(LevelledNote(made, level, withheld))
                    self._unreported.add(entry, put[-1].entry)
                    moved = moved or not is_up_to_date
            self._touched.update(wanted)
            if put or gone:
                try:
                    self._put(put, gone)
                except IndexFull as reason:
                    self.error = f"The index cannot be written: {reason}."
            return moved or bool(gone)

    def _is_up_to_date(self, entry: IndexEntry, found: Note, level: Level, withheld: Withheld) -> bool:
        if (entry.stat, entry.sha256, entry.withheld) != (found.stat, found.sha256, withheld):
            return False
        requested = self._requested.entry(found.id)
        if level is not Level.ON_REQUEST:
            return requested is None
        return requested is not None and (requested.stat, requested.sha256) == (found.stat, found.sha256)

    def _put(self, made: list[LevelledNote], gone: list[NoteId]) -> None:
        """Writes each note into the index of its level, and removes it from the other. Raises as `Index.put`."""
        # First what tightens. After a crash neither index is trusted.
        self._remove_requested([*gone, *(each.entry.id for each in made if each.level is not Level.ON_REQUEST)])
        self._index.put([each.own for each in made], gone)
        if requested := [each.whole for each in made if each.level is Level.ON_REQUEST]:
            if not self._requested.file.is_open and self._requested.open():
                self._requested.remake()  # Nobody compared it with the vault's own index.
            self._requested.put(requested)

    def _remove_requested(self, notes: list[NoteId]) -> None:
        if notes and self._requested.count():
            self._requested.put([], notes)

    # -- levels --

    def _at_level(self, note: IndexedNote) -> LevelledNote:
        entry = note.entry
        return LevelledNote(note, *self._level(entry.id, entry.stat, entry.withheld))

    def _level(self, note: NoteId, stat: StatKey, by_text: Withheld) -> tuple[Level, Withheld]:
        """How far a version may go, and why no further; `by_text` is the result for its rules and front matter."""
        ruled, flagged = min(self._policy.level(note), by_text.ruled), by_text.flagged
        level = self.saw(note, stat, ruled, flagged)
        return level, Withheld.of(ruled, flagged, level)

    def saw(self, note: NoteId, stat: StatKey, ruled: Level, flagged: Level) -> Level:
        """As `NoteLevels.saw`, for a note of which the indexes may have a former version."""
        return self._levels.saw(note, stat, ruled=ruled, flagged=flagged, was=self.former_level)

    def former_level(self, note: NoteId) -> Level | None:
        """The level of the note's version that an index has, if that could be shown; else None."""
        if _has_shown(self._index, note):
            return Level.VOLUNTEER
        return Level.ON_REQUEST if _has_shown(self._requested, note) else None

    def _report(self) -> Changes:
        with self._writing:
            changes, self._unreported = self._unreported.done(self._clock_s())
        for note in changes.withheld:
            self._levels.follow(note)
        return changes


def _has_shown(index: Index, note: NoteId) -> bool:
    try:
        entry = index.entry(note)
    except IndexLost:
        return False
    return entry is not None and not entry.withheld
