"""`Vault`: one vault as tools see it, over its folder, content cache, index and share policy; a `VaultSource`.

The index answers quickly but may lag behind the files; so whatever note it names is looked at on disk before it is
named to an agent, and where the index was wrong it is mended and asked again. An answer never names a note that is
not there, or that the share policy withholds: all that leaves here went through `_shared`.
"""

import os
import threading
import time
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final, Literal, TypeVar

import msgspec

from workspaced_events.ids import NoteId
from workspaced_events.projections.note_visibility import Visibility
from workspaced_events.projections.workspace_state import VaultState

from ..errors import NoteNotFound, ReadFailed, ReferenceOutsideVault, ToolError
from ..limits import CACHE_BYTES_MAX, INDEX_WAIT_S, INDEXED_CHARS_MAX
from ..notes.name_keys import stem
from ..notes.note import Note, NoteFailure, PrivateNote
from ..ports.questions import (
    Incoming,
    IndexState,
    LinkTargets,
    Members,
    Names,
    NoteCount,
    Overview,
    Question,
    R,
    Read,
    Resolve,
    Search,
    SharingTags,
    Similar,
)
from ..ports.vault import (
    Found,
    IncomingLinks,
    LinkName,
    LinkTarget,
    MemberNotes,
    NoteRef,
    Resolution,
    SearchHit,
    SearchQuery,
    SimilarNote,
    TaggedNote,
    VaultOverview,
)
from .files.content_cache import CacheStatistics, ContentCache, NoteRead, stat_key
from .files.ignore_rules import Policy
from .files.kept_rules import RulesKeeper
from .files.note_visibility import NoteVisibility
from .files.safe_open import VaultRoot, missing_note
from .index import queries as searching
from .index.changes import Changes
from .index.crawl import Bounds
from .index.database import IndexLost
from .index.entries import IndexEntry, NamedNote, Withheld, indexed
from .index.full_text import query_words, snippet_of
from .index.index import Index
from .index.indexer import INLINE, Indexer, Progress, was_shown
from .links.backlinks import incoming
from .links.link_targets import LinkResolver
from .links.resolver import IndexLookup, resolve

T = TypeVar("T")
_MEND_ATTEMPTS: Final = 3
_BUSY_S: Final = 0.002
"""This long after a read more are likely: work in this process makes room."""


class Reason(msgspec.Struct, frozen=True):
    """One thing that withholds a note, for people."""

    kind: Literal["rule", "frontMatter", "settling", "missing", "unknown"]
    detail: str


class VaultStatistics(msgspec.Struct, frozen=True, rename="camel"):
    """What `status` shows of a vault."""

    cache: CacheStatistics | msgspec.UnsetType
    """Nothing for agents: what a call moves in it tells whether a guessed note is there."""
    index: Progress
    withheld: int
    """How many notes the share policy withholds."""
    warnings: tuple[str, ...]


