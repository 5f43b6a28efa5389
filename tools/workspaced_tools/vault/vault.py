"""`Vault`: one vault as tools see it, over its root, content cache and index. Implements `VaultPort`.

The index answers quickly but may lag behind the files; so whatever note it names is looked at on disk before it is
named to an agent, and where the index was wrong it is mended and asked again. An answer never names a note that is
not there.
"""

import os
import threading
import time
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from typing import Final

import msgspec

from workspaced_events.ids import NoteId
from workspaced_events.state import VaultState

from ..errors import ReadFailed, ReferenceOutsideVault, ToolError
from ..limits import CACHE_BYTES_MAX, INDEX_WAIT_S
from ..view import Incoming, IncomingLink, LinkName, LinkTarget, NoteRef, Resolution
from .cache import CacheStatistics, ContentCache
from .index import Index, IndexEntry, entry_of, target_keys
from .markdown import link_context
from .memory_index import MemoryIndex
from .names import stem
from .note import Note, NoteFailure
from .paths import VaultRoot
from .resolver import IndexLookup, resolve, resolve_link
from .upkeep import Changes, Progress, Upkeep

_MEND_ATTEMPTS: Final = 3
_BUSY_S: Final = 0.002
"""This long after a read more are likely: the index builder makes room."""


class VaultStatistics(msgspec.Struct, frozen=True, rename="camel"):
    """What `status` shows of a vault."""

    cache: CacheStatistics
    index: Progress
    warnings: tuple[str, ...]


class Vault:
    """See `VaultPort`. Works before `start` and while the index is being built; after `close` reads fail."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        index: Index | None = None,
        cache_bytes_max: int = CACHE_BYTES_MAX,
        index_wait_s: float = INDEX_WAIT_S,
        clock_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        """`clock_ns` is the wall clock that file times are measured against. An absent folder is no error yet."""
        self.root: Final = VaultRoot(path)
        self.index: Final = MemoryIndex() if index is None else index
        self._cache: Final = ContentCache(self.root, bytes_max=cache_bytes_max, clock_ns=clock_ns)
        self._upkeep: Final = Upkeep(self.root, self.index, clock_ns=clock_ns, is_busy=self._is_busy)
        self._by_index: Final = IndexLookup(self.index)
        self._index_wait_s = index_wait_s
        self._last_read = 0.0
        self._closing = threading.Lock()
        self._closed = False

    # -- lifecycle --

    def start(self) -> None:
        """Starts building the index on a thread of its own."""
        self._upkeep.start()

    def close(self) -> None:
        """Stops the builder and lets files and cache go. Idempotent."""
        with self._closing:
            if self._closed:
                return
            self._closed = True
        self._upkeep.close()
        self._cache.close()
        self.root.close()

    def wait_until_ready(self, timeout_s: float) -> bool:
        """Whether the index is built, after at most `timeout_s`."""
        return self._upkeep.ready.wait(timeout_s)

    def changed(self, paths: Iterable[str]) -> Changes:
        """A watcher's hint that these paths (absolute, or relative to the vault) changed; what did change."""
        notes, reconcile = self._upkeep.hinted(paths)
        for note in notes:
            self._cache.evict(note)
        if not reconcile:
            return self._upkeep.refresh(sorted(notes))
        try:
            return self.reconcile()
        except ReadFailed:
            return Changes()

    def reconcile(self) -> Changes:
        """Scans the vault and indexes what differs; what that was. Afterwards the index is ready.

        Raises:
            ReadFailed: the folder is absent or cannot be opened; the index stays as it was.
        """
        return self._upkeep.reconcile()

    @property
    def error(self) -> str | None:
        """Why the last scan failed; None once one succeeded."""
        return self._upkeep.error

    def statistics(self) -> VaultStatistics:
        """Counts, and what is wrong with the vault."""
        return VaultStatistics(self._cache.statistics(), self._upkeep.progress(), tuple(self._warnings()))

    # -- the port --

    def read(self, notes: Sequence[NoteId]) -> list[Note | NoteFailure]:
        self._last_read = time.monotonic()
        return self._cache.read_many(notes)

    def resolve(self, reference: str, state: VaultState) -> Resolution:
        lookup = _Files(self)
        found = resolve(reference, lookup, state)
        for _ in range(_MEND_ATTEMPTS):
            if found.resolved_by == "path" or not self._mend(found):
                break
            found = resolve(reference, lookup, state)
        return found

    def link_targets(self, source: NoteId, links: Sequence[LinkName], state: VaultState) -> list[LinkTarget]:
        self._await_index()
        targets = self._link_targets(source, links, state)
        gone = [note for note in {each.note.id for each in targets if each.note} if not self.has(note)]
        if gone and self._upkeep.refresh(gone).deleted:
            targets = self._link_targets(source, links, state)
        return targets

    def incoming(self, note: NoteId, limit: int, state: VaultState) -> Incoming:
        self._await_index()
        entry = self._entry(note)
        if entry is None:
            return Incoming((), 0)
        return _Backlinks(entry, state, self.index, self._cache, self._upkeep).found(limit)

    def note_count(self) -> int:
        return self._upkeep.progress().notes_found

    def index_state(self) -> str:
        return "ready" if self._upkeep.ready.is_set() else "building"

    def read_warm(self, notes: Sequence[NoteId]) -> list[Note | NoteFailure] | None:
        """As `read`, if every note is in the cache and unchanged; else None."""
        self._last_read = time.monotonic()
        return self._cache.read_warm(notes)

    # -- pieces --

    def _await_index(self) -> None:
        self._upkeep.ready.wait(self._index_wait_s)

    def _is_busy(self) -> bool:
        return time.monotonic() - self._last_read < _BUSY_S

    def _mend(self, found: Resolution) -> bool:
        """Looks at every note the resolution names; whether the index was wrong about one and is mended."""
        refs = [found.note] if found.note is not None else [*found.candidates, *found.near]
        mended = [self._upkeep.file(each) for each in self._cache.read_many([ref.id for ref in refs])]
        return any(mended)

    def _link_targets(self, source: NoteId, links: Sequence[LinkName], state: VaultState) -> list[LinkTarget]:
        known = {link: resolve_link(source, link, self._by_index, state) for link in dict.fromkeys(links)}
        return [known[link] for link in links]

    def has(self, note: NoteId) -> bool:
        """Whether there is a file at exactly this path, readable or not; opens nothing."""
        try:
            self.root.stat_note(note)
        except ReadFailed:
            return True
        except ToolError:
            return False
        return True

    def has_indexed(self, note: Note) -> bool:
        """Whether the index knows this very version."""
        entry = self.index.entry(note.id)
        return entry is not None and entry.stat == note.stat

    def _entry(self, note: NoteId) -> IndexEntry | None:
        """What is known of `note`, of a file too young for the index from the file itself."""
        entry = self.index.entry(note)
        if entry is None and isinstance(found := self._cache.read(note), Note):
            return entry_of(found)
        return entry

    def _warnings(self) -> Iterable[str]:
        report = self._upkeep.report
        if self._upkeep.error is not None:
            yield self._upkeep.error
        for names, says in (
            (report.undecodable, "names are not UTF-8; these files are no notes"),
            (report.special, "are called *.md but are no regular files"),
            (report.too_deep, "lie too deep or have too long paths"),
            (report.unreadable, "are folders that cannot be opened"),
            (report.same_name, "differ from another note's path only in Unicode normalisation"),
        ):
            if names:
                yield f"{len(names)} {says}: {', '.join(map(repr, names[:3]))}{', …' if len(names) > 3 else ''}"


