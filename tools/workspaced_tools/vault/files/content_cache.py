"""The content cache: parsed notes, each checked against a fresh stat.

A hit is a note whose (device, inode, size, mtime, ctime) equals that of the time when its bytes were read. That
key has one hole: a file that changed twice within a clock tick of its file system, or whose writer set the time
back, can have other bytes under an equal key. So a version read less than two seconds after its last change is
*uncertain* and is read again the next time (git's rule for its index); a version read later than that is trusted.
Reading a file again costs no parsing if the hash of its bytes is the same.

Failures are not cached, nor is a note that changed while it was read.
"""

import codecs
import hashlib
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from math import inf
from sys import getsizeof
from typing import Any, Final

import msgspec

from workspaced_events.ids import NoteId, is_markdown

from ...errors import ToolError
from ...limits import (
    BINARY_HEAD_BYTES,
    CACHE_BYTES_MAX,
    NOTE_BYTES_MAX,
    READ_ATTEMPTS_MAX,
    READ_INLINE_S,
    READ_THREADS,
    UNCERTAIN_NS,
    YOUNG_BYTES_MAX,
)
from ...notes.formats.canvas import canvas_text
from ...notes.formats.kinds import PDF, is_canvas, kind_of
from ...notes.note import Level, Note, NoteFailure, PrivateNote, StatKey
from ...notes.privacy_flag import HEAD_BYTES, level_of_head
from ...ports.asking import WouldBlock, may_wait
from .safe_open import RootDirectory, VaultRoot, failed

# Measured: note, stat, entry, ids and hash without text; and a link with its strings once parsed.
_NOTE_OVERHEAD_BYTES: Final = 2_048
_LINK_OVERHEAD_BYTES: Final = 400
_PRIVATE_BYTES: Final = 512
_NO_CANVAS: Final = "The file is no JSON Canvas; it is shown as it stands."
_UNSTABLE: Final = "The file was being written while it was read; this may be a part of it."
_OF_THE_FILE: Final = frozenset({"shown", "recorded"})
"""Values cached on a note that contain the file's times (note_answers.facts, recording)."""


class CacheStatistics(msgspec.Struct, frozen=True, rename="camel"):
    """Counts since the start; `bytes` and `entries` are present values. A miss is a read of an existing file."""

    hits: int
    misses: int
    evictions: int
    bytes: int
    entries: int


NoteRead = Note | PrivateNote | NoteFailure
"""The result of reading a note; a `PrivateNote` only if the cache withholds private notes."""


class _Entry(msgspec.Struct, frozen=True, gc=False):
    note: Note | PrivateNote
    cost: int
    certain: bool