class Vault:
    """Implements `VaultSource`. Works before `start` and while the index is built; after `close` reads fail."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        cache_dir: Path | None = None,
        deny: Sequence[str] = (),
        rules_file: Path | None = None,
        cache_bytes_max: int = CACHE_BYTES_MAX,
        index_wait_s: float = INDEX_WAIT_S,
        inline: Bounds = INLINE,
        clock_ns: Callable[[], int] = time.time_ns,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        """An absent folder is no error yet.

        Args:
            path: the vault's folder.
            cache_dir: where the index is kept from one start to the next; without it, it is temporary.
            deny: rules of the share policy that come before the vault's own.
            rules_file: where the rules last in force are kept; without it, only in memory.
            cache_bytes_max: bound of the content cache.
            index_wait_s: how long a look-up waits for an index that is being built.
            inline: how much of a vault is surveyed in this process.
            clock_ns: the wall clock that file times are measured against.
            clock_s: our own clock, which only goes forward.

        Raises:
            RuleInvalid: one of `deny` is no rule.
        """
        self.root: Final = VaultRoot(path)
        keeper = RulesKeeper(rules_file) if rules_file is not None else None
        self.policy: Final = Policy(self.root, deny, keeper=keeper, clock_ns=clock_ns, clock_s=clock_s)
        self.visibility: Final = NoteVisibility(clock_ns=clock_ns, clock_s=clock_s)
        self.index: Final = Index(cache_dir, os.fspath(self.root.path))
        self._cache: Final = ContentCache(
            self.root, bytes_max=cache_bytes_max, clock_ns=clock_ns, withhold_private=True
        )
        self._upkeep: Final = Indexer(
            self.root,
            self.index,
            self.policy,
            self.visibility,
            deny,
            clock_ns=clock_ns,
            clock_s=clock_s,
            is_busy=self._is_busy,
            inline=inline,
        )
        self._index_wait_s = index_wait_s
        self._last_read = 0.0
        self._closing = threading.Lock()
        self._closed = False

    # -- lifecycle --

    def start(self) -> None:
        """Starts building the index on a thread of its own."""
        self._upkeep.start()

    def close(self) -> None:
        """Stops the builder, seals the index and lets files and cache go. Idempotent."""
        with self._closing:
            if self._closed:
                return
            self._closed = True
        self._upkeep.close()
        self._cache.close()
        self.root.close()

    def wait_until_ready(self, timeout_s: float) -> bool:
        """Whether the index knows all names and links, after at most `timeout_s`."""
        return self._upkeep.ready.wait(timeout_s)

    def wait_until_searchable(self, timeout_s: float) -> bool:
        """Whether the index knows all text, after at most `timeout_s`."""
        return self._upkeep.text_ready.wait(timeout_s)

    def changed(self, paths: Iterable[str]) -> Changes:
        """A watcher's hint that these paths (absolute, or relative to the vault) changed; what did change."""
        notes, reconcile = self._asking(lambda: self._upkeep.hinted(paths))
        for note in notes:
            self._cache.evict(note)
        if not reconcile:
            self._asking(lambda: self._upkeep.file(sorted(notes)))
            return self._upkeep.refresh(())
        try:
            return self.reconcile()
        except ReadFailed:
            return Changes()

    def reconcile(self) -> Changes:
        """Compares the vault with the index and files what differs; what that was. Afterwards the index is ready.

        Raises:
            ReadFailed: the folder is absent or cannot be opened, or the index cannot be written.
        """
        return self._upkeep.reconcile()

    def settle(self) -> Changes:
        """Looks again at what had to wait (`due_s`): the ignore rules, notes that may still be being written,
        notes that are missing; what that changed. Reads files."""
        self.policy.refresh()
        self.read(self.visibility.held)
        if self.visibility.wants_search or self.policy.wants_count:
            try:
                return self.reconcile()
            except ReadFailed:
                return Changes()
        return self._asking(lambda: self._upkeep.refresh(self.visibility.held))

    def due_s(self) -> float | None:
        """When, by our own clock, `settle` may find something; None: nothing has to wait."""
        due = [each for each in (self.policy.due_s(), self.visibility.due_s()) if each is not None]
        return min(due, default=None)

    @property
    def error(self) -> str | None:
        """Why the last reconcile failed; None once one succeeded."""
        return self._upkeep.error

    def statistics(self, *, named: bool = True) -> VaultStatistics:
        """Counts, and what is wrong with the vault; `named`: with the names of files and all that may tell of
        withheld ones."""
        progress = self._upkeep.progress()
        warnings = tuple(self._warnings(named=named))
        cache = self._cache.statistics() if named else msgspec.UNSET
        return VaultStatistics(cache, progress, progress.withheld, warnings)

    # -- the share policy --

    def is_withheld(self, note: NoteId) -> bool:
        """Whether a note that the index or the folder names is withheld, as far as is known; touches no file."""
        return self.policy.denies(note) or self.visibility.is_hidden(note)

    def withholds(self, note: NoteId) -> bool:
        """Whether a note that the log names is withheld. One that nobody looked at yet is looked at; of one that
        is gone what is remembered counts, and where nothing is, it is withheld."""
        known = self.known_to_withhold(note)
        return self.look_at(note, guessed=True) if known is None else known

    def look_at(self, note: NoteId, *, guessed: bool = False) -> bool:
        """Reads a note that the log names, so that what is found lasts; whether it is withheld at present.

        `guessed`: an agent may have made the name up, so that it is withheld leaves no trace in the log: a missing
        note would leave none.
        """
        withheld = not isinstance(self.read([note])[0], Note)
        if not withheld or (self.visibility.is_private(note) and not guessed):
            self.visibility.looked_at(note)
        return withheld

    def known_to_withhold(self, note: NoteId) -> bool | None:
        """As `withholds`, without reading; None: nobody looked at the note yet."""
        if self.is_withheld(note):
            return True
        finding = self.visibility.finding(note)
        return None if finding is None else finding is not Visibility.SHOWN

    def renamed(self, old: NoteId, new: NoteId) -> None:
        """The log says that a note moved: it may be shown or not as before."""
        if self.visibility.finding(old) is None and not self.is_withheld(old) and self._was_indexed(old):
            self.visibility.looked_at(old)
        self.visibility.renamed(old, new)

    def has_shown(self, note: NoteId) -> bool:
        """Whether a note that the log names could be shown, now or earlier."""
        return self.visibility.finding(note) in (Visibility.SHOWN, Visibility.WITHDRAWN)

    def is_taken(self, path: NoteId) -> bool:
        """Whether there is a file at exactly this path, withheld or not; opens nothing."""
        try:
            self.root.stat_note(path)
        except ReadFailed:
            return True
        except ToolError:
            return False
        return True

    def why(self, note: NoteId) -> list[Reason]:
        """All that withholds the note at its present path, for the person whose vault it is; nothing where it is
        shown. Reads the file."""
        withheld, rules = self.withholds(note), self.denied(note)
        found = []
        if not rules and self.visibility.is_private(note):
            found.append(Reason("frontMatter", "its front matter withholds it, as it was last read"))
        elif note in self.visibility.held:
            found.append(Reason("settling", "its file changed a moment ago, and may still be being written"))
        elif self.visibility.was_withheld(note):
            found.append(Reason("frontMatter", "its front matter withheld it, as the log remembers"))
        elif self.visibility.is_hidden(note):
            found.append(Reason("missing", "its file is gone, and it may have moved to where it is withheld"))
        elif withheld and not rules:
            found.append(Reason("unknown", "there is no such file, and nothing is known of one"))
        return [*rules, *found]

    def denied(self, path: NoteId) -> list[Reason]:
        """The rule that denies a path, if one does."""
        rule = self.policy.why(path)
        return [] if rule is None else [Reason("rule", rule)]

    @property
    def withholds_some(self) -> bool:
        """Whether a note is, or for all that is known may be, withheld, or was before it was deleted."""
        known = self.index_state() == "ready" and self.policy.problem is None
        return not known or self.visibility.hides_some or self._upkeep.progress().withheld > 0

    @property
    def privacy_version(self) -> int:
        """Another value whenever another note may be withheld."""
        return self.visibility.version

    def _shared(self, found: NoteRead) -> Note | NoteFailure:
        """What was read, as it may leave here: of a withheld note just what a missing one gives."""
        note = found.id
        if isinstance(found, NoteFailure):
            is_missing = found.code == NoteNotFound.code and self.visibility.is_missing(note)
            hidden = self.visibility.is_hidden(note) or self.visibility.was_withheld(note)
            return missing_note(note) if is_missing or hidden else found
        was_hidden = self.visibility.is_hidden(note)
        private = isinstance(found, PrivateNote)
        if not self.visibility.saw(note, found.stat, private=private, was_shown=self._was_indexed):
            if private and not was_hidden:
                self._upkeep.hide(note)
            return missing_note(note)
        if was_hidden:
            self._upkeep.file([note])
        assert isinstance(found, Note)
        return found

    def _was_indexed(self, note: NoteId) -> bool:
        return was_shown(self.index, note)

    # -- questions --

    def ask(self, question: Question[R], state: VaultState) -> R:
        answer: Any
        match question:
            case Read(notes):
                answer = self.read(notes)
            case Resolve(reference):
                answer = self.resolve(reference, state)
            case Names(notes):
                answer = self.names(notes)
            case NoteCount():
                answer = self.note_count()
            case IndexState():
                answer = self.index_state()
            case _:
                answer = self._ask_index(question, state)
        found: R = answer
        return found

    def _ask_index(self, question: Question[Any], state: VaultState) -> Any:
        match question:
            case LinkTargets(source, links):
                return self.link_targets(source, links, state)
            case Incoming(note, limit):
                return self.incoming(note, limit, state)
            case Search(query):
                return self.search(query)
            case Members(folder, tag, limit):
                return self.members(folder, tag, limit)
            case Similar(note, limit):
                return self.similar(note, limit)
            case SharingTags(note, limit):
                return self.sharing_tags(note, limit)
            case Overview(limit):
                return self.overview(limit)
        raise AssertionError(f"No vault answers {question.name!r}.")

    # -- reading --

    def read(self, notes: Sequence[NoteId]) -> list[Note | NoteFailure]:
        self._last_read = time.monotonic()
        # A denied note is not touched, so that it costs what a missing one costs.
        found = {each.id: each for each in self._cache.read_many(self._allowed(notes))}
        return [self._shared(found[note]) if note in found else missing_note(note) for note in notes]

    def read_nonblocking(self, notes: Sequence[NoteId]) -> list[Note | NoteFailure] | None:
        """As `read`, if every note is in the cache and unchanged; else None."""
        self._last_read = time.monotonic()
        read = self._cache.read_nonblocking(self._allowed(notes))
        if read is None or any(self._is_news(each) for each in read):
            return None
        found = {each.id: each for each in read}
        return [self._shared(found[note]) if note in found else missing_note(note) for note in notes]

    def _allowed(self, notes: Sequence[NoteId]) -> list[NoteId]:
        allowed = [note for note in notes if not self.policy.denies(note)]
        if len(allowed) < len(notes):
            for note in set(notes).difference(allowed):
                self.visibility.let_go(note)
        return allowed

    def _is_news(self, found: NoteRead) -> bool:
        """Whether the note turned private, or ceased to be: the index must hear of it, which takes a file."""
        if isinstance(found, NoteFailure):
            return False
        return isinstance(found, PrivateNote) is not self.visibility.is_hidden(found.id)

    def names(self, notes: Sequence[NoteId]) -> list[NoteRef | None]:
        known = self._asking(lambda: self.index.entries(list(notes)))
        fresh = {note: known[note].ref for note in known if self._is_fresh(known[note])}
        others = [note for note in notes if note not in fresh]
        read = {found.id: found for found in self.read(others)}
        refs: list[NoteRef | None] = []
        for note in notes:
            found = read.get(note)
            refs.append(NoteRef(note, found.title, note) if isinstance(found, Note) else fresh.get(note))
        return refs

    def names_nonblocking(self, notes: Sequence[NoteId]) -> list[NoteRef | None] | None:
        """As `names`, if the index knows every note as it is; else None."""
        known = self.index.entries(list(notes))
        if len(known) < len(set(notes)) or not all(map(self._is_fresh, known.values())):
            return None
        return [known[note].ref for note in notes]

    def has(self, note: NoteId) -> bool:
        """Whether there is a file at exactly this path, readable or not, that is not known to be withheld; opens
        nothing."""
        return not self.is_withheld(note) and self.is_taken(note)

    # -- names and links --

    def resolve(self, reference: str, state: VaultState) -> Resolution:
        return self._asking(lambda: self._resolve(reference, state))

    def _resolve(self, reference: str, state: VaultState) -> Resolution:
        found = resolve(reference, _Files(self), state)
        if found.note is None and not found.candidates and not self._upkeep.ready.is_set():
            self._upkeep.ready.wait(self._index_wait_s)  # It may be new since the last start.
            found = resolve(reference, _Files(self), state)
        for _ in range(_MEND_ATTEMPTS):
            refs = [found.note] if found.note is not None else [*found.candidates, *found.near]
            if found.resolved_by == "path" or self._mended([ref.id for ref in refs]):
                break
            found = resolve(reference, _Files(self), state)
        return found

    def link_targets(self, source: NoteId, links: Sequence[LinkName], state: VaultState) -> list[LinkTarget]:
        return self._asking(lambda: self._link_targets(source, links, state))

    def _link_targets(self, source: NoteId, links: Sequence[LinkName], state: VaultState) -> list[LinkTarget]:
        self.await_names()
        for _ in range(_MEND_ATTEMPTS):
            resolver = LinkResolver(IndexLookup(self.index, self.is_withheld), state)
            targets = [resolver.target(source, link) for link in links]
            if self._mended({target.note.id for target in targets if target.note is not None}):
                break
        return targets

    def incoming(self, note: NoteId, limit: int, state: VaultState) -> IncomingLinks:
        return self._asking(lambda: self._incoming(note, limit, state))

    def _incoming(self, note: NoteId, limit: int, state: VaultState) -> IncomingLinks:
        self.await_names()
        entry = self._entry(note)
        if entry is None:
            return IncomingLinks((), 0)
        for _ in range(_MEND_ATTEMPTS):
            found = incoming(entry, limit, state, self.index, IndexLookup(self.index, self.is_withheld))
            if self._mended({link.source.id for link in found.links}):
                break
        return found

    # -- search --

    def search(self, search: SearchQuery) -> Found:
        return self._asking(lambda: self._search(search))

    def _search(self, search: SearchQuery) -> Found:
        self.await_names()
        complete = self._upkeep.text_ready.is_set()
        for attempt in range(_MEND_ATTEMPTS):
            # Where the first were wrong more may be.
            wider = msgspec.structs.replace(search, limit=search.limit * 4**attempt)
            hits, total = searching.search(self.index, wider)
            shown = [hit for hit in hits if not self.is_withheld(hit.note)]
            if self._mended([hit.note for hit in shown]):
                break
        else:
            hits, total = searching.search(self.index, search)
            shown = [hit for hit in hits if not self.is_withheld(hit.note) and self._mended([hit.note])]
        total -= len(hits) - len(shown)
        shown = shown[: search.limit]
        words = query_words(search.words)
        found = [
            SearchHit(NoteRef(note.id, note.title, note.id), *self._snippet(note, words, search), hit.score)
            for hit, note in zip(shown, self.read([hit.note for hit in shown]), strict=True)
            if isinstance(note, Note)
        ]
        return Found(tuple(found), total - (len(shown) - len(found)), complete)

    def _snippet(self, note: Note, words: Sequence[str], search: SearchQuery) -> tuple[int, str]:
        return (1, "") if search.names_only else snippet_of(note, words)

    def members(self, folder: str | None, tag: str | None, limit: int) -> MemberNotes:
        def ask() -> MemberNotes:
            self.await_names()
            for _ in range(_MEND_ATTEMPTS):
                found, total = searching.members(self.index, folder, tag, limit)
                shown = [note for note in found if not self.is_withheld(note)]
                if self._mended(shown):
                    break
            refs = self._refs(shown)
            return MemberNotes(
                tuple(refs[note] for note in shown if note in refs), total - (len(found) - len(refs))
            )

        return self._asking(ask)

    def similar(self, note: NoteId, limit: int) -> list[SimilarNote]:
        def ask() -> list[SimilarNote]:
            [read] = self.read([note])
            if not isinstance(read, Note):
                return []
            self.await_names()
            found = searching.similar(self.index, note, f"{read.title}\n{read.body[:INDEXED_CHARS_MAX]}", limit)
            refs = self._refs([each.note for each in found])
            return [SimilarNote(refs[each.note], each.score, each.words) for each in found if each.note in refs]

        return self._asking(ask)

    def sharing_tags(self, note: NoteId, limit: int) -> list[TaggedNote]:
        def ask() -> list[TaggedNote]:
            self.await_names()
            if self.is_withheld(note):
                return []
            found = searching.sharing_tags(self.index, note, limit)
            refs = self._refs([each.note for each in found])
            return [TaggedNote(refs[each.note], each.words, each.score) for each in found if each.note in refs]

        return self._asking(ask)

    def overview(self, limit: int) -> VaultOverview:
        def ask() -> VaultOverview:
            self.await_names()
            changed = searching.last_changed(self.index, limit)
            refs = self._refs([note for note, _ in changed])
            return VaultOverview(
                self.index.count(),
                self.index.link_count(),
                tuple(searching.top_tags(self.index, limit)),
                tuple((refs[note], mtime_ns) for note, mtime_ns in changed if note in refs),
            )

        return self._asking(ask)

    def note_count(self) -> int:
        return self._upkeep.progress().notes_found

    def index_state(self) -> str:
        return "ready" if self._upkeep.ready.is_set() else "building"

    # -- pieces --

    def await_names(self) -> None:
        """Waits until names and links can be looked up, for a limited time; none of a note the rules withhold."""
        self._upkeep.usable.wait(self._index_wait_s)
        self._upkeep.enforce()

    def _asking(self, ask: Callable[[], T]) -> T:
        """What `ask` gives; where the index failed, once more when it has been made anew."""
        for _ in range(_MEND_ATTEMPTS):
            generation = self.index.file.generation
            try:
                found = ask()
                if generation == self.index.file.generation:
                    return found
            except IndexLost:
                self._upkeep.rebuild(generation)
            self._upkeep.ready.wait(self._index_wait_s)
        return ask()

    def _is_busy(self) -> bool:
        return time.monotonic() - self._last_read < _BUSY_S

    def _is_fresh(self, entry: IndexEntry) -> bool:
        """Whether the file is the version the index knows, and may be shown."""
        if not entry.certain or entry.withheld or self.is_withheld(entry.id):
            return False
        try:
            return stat_key(self.root.stat_note(entry.id)) == entry.stat
        except ToolError:
            return False

    def _mended(self, notes: Iterable[NoteId]) -> bool:
        """Whether the index is true to these notes; where not, it is now, and is to be asked again."""
        wanted = list(notes)
        known = self.index.entries(wanted)
        stale = [note for note in wanted if note not in known or not self._is_fresh(known[note])]
        return not stale or not self._upkeep.file(stale)

    def _refs(self, notes: Sequence[NoteId]) -> dict[NoteId, NoteRef]:
        """The notes' names as they are now; those that are gone or withheld left out."""
        return {note: ref for note, ref in zip(notes, self.names(notes), strict=True) if ref is not None}

    def _entry(self, note: NoteId) -> IndexEntry | None:
        """What is known of `note`, of a file too young for the index from the file itself."""
        entry = self.index.entry(note)
        if entry is None:
            [found] = self.read([note])
            entry = indexed(found, self.policy, certain=False).entry if isinstance(found, Note) else None
        return None if entry is None or entry.withheld is not Withheld.NO or self.is_withheld(note) else entry

    def _warnings(self, *, named: bool) -> Iterable[str]:
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
                shown = f": {', '.join(map(repr, names[:3]))}{', …' if len(names) > 3 else ''}" if named else ""
                yield f"{len(names)} {says}{shown}"


class _Files:
    """The resolver's look-up on the disk for exact paths, which never wait, and in the index for all else."""

    def __init__(self, vault: Vault) -> None:
        self._vault = vault
        self._index = IndexLookup(vault.index, vault.is_withheld)

    def at_path(self, path: NoteId) -> NoteRef | None:
        if not path.isascii() and not unicodedata.is_normalized("NFC", path):
            # The path of a note only where the NFC form is another's; the disk would find it in any case.
            return self._index.at_path(path)
        [found] = self._vault.read([path])
        if isinstance(found, Note):
            return NoteRef(path, found.title, path)
        if found.code == ReferenceOutsideVault.code:
            raise ReferenceOutsideVault(
                found.message, hint="Symlinks are never followed; name a note of the vault."
            )
        # A file that is there but cannot be read is what was meant: reading it will say why.
        return NoteRef(path, stem(path), path) if found.code == ReadFailed.code else None

    def named(self, name_key: str) -> Sequence[NamedNote]:
        self._vault.await_names()
        return self._index.named(name_key)

    def near(self, name: str, limit: int) -> Sequence[NamedNote]:
        return self._index.near(name, limit)