class _Files:
    """The resolver's look-up on the disk for exact paths, which never wait, and in the index for all else."""

    def __init__(self, vault: Vault) -> None:
        self._vault = vault

    def at_path(self, path: NoteId) -> NoteRef | None:
        if not path.isascii() and not unicodedata.is_normalized("NFC", path):
            # The path of a note only where the NFC form is another's; the disk would find it in any case.
            entry = self._vault.index.entry(path)
            return entry.ref if entry is not None else None
        found = self._vault._cache.read(path)
        if isinstance(found, Note):
            return NoteRef(path, found.title, path)
        if found.code == ReferenceOutsideVault.code:
            raise ReferenceOutsideVault(
                found.message, hint="Symlinks are never followed; name a note of the vault."
            )
        # A file that is there but cannot be read is what was meant: reading it will say why.
        return NoteRef(path, stem(path), path) if found.code == ReadFailed.code else None

    def named(self, name_key: str) -> Sequence[IndexEntry]:
        self._vault._await_index()
        return self._vault.index.named(name_key)

    def near(self, name: str, limit: int) -> Sequence[IndexEntry]:
        self._vault._await_index()
        return self._vault.index.near(name, limit)


class _Backlinks:
    """Links to one note. The index gives the sources; lines and contexts come from the files as they are now."""

    def __init__(
        self, entry: IndexEntry, state: VaultState, index: Index, cache: ContentCache, upkeep: Upkeep
    ) -> None:
        self._note = entry.id
        self._keys = entry.name_keys()
        for former, now in state.former.items():
            if now == entry.id:
                self._keys.update(target_keys(former))
        self._state = state
        self.index = index
        self._lookup = IndexLookup(index)
        self._cache = cache
        self._upkeep = upkeep
        self._known: dict[tuple[str, LinkName], bool] = {}

    def found(self, limit: int) -> Incoming:
        """The first `limit` occurrences by source and line, and how many there are."""
        sources = []
        for source in self.index.linking(self._keys):
            count = sum(self._leads_here(source.id, link) for link in source.links)
            if count and source.id != self._note:
                sources.append((source.id, count))
        links: list[IncomingLink] = []
        total = done = 0
        while done < len(sources) and len(links) < limit:
            batch = self._batch(sources[done:], limit - len(links))
            done += len(batch)
            for found in self._cache.read_many(batch):
                shown = self._occurrences(found)
                total += len(shown)
                links.extend(shown[: limit - len(links)])
        total += sum(count for _, count in sources[done:])
        return Incoming(tuple(links), total)

    def _batch(self, sources: Sequence[tuple[NoteId, int]], wanted: int) -> list[NoteId]:
        """As many sources as should hold `wanted` occurrences."""
        batch = []
        for source, count in sources:
            batch.append(source)
            wanted -= count
            if wanted <= 0:
                break
        return batch

    def _occurrences(self, found: Note | NoteFailure) -> list[IncomingLink]:
        self._upkeep.file(found)
        if isinstance(found, NoteFailure):
            return []
        source = NoteRef(found.id, found.title, found.id)
        return [
            IncomingLink(source, link_context(found.body, link), link.line)
            for link in found.markdown.links
            if link.target and self._leads_here(found.id, LinkName(link.target, link.wiki))
        ]

    def _leads_here(self, source: NoteId, link: LinkName) -> bool:
        # Which note a name means may depend on the source's folder, on nothing else of it.
        asked = (source.rpartition("/")[0], link)
        known = self._known.get(asked)
        if known is None:
            known = not self._keys.isdisjoint(target_keys(link.target))
            if known:
                target = resolve_link(source, link, self._lookup, self._state).note
                known = target is not None and target.id == self._note
            self._known[asked] = known
        return known