class ContentCache:
    """Notes by id; evicts the least recently used ones above `bytes_max`. Safe from any thread."""

    def __init__(
        self,
        root: VaultRoot,
        *,
        bytes_max: int = CACHE_BYTES_MAX,
        clock_ns: Callable[[], int] = time.time_ns,
        threads: int = READ_THREADS,
        withhold_private: bool = False,
    ) -> None:
        """
        Args:
            clock_ns: the wall clock, for comparison with file times.
            withhold_private: reads only the head of a private note, so that a read of one takes no longer than a
                read of a note that does not exist.
        """
        self._root = root
        self._withhold_private = withhold_private
        self._bytes_max = bytes_max
        self._clock_ns = clock_ns
        self._lock = threading.Lock()
        self._entries: OrderedDict[NoteId, _Entry] = OrderedDict()
        self._bytes = self._hits = self._misses = self._evictions = 0
        self._threads_max = threads
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="note-read")
        self._closed = False

    def read(self, note: NoteId) -> NoteRead:
        """The note's present version. Never raises for any content of a vault."""
        return self._cached_of([note]).get(note) or self._read_file(note)

    def read_many(self, notes: Sequence[NoteId]) -> list[NoteRead]:
        """Present versions in the order of `notes`; each distinct note is read once.

        Reads uncached notes in this thread while reads are quick (the files are in the system's cache, and threads
        would only contend for the interpreter), and concurrently after the first slow read.

        Raises:
            WouldBlock: this thread may not wait, and a note must be read whose bytes may not be in the system's
                cache, or too many bytes. Notes that were shown before and changed a moment ago are read: handing
                that over to a thread costs more.
        """
        distinct = list(dict.fromkeys(notes))
        found = self._cached_of(distinct)
        uncached = [note for note in distinct if note not in found]
        if uncached and not may_wait() and sum(map(self._young_bytes, uncached)) > YOUNG_BYTES_MAX:
            raise WouldBlock
        for place, note in enumerate(uncached):
            begun = time.perf_counter()
            found[note] = self._read_file(note)
            if time.perf_counter() - begun > READ_INLINE_S:
                found.update(self._read_concurrently(uncached[place + 1 :]))
                break
        return [found[note] for note in notes]

    def holds(self, note: NoteId) -> bool:
        """Whether any version of the note is cached."""
        return note in self._entries

    def _young_bytes(self, note: NoteId) -> float:
        """The size of a cached note's file if it changed a moment ago; infinite if not, or if the note is private:
        then a read would tell that there is one."""
        entry = self._entries.get(note)
        if entry is None or not isinstance(entry.note, Note):
            return inf
        try:
            key = stat_key(self._root.stat_note(note))
        except ToolError:
            return inf
        return key.size if _is_uncertain(key, self._clock_ns()) else inf

    def _read_concurrently(self, uncached: list[NoteId]) -> Iterable[tuple[NoteId, NoteRead]]:
        """Reads the notes in one share per thread, which costs one hand-over per share."""
        count = min(self._threads_max, len(uncached))
        if count < 2 or self._closed:
            return self._read_share(uncached)
        shares = self._threads.map(self._read_share, [uncached[first::count] for first in range(count)])
        return chain.from_iterable(shares)

    def _read_share(self, share: list[NoteId]) -> list[tuple[NoteId, NoteRead]]:
        return [(note, self._read_file(note)) for note in share]

    def evict(self, note: NoteId) -> None:
        """Removes the note if it is cached. Never needed for correctness, since each read checks a fresh stat."""
        with self._lock:
            entry = self._entries.pop(note, None)
            if entry is not None:
                self._bytes -= entry.cost

    def clear(self) -> None:
        """Removes every note."""
        with self._lock:
            self._entries.clear()
            self._bytes = 0

    def statistics(self) -> CacheStatistics:
        """The present counts."""
        with self._lock:
            return CacheStatistics(self._hits, self._misses, self._evictions, self._bytes, len(self._entries))

    def close(self) -> None:
        """Waits for reads in progress, ends the reading threads and removes every note. Idempotent."""
        self._closed = True
        self._threads.shutdown(wait=True)
        self.clear()

    def _cached_of(self, notes: Sequence[NoteId]) -> dict[NoteId, NoteRead]:
        """Each note's cached version, or its failure, as `_cached`; without those that must be read."""
        try:
            root = self._root.directory()
        except ToolError:
            root = None  # Each note then fails by itself with that error.
        entries = {
            note: entry for note in notes if (entry := self._entries.get(note)) is not None and entry.certain
        }
        statuses = self._root.stat_notes(list(entries), root) if root is not None else [None] * len(entries)
        found: dict[NoteId, NoteRead] = {}
        for (note, entry), status in zip(entries.items(), statuses, strict=True):
            if status is None:
                kept = self._cached(note, root)
                if kept is not None:
                    found[note] = kept
            elif stat_key(status) == entry.note.stat:
                found[note] = entry.note
        with self._lock:
            for note in found:
                if note in self._entries:  # not evicted meanwhile
                    self._hits += 1
                    self._entries.move_to_end(note)
        return found

    def _cached(self, note: NoteId, root: RootDirectory | None = None) -> NoteRead | None:
        """The cached version if it is certain and still present; the failure if the stat failed; else None."""
        entry = self._entries.get(note)
        if entry is None or not entry.certain:
            return None
        try:
            if stat_key(self._root.stat_note(note, root)) != entry.note.stat:
                return None
        except ToolError as failure:
            self.evict(note)
            return NoteFailure(note, failure.code, failure.message)
        return entry.note

    def _read_file(self, note: NoteId) -> NoteRead:
        """Reads the file, and caches the note if the file did not change during the read."""
        try:
            now = self._clock_ns()
            status, data, level, stable = self._read_stable(note)
        except ToolError as failure:
            self.evict(note)
            return NoteFailure(note, failure.code, failure.message)
        except OSError as reason:
            self.evict(note)
            error = failed(note, reason)
            return NoteFailure(note, error.code, error.message)
        key = stat_key(status)
        fresh: Note | PrivateNote
        if level is Level.NEVER and self._withhold_private:
            fresh = PrivateNote(note, key)
        else:
            fresh = (
                self._note(note, status, data, stable) if is_markdown(note) else _file(note, status, data, stable)
            )
            vars(fresh)["level"] = level
        with self._lock:
            self._misses += 1
        if stable:
            self._keep(fresh, certain=not _is_uncertain(key, now))
        return fresh

    def _read_stable(self, note: NoteId) -> tuple[os.stat_result, bytes, Level, bool]:
        """Stat, bytes, their level, and whether the stat was the same before and after the read.

        Tries up to READ_ATTEMPTS_MAX times for a stable stat. The least level of all attempts counts.
        """
        level, is_flagged = Level.VOLUNTEER, is_markdown(note)
        for attempt in range(1, READ_ATTEMPTS_MAX + 1):
            descriptor = self._root.open_note(note)
            try:
                before = os.fstat(descriptor)
                data = _read_head(descriptor, before.st_size)
                if is_flagged:
                    level = min(level, level_of_head(data, whole=before.st_size <= HEAD_BYTES))
                    is_enough = level is Level.NEVER and self._withhold_private
                else:
                    is_enough = before.st_size > NOTE_BYTES_MAX or _is_binary(note, data)
                if not is_enough:
                    data = _read_rest(descriptor, data, before.st_size)
                after = os.fstat(descriptor)
            finally:
                os.close(descriptor)
            whole = is_enough or len(data) == min(after.st_size, NOTE_BYTES_MAX)
            stable = whole and stat_key(before) == stat_key(after)
            if stable or attempt == READ_ATTEMPTS_MAX:
                break
        return after, data, level, stable

    def _note(self, note: NoteId, status: os.stat_result, data: bytes, stable: bool) -> Note:
        """The bytes as a note; values already parsed from equal bytes are kept."""
        key, digest = stat_key(status), hashlib.sha256(data).hexdigest()
        entry = self._entries.get(note)
        former = entry.note if entry is not None and isinstance(entry.note, Note) else None
        known = former if former is not None and former.sha256 == digest and stable else None
        if known is not None and known.stat == key:
            return known
        if known is not None:
            fresh = msgspec.structs.replace(known, stat=key, birth_ns=_birth_ns(status))
            vars(fresh).update(vars(known))  # Parsed values depend on the text alone.
            for name in _OF_THE_FILE:
                vars(fresh).pop(name, None)
            return fresh
        text, warnings = decode(data, whole=status.st_size <= NOTE_BYTES_MAX)
        if status.st_size > NOTE_BYTES_MAX:
            warnings += (f"The file has {status.st_size} bytes; the first {NOTE_BYTES_MAX} were read.",)
        if not stable:
            warnings += (_UNSTABLE,)
        return Note(note, key, _birth_ns(status), digest, text.encode(errors="replace"), warnings)

    def _keep(self, note: Note | PrivateNote, *, certain: bool) -> None:
        cost = _cost(note)
        with self._lock:
            former = self._entries.pop(note.id, None)
            if former is not None:
                self._bytes -= former.cost
            if cost > self._bytes_max:
                return
            self._entries[note.id] = _Entry(note, cost, certain)
            self._bytes += cost
            while self._bytes > self._bytes_max:
                _, gone = self._entries.popitem(last=False)
                self._bytes -= gone.cost
                self._evictions += 1


