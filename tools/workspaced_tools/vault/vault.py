"""`Vault`: one vault as tools see it, over its folder, content cache, index and share policy; a `VaultSource`.

The index answers quickly but may lag behind the files. Therefore the vault checks each note that the index names
on disk before it names the note to an agent; if the index was wrong, the vault updates it and asks again. An
answer never names a missing or withheld note: every note that the vault returns went through `_shared`.

What the vault answers is shown unasked, so notes for explicit requests only do not exist here; `requested_vault`
answers for agents that name one. Where a method takes `least`, it is the least level that its audience is shown.
"""

import os
import threading
import time
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Literal, TypeVar

import msgspec

from workspaced_events.ids import NoteId
from workspaced_events.projections.note_visibility import Visibility
from workspaced_events.projections.workspace_state import VaultState

from ..code.outline import CodeOutline, outline_of_code
from ..errors import NoteNotFound, ReadFailed, ReferenceOutsideVault, ToolError
from ..limits import CACHE_BYTES_MAX, HITS_COMPARED_MAX, INDEX_WAIT_S, INDEXED_CHARS_MAX
from ..notes.name_keys import stem
from ..notes.note import Level, Note, NoteFailure, PrivateNote, readable
from ..notes.privacy_flag import HEAD_BYTES, flag_line, level_of
from ..notes.snippet import Snippets
from ..ports.images import NoteImages
from ..ports.questions import (
    Images,
    Incoming,
    IndexState,
    LinkTargets,
    Members,
    Names,
    NamesLike,
    NoteCount,
    Outline,
    Overview,
    Question,
    R,
    Read,
    Resolve,
    ResolveFrom,
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
    NamesFound,
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
from .files.note_levels import NoteLevels
from .files.safe_open import VaultRoot, missing_note
from .files.selected_files import MARKDOWN_ONLY, FileChoice, SelectedFiles
from .files.stored_rules import RulesStore
from .images.embedded import EmbeddedImages
from .images.gate import ImageGate
from .index import queries
from .index.changes import Changes
from .index.crawl import Bounds
from .index.database import IndexLost, requested
from .index.entries import IndexEntry, NamedNote, Withheld, indexed
from .index.index import Index
from .index.indexer import INLINE, Indexer, Progress, was_requestable, was_shown
from .index.search import NEVER, search
from .index.similarity import similar
from .links.backlinks import incoming
from .links.followed_references import resolve_from
from .links.link_targets import LinkResolver
from .links.name_completion import names_like
from .links.resolver import IndexLookup, Lookup, WithNote, resolve
from .young_folder import file_young_notes

T = TypeVar("T")
_VOLUNTEER: Final = Level.VOLUNTEER
"""A member of an enum takes longer to look up than to compare."""
_UPDATE_ATTEMPTS: Final = 3
_BUSY_S: Final = 0.002
"""For this long after a read the index builder pauses, because more reads are likely."""


class Reason(msgspec.Struct, frozen=True):
    """One reason why a note is not volunteered, for people."""

    kind: Literal["rule", "frontMatter", "settling", "missing", "unknown"]
    detail: str
    level: Literal["never", "on-request"] = "never"
    """How far the note may go by this reason alone."""


class VaultStatistics(msgspec.Struct, frozen=True, rename="camel"):
    """The part of `status` about one vault."""

    cache: CacheStatistics | msgspec.UnsetType
    """Unset for agents: the effect of a call on the cache would reveal whether a guessed note exists."""
    index: Progress
    withheld: int
    """The number of withheld notes."""
    warnings: tuple[str, ...]


class Vault:
    """Implements `VaultSource`. Works before `start` and while the index is built; after `close` reads fail."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        files: FileChoice = MARKDOWN_ONLY,
        cache_dir: Path | None = None,
        deny: Sequence[str] = (),
        on_request: Sequence[str] = (),
        rules_file: Path | None = None,
        cache_bytes_max: int = CACHE_BYTES_MAX,
        index_wait_s: float = INDEX_WAIT_S,
        inline: Bounds = INLINE,
        on_compared: Callable[[], object] = lambda: None,
        clock_ns: Callable[[], int] = time.time_ns,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        """The folder may be missing at this point.

        Args:
            path: the vault's folder.
            files: the files that are notes beside Markdown.
            cache_dir: the directory that keeps the index between starts; None: the index is temporary.
            deny: rules of the share policy that come before the vault's own.
            on_request: rules for notes that are shown on explicit request only.
            rules_file: the file that keeps the rules last in force; None: they are only in memory.
            cache_bytes_max: the limit of the content cache.
            index_wait_s: how long a look-up waits for an index that is being built.
            inline: how much of a vault is crawled in this process.
            on_compared: called after all files were compared with the index, on the thread that did; the memory
                that only this needed is free.
            clock_ns: the wall clock to compare file times with.
            clock_s: a monotonic clock.

        Raises:
            RuleInvalid: one of `deny`, `on_request` or `files.globs` is invalid.
        """
        self.root: Final = VaultRoot(path, SelectedFiles(files))
        keeper = RulesStore(rules_file) if rules_file is not None else None
        self.policy: Final = Policy(self.root, deny, on_request, keeper=keeper, clock_ns=clock_ns, clock_s=clock_s)
        self.levels: Final = NoteLevels(self.policy, clock_ns=clock_ns, clock_s=clock_s)
        self.visibility: Final = self.levels.volunteered
        name = os.fspath(self.root.path)
        files_digest = self.root.selected.digest
        self.index: Final = Index(cache_dir, name, files_digest)
        self.requested: Final = Index(cache_dir, requested(name), files_digest)
        """The index of the notes that are shown on explicit request only."""
        self._cache: Final = ContentCache(
            self.root, bytes_max=cache_bytes_max, clock_ns=clock_ns, withhold_private=True
        )
        self._indexer: Final = Indexer(
            self.root,
            self.index,
            self.requested,
            self.policy,
            self.levels,
            clock_ns=clock_ns,
            clock_s=clock_s,
            is_busy=self._is_busy,
            inline=inline,
            on_compared=on_compared,
        )
        self._image_gates = {least: self._image_gate(least) for least in (Level.ON_REQUEST, Level.VOLUNTEER)}
        self._index_wait_s = index_wait_s
        self._last_read = 0.0
        self._closing = threading.Lock()
        self._closed = False

    # -- lifecycle --

    def start(self) -> None:
        """Starts building the index on a thread of its own."""
        self._indexer.start()

    def close(self) -> None:
        """Stops the index builder, seals the index, and releases files and cache. Idempotent."""
        with self._closing:
            if self._closed:
                return
            self._closed = True
        self._indexer.close()
        self._cache.close()
        self.root.close()

    def wait_until_ready(self, timeout_s: float) -> bool:
        """Waits at most `timeout_s` until the index has all names and links; returns whether it has."""
        return self._indexer.ready.wait(timeout_s)

    def wait_until_searchable(self, timeout_s: float) -> bool:
        """Waits at most `timeout_s` until the index has all text; returns whether it has."""
        return self._indexer.text_ready.wait(timeout_s)

    def changed(self, paths: Iterable[str]) -> Changes:
        """Handles a watcher's hint that these paths (absolute, or relative to the vault) changed.

        Returns:
            The actual changes.
        """
        paths = list(paths)
        notes, reconcile = self._asking(lambda: self._indexer.hinted(paths))
        for note in notes:
            self._cache.evict(note)
        if not reconcile:
            self._asking(lambda: self._indexer.file(sorted(notes)))
            # After the notes: one of them may withhold an image that came with it.
            self._asking(lambda: self._indexer.file_images(paths))
            return self._indexer.refresh(())
        try:
            return self.reconcile()
        except ReadFailed:
            return Changes()

    def reconcile(self) -> Changes:
        """Compares the vault with the index and updates the index, which is then ready. Returns the changes.

        Raises:
            ReadFailed: the folder is absent or cannot be opened, or the index cannot be written.
        """
        return self._indexer.reconcile()

    def settle(self) -> Changes:
        """Repeats the checks that had to wait (`due_s`), and returns the changes. Reads files.

        The checks are about the ignore rules, notes that may still be being written, and missing notes.
        """
        self.policy.refresh()
        self.read(self.levels.held)
        if self.visibility.wants_search or self.policy.wants_count:
            try:
                return self.reconcile()
            except ReadFailed:
                return Changes()
        return self._asking(lambda: self._indexer.refresh(self.levels.held))

    def due_s(self) -> float | None:
        """The time, by the monotonic clock, at which `settle` may find changes; None: nothing waits."""
        due = [each for each in (self.policy.due_s(), self.levels.due_s()) if each is not None]
        return min(due, default=None)

    @property
    def error(self) -> str | None:
        """Why the last reconcile failed; None once one succeeded."""
        return self._indexer.error

    def statistics(self, *, named: bool = True) -> VaultStatistics:
        """Counts and warnings. `named`: include names of files and counts that may reveal withheld notes."""
        progress = self._indexer.progress()
        if not named:
            progress = msgspec.structs.replace(
                progress, withheld=progress.withheld - self._indexer.requested_count
            )
        warnings = tuple(self._warnings(named=named))
        cache = self._cache.statistics() if named else msgspec.UNSET
        return VaultStatistics(cache, progress, progress.withheld, warnings)

    # -- the share policy --

    def is_withheld(self, note: NoteId, least: Level = Level.VOLUNTEER) -> bool:
        """Whether a note that the index or the folder names is known to be withheld. Touches no file."""
        if least is _VOLUNTEER:
            return self.policy.denies(note) or self.visibility.is_hidden(note)
        return self.levels.level(note) < least

    def withholds(self, note: NoteId, least: Level = Level.VOLUNTEER) -> bool:
        """Whether a note that the log names is withheld. Reads a note that was never read.

        For a missing note the remembered finding counts. A missing note without a finding is withheld.
        """
        known = self.known_to_withhold(note, least)
        if known is not None:
            return known
        if self.visibility.finding(note) is None and not self.look_at(note, guessed=True):
            return False
        return least is Level.VOLUNTEER or not isinstance(self.read([note], least)[0], Note)

    def look_at(self, note: NoteId, *, guessed: bool = False) -> bool:
        """Reads a note that the log names, records the finding, and returns whether the note is withheld.

        Args:
            guessed: an agent may have invented the name. Then a finding that the note is withheld is not recorded,
                because a missing note would leave no record either.
        """
        withheld = not isinstance(self.read([note])[0], Note)
        if not withheld or (self.visibility.is_private(note) and not guessed):
            self.visibility.looked_at(note)
        return withheld

    def known_to_withhold(self, note: NoteId, least: Level = Level.VOLUNTEER) -> bool | None:
        """As `withholds`, without reading; None: the note must be read."""
        if self.is_withheld(note, least):
            return True
        finding = self.visibility.finding(note)
        if least is Level.VOLUNTEER:
            return None if finding is None else finding is not Visibility.SHOWN
        return False if finding is Visibility.SHOWN and not self.is_withheld(note) else None

    def renamed(self, old: NoteId, new: NoteId) -> None:
        """Handles a rename that the log records: what was found about the old path holds for the new one."""
        if self.visibility.finding(old) is None and not self.is_withheld(old) and self._was_indexed(old):
            self.visibility.looked_at(old)
        self.levels.renamed(old, new)

    def has_shown(self, note: NoteId) -> bool:
        """Whether a note that the log names may be shown now, or was shown earlier."""
        return self.visibility.finding(note) in (Visibility.SHOWN, Visibility.WITHDRAWN)

    def is_taken(self, path: NoteId) -> bool:
        """Whether a file has exactly this path, withheld or not. Opens no file."""
        try:
            self.root.stat_note(path)
        except ReadFailed:
            return True
        except ToolError:
            return False
        return True

    def level(self, note: NoteId) -> Level:
        """How far the note at its present path may go. Reads the file."""
        if not self.withholds(note):
            return Level.VOLUNTEER
        return Level.NEVER if self.withholds(note, Level.ON_REQUEST) else Level.ON_REQUEST

    def why(self, note: NoteId) -> list[Reason]:
        """All reasons why the note at its present path is not volunteered, for the vault's owner. Reads the file.

        Empty if it is.
        """
        level, rules = self.level(note), self.denied(note)
        found = []
        if flagged := self._flagged(note):
            found.append(flagged)
        elif note in self.levels.held:
            never = note in self.levels.requested.held
            detail = "its file changed a moment ago, and may still be being written"
            found.append(Reason("settling", detail, "never" if never else "on-request"))
        elif not rules and self.visibility.was_withheld(note):
            found.append(Reason("frontMatter", "its front matter withheld it, as the log remembers"))
        elif not rules and self.visibility.is_hidden(note):
            found.append(Reason("missing", "its file is gone, and it may have moved to where it is withheld"))
        elif level is Level.NEVER and not any(each.level == "never" for each in rules):
            found.append(Reason("unknown", "there is no such file, and nothing is known of one"))
        return [*rules, *found]

    def _flagged(self, note: NoteId) -> Reason | None:
        """The reason in the note's front matter, as it was last read."""
        if not self.visibility.is_private(note) and not self.levels.requested.is_private(note):
            return None
        line = None
        with suppress(ToolError, OSError):
            descriptor = self.root.open_note(note)
            try:
                line = flag_line(os.read(descriptor, HEAD_BYTES))
            finally:
                os.close(descriptor)
        never = self.levels.requested.is_private(note)
        detail = f"its front matter{f', line {line},' if line else ''} withholds it, as it was last read"
        return Reason("frontMatter", detail, "never" if never else "on-request")

    def denied(self, path: NoteId) -> list[Reason]:
        """The rule that denies a path, if there is one."""
        rule, level = self.policy.why(path), self.policy.level(path)
        return [] if rule is None else [Reason("rule", rule, "never" if level is Level.NEVER else "on-request")]

    @property
    def withholds_some(self) -> bool:
        """Whether a note is withheld, may be withheld as far as known, or was withheld before its deletion."""
        known = self.index_state() == "ready" and self.policy.problem is None
        return not known or self.visibility.hides_some or self._indexer.progress().withheld > 0

    @property
    def privacy_version(self) -> int:
        """A number that changes whenever the set of withheld notes may have changed."""
        return self.levels.version

    @property
    def has_requested(self) -> bool:
        """Whether any note is known to be for explicit requests only."""
        return self.requested.count() > 0

    def requested_entry(self, note: NoteId) -> IndexEntry | None:
        """The names of a note that is for explicit requests only; None: there is none, or it is withheld."""
        return self._asking(lambda: self._entry(note, Level.ON_REQUEST))

    def volunteers(self, note: NoteId) -> bool:
        """Whether the note is known to be one that may be shown unasked: false also where its file or the rules
        have changed since they were read. Opens no file, but costs two stats, which a dead mount never answers."""
        try:
            entry = self.index.entry(note) if not self.is_withheld(note) else None
            if entry is None or entry.withheld or not self.policy.is_as_read():
                return False
            return entry.stat == stat_key(self.root.stat_note(note))
        except (IndexLost, ToolError):
            return False

    def _shared(self, found: NoteRead, least: Level) -> Note | NoteFailure:
        """The result of a read for the caller. A withheld note gives exactly the result of a missing note."""
        if isinstance(found, NoteFailure):
            return self._failed(found)
        note, flagged, ruled = found.id, _flagged(found), self.policy.level(found.id)
        is_open = ruled is _VOLUNTEER and not self.visibility.is_hidden(note)
        before = ruled if is_open else self.levels.level(note)
        level = self.levels.saw(
            note,
            found.stat,
            ruled=ruled,
            flagged=flagged,
            was_shown=self._was_indexed,
            was_requestable=self._was_requestable,
        )
        if level is not before:
            if flagged is Level.NEVER:
                self._indexer.hide(note)
            elif level > before or flagged is Level.ON_REQUEST:
                self._indexer.file([note])
        return found if level >= least and isinstance(found, Note) else missing_note(note)

    def _failed(self, found: NoteFailure) -> NoteFailure:
        note = found.id
        self.levels.requested.let_go(note)
        if self.policy.denies(note):
            return missing_note(note)
        is_missing = found.code == NoteNotFound.code and self.visibility.is_missing(note)
        hidden = self.visibility.is_hidden(note) or self.visibility.was_withheld(note)
        return missing_note(note) if is_missing or hidden else found

    def _was_indexed(self, note: NoteId) -> bool:
        return was_shown(self.index, note)

    def _was_requestable(self, note: NoteId) -> bool:
        return was_requestable(self.index, self.requested, note)

    # -- questions --

    def ask(self, question: Question[R], state: VaultState) -> R:
        answer: Any
        match question:
            case Read(notes):
                answer = [readable(each) for each in self.read(notes)]
            case Resolve(reference):
                answer = self.resolve(reference, state)
            case ResolveFrom(reference, source):
                answer = self.resolve_from(reference, source, state)
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
            case NamesLike(prefix, limit):
                return self.names_like(prefix, limit, state)
            case Images(note):
                return self.images(note)
            case Outline(note):
                return self.outline(note)
            case Search(query):
                return self.search(query, state.recents)
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

    def read(self, notes: Sequence[NoteId], least: Level = Level.VOLUNTEER) -> list[Note | NoteFailure]:
        self._last_read = time.monotonic()
        # Reading a denied note must take no longer than reading a missing one, so its file is not touched.
        found = {each.id: each for each in self._cache.read_many(self._allowed(notes, least))}
        return [self._shared(found[note], least) if note in found else missing_note(note) for note in notes]

    def read_nonblocking(
        self, notes: Sequence[NoteId], least: Level = Level.VOLUNTEER
    ) -> list[Note | NoteFailure] | None:
        """As `read` if the content cache answers without blocking, otherwise None."""
        self._last_read = time.monotonic()
        read = self._cache.read_nonblocking(self._allowed(notes, least))
        if read is None or any(self._changed_level(each) for each in read):
            return None
        found = {each.id: each for each in read}
        return [self._shared(found[note], least) if note in found else missing_note(note) for note in notes]

    def _allowed(self, notes: Sequence[NoteId], least: Level) -> list[NoteId]:
        allowed = [note for note in notes if self.policy.level(note) >= least]
        if len(allowed) < len(notes):
            for note in set(notes).difference(allowed):
                self.visibility.let_go(note)
        return allowed

    def _changed_level(self, found: NoteRead) -> bool:
        """Whether the note's level changed. The index then needs an update, which may block."""
        if isinstance(found, NoteFailure):
            return False
        flagged = _flagged(found)
        if flagged is _VOLUNTEER and not self.policy.denies(found.id):
            return self.visibility.is_hidden(found.id)
        return min(self.policy.level(found.id), flagged) is not self.levels.level(found.id)

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
        """As `names` if the index has the present version of every note, otherwise None."""
        known = self.index.entries(list(notes))
        if len(known) < len(set(notes)) or not all(map(self._is_fresh, known.values())):
            return None
        return [known[note].ref for note in notes]

    def has(self, note: NoteId, least: Level = Level.VOLUNTEER) -> bool:
        """Whether a file, even an unreadable one, has exactly this path and is not known to be withheld.

        Opens no file.
        """
        return not self.is_withheld(note, least) and self.is_taken(note)

    # -- names and links --

    def resolve(self, reference: str, state: VaultState, least: Level = Level.VOLUNTEER) -> Resolution:
        return self._asking(lambda: self._resolved(lambda lookup: resolve(reference, lookup, state), least))

    def resolve_from(
        self,
        reference: str,
        source: str,
        state: VaultState,
        least: Level = Level.VOLUNTEER,
        own: NamedNote | None = None,
    ) -> Resolution:
        """`own`: the note that `source` names, if it is for explicit requests only."""

        def look(lookup: Lookup) -> Resolution:
            return resolve_from(reference, source, lookup, state)

        return self._asking(lambda: self._resolved(look, least, own))

    def _resolved(
        self, look: Callable[[Lookup], Resolution], least: Level, own: NamedNote | None = None
    ) -> Resolution:
        """The result of `look`, checked against the files. Waits for the index if the result depends on it."""
        ready = self._indexer.ready.is_set()
        found = look(_Files(self, least, own))
        if not ready and not found.complete:
            ready = self._indexer.ready.wait(self._index_wait_s)  # The note may be newer than the stored index.
            found = look(_Files(self, least, own))
        for _ in range(_UPDATE_ATTEMPTS):
            refs = [found.note] if found.note is not None else [*found.candidates, *found.near]
            others = [ref.id for ref in refs if own is None or ref.id != own.id]
            if found.resolved_by == "path" or self._is_indexed(others, least):
                break
            found = look(_Files(self, least, own))
        return msgspec.structs.replace(found, complete=found.complete or ready)

    def link_targets(
        self, source: NoteId, links: Sequence[LinkName], state: VaultState, least: Level = Level.VOLUNTEER
    ) -> list[LinkTarget]:
        """`least`: of the source. Every other note is one that may be shown unasked."""

        def ask() -> list[LinkTarget]:
            self.await_names()
            own = self._entry(source, least) if least is not Level.VOLUNTEER else None
            for _ in range(_UPDATE_ATTEMPTS):
                resolver = LinkResolver(self.lookup_with(own), state)
                targets = [resolver.target(source, link) for link in links]
                others = {target.note.id for target in targets if target.note is not None} - {source}
                if self._is_indexed(others):
                    break
            return targets

        return self._asking(ask)

    def incoming(
        self, note: NoteId, limit: int, state: VaultState, least: Level = Level.VOLUNTEER
    ) -> IncomingLinks:
        """`least`: of the note. Every other note is one that may be shown unasked."""
        return self._asking(lambda: self._incoming(note, limit, state, least))

    def _incoming(self, note: NoteId, limit: int, state: VaultState, least: Level) -> IncomingLinks:
        self.await_names()
        entry = self._entry(note, least)
        if entry is None:
            return IncomingLinks((), 0)
        own = entry if least is not Level.VOLUNTEER else None
        for _ in range(_UPDATE_ATTEMPTS):
            found = incoming(entry, limit, state, self.index, self.lookup_with(own))
            if self._is_indexed({link.source.id for link in found.links}):
                break
        return found

    def names_like(self, prefix: str, limit: int, state: VaultState) -> NamesFound:
        def ask() -> NamesFound:
            self.await_names()
            for _ in range(_UPDATE_ATTEMPTS):
                complete = self._indexer.text_ready.is_set()
                found = names_like(prefix, limit, state, self.index, self.is_withheld)
                if self._is_indexed([hit.note.id for hit in found]):
                    break
            return NamesFound(tuple(found), complete)

        return self._asking(ask)

    def lookup_with(self, own: NamedNote | None) -> IndexLookup:
        """A look-up in the index that finds `own` whatever its level."""
        lookup = IndexLookup(self.index, self.is_withheld)
        return lookup if own is None else WithNote(lookup, own)

    # -- images --

    def _image_gate(self, least: Level) -> ImageGate:
        return ImageGate(
            self.index,
            self.policy,
            lambda note: self.is_withheld(note, least),
            lambda notes: self._is_indexed(notes, least),
            least,
        )

    def images(self, note: NoteId, least: Level = Level.VOLUNTEER) -> NoteImages:
        """The images that a note embeds. Waits for the index; while it is not complete, no image is shown."""
        [found] = self.read([note], least)
        if not isinstance(found, Note):
            return NoteImages()
        self.await_names()
        self._indexer.ready.wait(self._index_wait_s)
        images = EmbeddedImages(self.root, self._indexer, self._image_gates[least])
        return self._asking(lambda: images.of(found, complete=self._indexer.is_complete))

    def outline(self, note: NoteId, least: Level = Level.VOLUNTEER) -> CodeOutline:
        """The definitions in a note that is no Markdown; kept with the note's version."""
        [found] = self.read([note], least)
        if not isinstance(found, Note) or found.is_markdown:
            return CodeOutline()
        known: CodeOutline | None = vars(found).get("outline")
        if known is None:
            known = outline_of_code(note, found.source)
            if known.missing != "failed":
                vars(found)["outline"] = known
        return known

    def withholds_image(self, path: str, least: Level = Level.VOLUNTEER) -> bool:
        """Whether the image at `path` is withheld, as far as known. Touches no file of the vault."""
        gate = self._image_gates[least]
        return self._asking(lambda: not self._indexer.is_complete or gate.withholds(path))

    # -- search --

    def search(
        self, query: SearchQuery, visited: Mapping[NoteId, str] = NEVER, least: Level = Level.VOLUNTEER
    ) -> Found:
        """The hits among the notes of the level `least` alone.

        `visited`: when the user last visited notes; later times sort later.
        """
        return self._asking(lambda: self._search(query, visited, least))

    def _search(self, query: SearchQuery, visited: Mapping[NoteId, str], least: Level) -> Found:
        self.await_names()
        index = self.index if least is Level.VOLUNTEER else self.requested
        complete = self._indexer.text_ready.is_set()
        for attempt in range(_UPDATE_ATTEMPTS):
            # After a wrong hit more hits may be wrong, so ask for more of them.
            # A hit beyond the limit counts in the total, where a note must not show that turned private.
            limit = max(query.limit * 4**attempt, HITS_COMPARED_MAX)
            wider = msgspec.structs.replace(query, limit=limit)
            found = search(index, wider, visited)
            shown = [hit for hit in found.hits if not self.is_withheld(hit.note, least)]
            if self._is_indexed([hit.note for hit in shown], least):
                break
        else:
            found = search(index, query, visited)
            shown = [
                hit
                for hit in found.hits
                if not self.is_withheld(hit.note, least) and self._is_indexed([hit.note], least)
            ]
        total = found.total - (len(found.hits) - len(shown))
        shown = shown[: query.limit]
        snippets = Snippets(() if query.names_only else found.meant.terms)
        hits = [
            SearchHit(NoteRef(note.id, note.title, note.id), *snippets.of(note), hit.score)
            for hit, note in zip(shown, self.read([hit.note for hit in shown], least), strict=True)
            if isinstance(note, Note)
        ]
        return Found(tuple(hits), total - (len(shown) - len(hits)), complete, found.is_exact, found.as_text)

    def members(self, folder: str | None, tag: str | None, limit: int) -> MemberNotes:
        def ask() -> MemberNotes:
            self.await_names()
            if folder is not None:
                file_young_notes(self.root, folder, self.index, self._indexer, self.levels)
            for _ in range(_UPDATE_ATTEMPTS):
                found, total = queries.members(self.index, folder, tag, limit)
                shown = [note for note in found if not self.is_withheld(note)]
                if self._is_indexed(shown):
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
            text = f"{read.title}\n{read.body[:INDEXED_CHARS_MAX]}"
            for _ in range(_UPDATE_ATTEMPTS):
                found = similar(self.index, note, text, limit)
                # A note that turned private a moment ago must not show in the weights of words.
                if self._is_indexed([each for each in found.compared if not self.is_withheld(each)]):
                    break
            refs = self._refs([each.note for each in found.notes])
            return [
                SimilarNote(refs[each.note], each.score, each.words) for each in found.notes if each.note in refs
            ]

        return self._asking(ask)

    def sharing_tags(self, note: NoteId, limit: int) -> list[TaggedNote]:
        def ask() -> list[TaggedNote]:
            self.await_names()
            if self.is_withheld(note):
                return []
            found = queries.sharing_tags(self.index, note, limit)
            refs = self._refs([each.note for each in found])
            return [TaggedNote(refs[each.note], each.words, each.score) for each in found if each.note in refs]

        return self._asking(ask)

    def overview(self, limit: int) -> VaultOverview:
        def ask() -> VaultOverview:
            self.await_names()
            changed = queries.last_changed(self.index, limit)
            refs = self._refs([note for note, _ in changed])
            return VaultOverview(
                self.index.count(),
                self.index.link_count(),
                tuple(queries.top_tags(self.index, limit)),
                tuple((refs[note], mtime_ns) for note, mtime_ns in changed if note in refs),
            )

        return self._asking(ask)

    def note_count(self) -> int:
        return self._indexer.progress().notes_found

    def index_state(self) -> str:
        return "ready" if self._indexer.ready.is_set() else "building"

    # -- helpers --

    def await_names(self) -> None:
        """Waits a limited time until the index can look up names and links, then removes denied notes from it."""
        self._indexer.usable.wait(self._index_wait_s)
        self._indexer.enforce()

    def _asking(self, ask: Callable[[], T]) -> T:
        """Calls `ask`; if the index fails, rebuilds the index and calls `ask` again."""
        for _ in range(_UPDATE_ATTEMPTS):
            generation = self.index.file.generation
            try:
                found = ask()
                if generation == self.index.file.generation:
                    return found
            except IndexLost:
                self._indexer.rebuild(generation)
            self._indexer.ready.wait(self._index_wait_s)
        return ask()

    def _is_busy(self) -> bool:
        return time.monotonic() - self._last_read < _BUSY_S

    def _is_fresh(self, entry: IndexEntry, least: Level = Level.VOLUNTEER) -> bool:
        """Whether the index has the file's present version, and the note may be shown."""
        if not entry.certain or entry.withheld or self.is_withheld(entry.id, least):
            return False
        try:
            return stat_key(self.root.stat_note(entry.id)) == entry.stat
        except ToolError:
            return False

    def _is_indexed(self, notes: Iterable[NoteId], least: Level = Level.VOLUNTEER) -> bool:
        """Whether the indexes have the present versions of these notes.

        If not, updates the index and returns False: the caller asks the index again. Returns True if the update
        changed nothing.
        """
        wanted = list(notes)
        known = self.index.entries(wanted)
        stale = [note for note in wanted if note not in known or not self._is_fresh(known[note])]
        if stale and least is not Level.VOLUNTEER:
            known = self.requested.entries(stale)
            stale = [note for note in stale if note not in known or not self._is_fresh(known[note], least)]
        return not stale or not self._indexer.file(stale)

    def _refs(self, notes: Sequence[NoteId]) -> dict[NoteId, NoteRef]:
        """The present names of the notes, without missing and withheld notes."""
        return {note: ref for note, ref in zip(notes, self.names(notes), strict=True) if ref is not None}

    def _entry(self, note: NoteId, least: Level) -> IndexEntry | None:
        """The index entry of a note; for a file that is not indexed yet, the entry made from the file itself."""
        entry = (self.index if least is Level.VOLUNTEER else self.requested).entry(note)
        if entry is None:
            [found] = self.read([note], least)
            entry = indexed(found, self.policy, certain=False).entry if isinstance(found, Note) else None
        is_shown = entry is not None and (entry.withheld is Withheld.NO or least is not Level.VOLUNTEER)
        return entry if is_shown and not self.is_withheld(note, least) else None

    def _warnings(self, *, named: bool) -> Iterable[str]:
        report = self._indexer.report
        if self._indexer.error is not None:
            yield self._indexer.error
        for names, problem in (
            (report.undecodable, "names are not UTF-8; these files are no notes"),
            (report.special, "are called *.md but are no regular files"),
            (report.too_deep, "lie too deep or have too long paths"),
            (report.unreadable, "are folders that cannot be opened"),
            (report.same_name, "differ from another note's path only in Unicode normalisation"),
        ):
            if names:
                shown = f": {', '.join(map(repr, names[:3]))}{', …' if len(names) > 3 else ''}" if named else ""
                yield f"{len(names)} {problem}{shown}"


def _flagged(found: Note | PrivateNote) -> Level:
    """The level by the front matter."""
    return level_of(found) if isinstance(found, Note) else Level.NEVER


class _Files:
    """The resolver's look-up: on disk for exact paths, which never wait, and in the index for everything else."""

    paths_by_name: Final = False

    def __init__(self, vault: Vault, least: Level, own: NamedNote | None) -> None:
        """`own`: a note that is found whatever its level."""
        self._vault = vault
        self._least = least
        self._own = own
        self._index = vault.lookup_with(own)
        self._requested = IndexLookup(vault.requested, lambda note: vault.is_withheld(note, least))

    def at_path(self, path: NoteId) -> NoteRef | None:
        if not self._vault.root.selected.may_hold(path):
            return None
        if not path.isascii() and not unicodedata.is_normalized("NFC", path):
            # A path that is not NFC names a note only if another note has the NFC form; the disk finds it always.
            return self._index.at_path(path)
        if self._own is not None and path == self._own.id:
            return self._own.ref
        [found] = self._vault.read([path], self._least)
        if isinstance(found, Note):
            return NoteRef(path, found.title, path)
        if found.code == ReferenceOutsideVault.code:
            raise ReferenceOutsideVault(
                found.message, hint="Symlinks are never followed; name a note of the vault."
            )
        # The reference means a file that exists but cannot be read. Reading it later reports the reason.
        return NoteRef(path, stem(path), path) if found.code == ReadFailed.code else None

    def named(self, name_key: str) -> Sequence[NamedNote]:
        self._vault.await_names()
        found = self._index.named(name_key)
        return found if self._least is Level.VOLUNTEER else [*found, *self._requested.named(name_key)]

    def near(self, name: str, limit: int) -> Sequence[NamedNote]:
        return self._index.near(name, limit)
