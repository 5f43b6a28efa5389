"""Compares a vault's files with the index.

A crawl yields batches of differences. It only reads, so it can run in any process: in the daemon itself for small
vaults, in worker processes (`crawl_workers`) for large ones, since a thread that parses holds the interpreter for
milliseconds at a time. Several crawls may share one vault: each takes the notes whose path hashes to its part.
"""

import logging
import time
import unicodedata
from binascii import crc32
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import IO, Final

import msgspec

from workspaced_events.ids import NoteId

from ...errors import NotDownloaded, ReadFailed
from ...limits import UNCERTAIN_NS
from ...notes.note import Note, NoteFailure, PrivateNote, StatKey
from ..files.content_cache import ContentCache
from ..files.ignore_rules import Policy
from ..files.safe_open import VaultRoot
from ..files.walk import ScannedFile, ScannedNote, ScanReport, scan
from .entries import IndexedNote, TextFields, fields_for_search, indexed, text_fields
from .index import Known

_log = logging.getLogger(__name__)

GROUP_S: Final = 0.5
_GROUP_NOTES: Final = 1_024
_BATCH_NOTES: Final = 64
_BATCH_BYTES: Final = 262_144


class Crawled(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A note that differs from its entry in the index."""

    note: IndexedNote
    was_known: bool


class TextOf(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The text of one version of a note."""

    note: NoteId
    stat: StatKey
    text: str


class _Spooled(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A text that is not normalised yet, of one version of a note."""

    note: NoteId
    stat: StatKey
    fields: TextFields


_SPOOLED: Final = msgspec.msgpack.Decoder(_Spooled)


class Batch(msgspec.Struct, frozen=True, array_like=True):
    """A part of a crawl's result."""

    found: int = 0
    """The number of notes that this crawl has found so far."""
    notes: tuple[Crawled, ...] = ()
    gone: tuple[NoteId, ...] = ()
    texts: tuple[TextOf, ...] = ()
    spellings: dict[str, str] = {}
    """The raw paths of notes and files whose name is not NFC."""
    others: tuple[str, ...] | None = None
    """The paths of all files that are no notes; set in one batch of one of the crawls that share a vault."""
    report: ScanReport | None = None
    """Set in the last batch with names and links; only texts follow."""


def grouped(batches: Iterable[Batch], clock_s: Callable[[], float] = time.monotonic) -> Iterator[Batch]:
    """Merges batches into fewer, larger ones: the cost of a transaction hardly grows with its number of notes.

    No batch waits longer than GROUP_S for the next. The last batch with names and links, and a batch with only the
    number of notes, end their group at once.
    """
    group: list[Batch] = []
    begun = 0.0
    for batch in batches:
        begun = begun if group else clock_s()
        group.append(batch)
        size = sum(len(each.notes) + len(each.texts) for each in group)
        bare = not (batch.notes or batch.texts)
        if bare or batch.report is not None or size >= _GROUP_NOTES or clock_s() - begun >= GROUP_S:
            yield _merged(group)
            group = []
    if group:
        yield _merged(group)


def _merged(group: list[Batch]) -> Batch:
    last = group[-1]
    return Batch(
        last.found,
        tuple(note for each in group for note in each.notes),
        tuple(note for each in group for note in each.gone),
        tuple(text for each in group for text in each.texts),
        {note: spelled for each in group for note, spelled in each.spellings.items()},
        next((each.others for each in group if each.others is not None), None),
        last.report,
    )


class TooMuch(Exception):
    """The vault is too large for a crawl in this process."""


class Bounds(msgspec.Struct, frozen=True):
    """The largest crawl in the daemon's own process: notes in the vault, and notes to read."""

    notes: int
    stale: int


class Crawl:
    """One comparison of files and index. `batches` may be iterated once."""

    def __init__(
        self,
        root: VaultRoot,
        policy: Policy,
        known: Mapping[NoteId, Known],
        *,
        part: tuple[int, int] = (0, 1),
        bounds: Bounds | None = None,
        clock_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        """`part` is (index, number of parts). Beyond `bounds`, `batches` raises TooMuch."""
        self._root = root
        self._policy = policy
        self._known = known
        self._part, self._parts = part
        self._bounds = bounds
        self._clock_ns = clock_ns
        self._reader = ContentCache(root, bytes_max=0, threads=1)
        self._found = 0
        self._spellings: dict[str, str] = {}
        self._others: list[ScannedFile] | None = [] if self._part == 0 else None
        """The first part finds those of all."""

    def batches(self, spool: IO[bytes] | None = None) -> Iterator[Batch]:
        """The differences, batch by batch.

        With a `spool`, which stores them meanwhile, texts are normalised and come after all names and links; else
        with their notes.

        Raises:
            ReadFailed: the folder is absent or cannot be opened.
            TooMuch: the crawl exceeds `bounds`; it has yielded nothing yet.
        """
        report = ScanReport()
        stale, gone, textless = self._compared(report)
        yield Batch(self._found, gone=tuple(gone), spellings=self._spellings)
        yield from self._read(stale, spool)
        others = tuple({each.path for each in self._others}) if self._others is not None else None
        yield Batch(self._found, others=others, report=report)
        if spool is not None:
            spool.seek(0)
            yield from self._texts(_unspooled(spool))
        yield from self._texts(self._texts_of(textless))

    def _compared(self, report: ScanReport) -> tuple[list[NoteId], list[NoteId], list[NoteId]]:
        """The notes to read, those that are gone, and those that lack only their text."""
        stale: list[NoteId] = []
        textless: list[NoteId] = []
        seen: set[NoteId] = set()
        for found in scan(self._root, report, self._others):
            if found.id in seen or not self._is_ours(found.id):
                continue  # A folder that changes while it is listed may yield a name twice.
            if found.raw_path != found.id:
                self._spellings[found.id] = found.raw_path
            known = self._known.get(found.id)
            if known is None or not self._is_up_to_date(known, found):
                stale.append(found.id)
            elif not known.has_text and not known.withheld:
                textless.append(found.id)
            seen.add(found.id)
            self._found += 1
            if self._bounds is not None and (self._found > self._bounds.notes or len(stale) > self._bounds.stale):
                raise TooMuch
        self._spellings |= {each.path: each.raw_path for each in self._others or () if each.path != each.raw_path}
        gone = []
        for note in self._known:
            if note in seen or not self._is_ours(note):
                continue
            if unicodedata.normalize("NFC", note) in seen and not unicodedata.is_normalized("NFC", note):
                # The other file is gone, so this file has the NFC id now, but its own spelling still opens it.
                gone.append(note)
            else:
                # The file may be newer than the scan of its folder: only reading it can decide.
                stale.append(note)
        return stale, gone, textless

    def _is_ours(self, note: NoteId) -> bool:
        if self._parts == 1:
            return True
        # Files whose names differ only in normalisation belong to the same part.
        name = note if note.isascii() else unicodedata.normalize("NFC", note)
        return crc32(name.encode()) % self._parts == self._part

    def _is_up_to_date(self, known: Known, found: ScannedNote) -> bool:
        ruled = self._policy.level(found.id)
        return known.stat == found.stat and known.certain and known.withheld.follows(ruled)

    def _read(self, stale: Iterable[NoteId], spool: IO[bytes] | None) -> Iterator[Batch]:
        notes: list[Crawled] = []
        gone: list[NoteId] = []
        size = 0
        for note in stale:
            known = note in self._known
            found, certain = read_note(self._reader, note, self._clock_ns)
            if isinstance(found, NoteFailure):
                if known and is_gone(self._root, found):
                    gone.append(note)
                continue
            made = indexed_or_none(found, self._policy, certain=certain, with_text=spool is None)
            if made is None:
                continue
            if spool is not None and not made.entry.withheld.is_bare:
                fields = text_fields(found, made.entry, made.tags)
                data = msgspec.msgpack.encode(_Spooled(found.id, found.stat, fields))
                spool.write(len(data).to_bytes(4) + data)
            notes.append(Crawled(made, known))
            size += len(found.source)
            if len(notes) >= _BATCH_NOTES or size >= _BATCH_BYTES:
                yield Batch(self._found, tuple(notes), tuple(gone))
                notes, gone, size = [], [], 0
        if notes or gone:
            yield Batch(self._found, tuple(notes), tuple(gone))

    def _texts_of(self, notes: Iterable[NoteId]) -> Iterator[TextOf]:
        for note in notes:
            found, _ = read_note(self._reader, note, self._clock_ns)
            made = indexed_or_none(found, self._policy, certain=True) if isinstance(found, Note) else None
            if made is not None and made.text is not None:
                yield TextOf(note, made.entry.stat, made.text)

    def _texts(self, texts: Iterable[TextOf]) -> Iterator[Batch]:
        batch: list[TextOf] = []
        size = 0
        for each in texts:
            batch.append(each)
            size += len(each.text)
            if len(batch) >= _BATCH_NOTES or size >= _BATCH_BYTES:
                yield Batch(self._found, texts=tuple(batch))
                batch, size = [], 0
        if batch:
            yield Batch(self._found, texts=tuple(batch))


def read_note(reader: ContentCache, note: NoteId, clock_ns: Callable[[], int]) -> tuple[Note | NoteFailure, bool]:
    """The present note, and whether every later change will change its stat."""
    now = clock_ns()
    found = reader.read(note)
    assert not isinstance(found, PrivateNote), "this reader reads notes whole"
    return found, isinstance(found, Note) and found.stat.ctime_ns <= now - UNCERTAIN_NS


def is_gone(root: VaultRoot, failure: NoteFailure) -> bool:
    """Whether the note no longer exists; a note that is temporarily unreadable is not gone."""
    return failure.code not in (ReadFailed.code, NotDownloaded.code) or root.is_folder(failure.id)


def indexed_or_none(note: Note, policy: Policy, *, certain: bool, with_text: bool = True) -> IndexedNote | None:
    """The index's values of `note`; None if parsing fails, so that the other notes are still indexed."""
    try:
        return indexed(note, policy, certain=certain, with_text=with_text)
    except Exception:
        _log.exception("note %r cannot be indexed", note.id)
        return None


# -- the spool of texts --


def _unspooled(spool: IO[bytes]) -> Iterator[TextOf]:
    while size := spool.read(4):
        found = _SPOOLED.decode(spool.read(int.from_bytes(size)))
        yield TextOf(found.note, found.stat, fields_for_search(found.fields))