def _file(note: NoteId, status: os.stat_result, data: bytes, stable: bool) -> Note:
    """The text of a file that is no Markdown; none if it is no text, or too large."""
    read: dict[str, Any] = {"source": data.removeprefix(codecs.BOM_UTF8)}
    unstable = (_UNSTABLE,) if not stable else ()
    if status.st_size > NOTE_BYTES_MAX:
        read = {"source": b"", "unread": "large"}
    elif _is_binary(note, data) or not _is_utf8(data):
        read = {"source": b"", "unread": "binary"}
    elif is_canvas(note) and (text := canvas_text(read["source"])) is not None:
        read = {"source": text.encode(errors="replace"), "warnings": unstable}
    else:
        read["warnings"] = (*unstable, _NO_CANVAS) if is_canvas(note) else unstable
    return Note(note, stat_key(status), _birth_ns(status), hashlib.sha256(data).hexdigest(), **read)


def _is_binary(note: NoteId, data: bytes) -> bool:
    """Whether a file that begins with `data` is no text; a PDF never is, though it may look like one."""
    return b"\0" in data[:BINARY_HEAD_BYTES] or kind_of(note) == PDF


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def stat_key(status: os.stat_result) -> StatKey:
    """The key of the version of the file's bytes."""
    return StatKey(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def decode(data: bytes, *, whole: bool = True) -> tuple[str, tuple[str, ...]]:
    """Decodes the bytes of a note; returns the text and a warning for each repair.

    UTF-8 without its BOM, or UTF-16 if a BOM says so; invalid bytes become U+FFFD, NUL stays. Without `whole` the
    bytes may end within a character, which is left out rather than replaced.
    """
    encoding, start = "utf-8", 0
    if data.startswith(codecs.BOM_UTF8):
        start = len(codecs.BOM_UTF8)
    elif data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encoding = "utf-16"
    warnings: tuple[str, ...] = ()
    try:
        text = codecs.getincrementaldecoder(encoding)("strict").decode(data[start:], whole)
    except UnicodeDecodeError:
        text = codecs.getincrementaldecoder(encoding)("replace").decode(data[start:], whole)
        warnings += (f"Some bytes are not {encoding.upper()}; they are shown as U+FFFD.",)
    if "\0" in text:
        warnings += ("The note holds NUL characters.",)
    return text, warnings


def _read_head(descriptor: int, size: int) -> bytes:
    """The first HEAD_BYTES, which decide whether the file is private; a smaller file whole."""
    head = os.read(descriptor, min(size + 1, HEAD_BYTES))
    while len(head) < min(size, HEAD_BYTES) and (more := os.read(descriptor, HEAD_BYTES - len(head))):
        head += more
    return head


def _read_rest(descriptor: int, head: bytes, size: int) -> bytes:
    """The whole file that begins with `head`, up to the limit.

    Reads one byte more than expected, to notice a file that grows.
    """
    if len(head) == size:
        return head
    chunks = [head, os.read(descriptor, min(size + 1, NOTE_BYTES_MAX) - len(head))]
    left = NOTE_BYTES_MAX - sum(map(len, chunks))
    if left == NOTE_BYTES_MAX - size:
        return b"".join(chunks)
    while left > 0 and (more := os.read(descriptor, min(left, 1 << 20))):
        chunks.append(more)
        left -= len(more)
    return b"".join(chunks)


def _is_uncertain(key: StatKey, now: int) -> bool:
    # A ctime in the future means that the clock was set back, so the version cannot be trusted.
    return key.ctime_ns > now - UNCERTAIN_NS or abs(now - key.mtime_ns) < UNCERTAIN_NS


def _birth_ns(status: os.stat_result) -> int | None:
    seconds: float | None = getattr(status, "st_birthtime", None)
    return None if seconds is None else int(seconds * 1_000_000_000)


def _cost(note: Note | PrivateNote) -> int:
    """Estimated bytes of a cached note: its text, and its links once parsed."""
    if isinstance(note, PrivateNote):
        return _PRIVATE_BYTES
    links = note.source.count(b"[[") + note.source.count(b"](")
    return _NOTE_OVERHEAD_BYTES + getsizeof(note.source) + links * _LINK_OVERHEAD_BYTES
