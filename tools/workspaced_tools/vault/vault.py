"""`Vault`: one vault as tools see it, over its folder, content cache, index and share policy; a `VaultSource`.

It is put together of parts: `notes` reads what may be shown, and checks on disk what the index says; `files` are
those that are no notes; `links` and `searches` answer from them. An answer never names a missing or withheld note.

Where a method takes `least`, it is the least level that its audience is shown. To the audience that is shown notes
unasked, those for explicit requests only do not exist. To agents that ask explicitly they exist where the question
itself means them: as what a path or reference names, and among the hits of a search. In what is said about another
note they do not.
"""

import os
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from workspaced_events.ids import NoteId
from workspaced_events.projections.note_visibility import Visibility
from workspaced_events.projections.workspace_state import VaultState

from ..code.outline import CodeOutline, outline_of_code
from ..errors import ReadFailed, ToolError
from ..limits import CACHE_BYTES_MAX, INDEX_WAIT_S, SETTLE_S
from ..notes.formats.kinds import PDF, is_image_name, kind_of
from ..notes.note import Level, Note, NoteFailure, readable
from ..ports import questions as q
from ..ports.asking import UNASKED, Audience, check_may_wait
from ..ports.vault import NoteImages, NoteRef
from .files.content_cache import CacheStatistics, ContentCache, stat_key
from .files.glob_rules import IdleRule, idle_rules
from .files.ignore_rules import Policy, RulesStore
from .files.note_levels import NoteLevels
from .files.pdf_texts import PdfTexts
from .files.safe_open import VaultRoot, missing_note
from .files.selected_files import ALL_DEFAULT, FileChoice, SelectedFiles
from .images.reading import read_image
from .index.changes import Changes
from .index.crawl import Bounds
from .index.database import IndexLost, requested
from .index.files import all_files
from .index.index import Index
from .index.indexer import INLINE, Indexer, Progress
from .link_answers import LinkAnswers
from .other_files import OtherFiles, file_at
from .search_answers import SearchAnswers
from .shared_notes import SharedNotes
from .withholding_reasons import Reason, UnclearFlag, reasons, unclear_flags

_BUSY_S: Final = 0.002
"""For this long after a read the index builder pauses, because more reads are likely."""


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
        files: FileChoice = ALL_DEFAULT,
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
            files: the text files that are notes beside Markdown and canvases.
            cache_dir: the directory that keeps the index between starts; None: the index is temporary.
            deny: rules of the share policy that come before the vault's own.
            on_request: rules for notes that are shown on explicit request only.
            rules_file: the file that keeps the rules last in force; None: they are only in memory.
            cache_bytes_max: the limit of the content cache.
            index_wait_s: how long after its beginning look-ups wait for an index that is being built.
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
        self._pdfs: Final = PdfTexts(self.root)
        self.notes: Final = SharedNotes(
            self.root, self._cache, self.levels, self.index, self.requested, self._indexer, index_wait_s
        )
        self.files: Final = OtherFiles(self.notes)
        self.links: Final = LinkAnswers(self.notes, self.files)
        self.searches: Final = SearchAnswers(self.notes)
        self._settling = threading.Lock()
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

    def changed(self, paths: Iterable[str], others: Iterable[str] = ()) -> Changes:
        """Handles a watcher's hint that these paths (absolute, or relative to the vault) changed.

        Args:
            others: paths that are those of no notes and no folders.

        Returns:
            The actual changes.
        """
        paths = list(paths)
        notes, reconcile = self.notes.asking(lambda: self._indexer.hinted(paths))
        for note in notes:
            self._cache.evict(note)
        if not reconcile:
            self.notes.asking(lambda: self._indexer.file(sorted(notes)))
            # After the notes: one of them may withhold an image that came with it.
            self.notes.asking(lambda: self._indexer.file_others([*paths, *others]))
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

        The checks are about the ignore rules, notes that may still be being written, and missing notes. Waits for
        those that another thread has begun: `due_s` no longer tells of them, and the index does not have them yet.
        """
        with self._settling:
            self.policy.refresh()
            self.notes.read(self.levels.unsettled)
            if self.levels.wants_search or self.policy.wants_count:
                try:
                    return self.reconcile()
                except ReadFailed:
                    return Changes()
            return self.notes.asking(lambda: self._indexer.refresh(self.levels.unsettled))

    def due_s(self) -> float | None:
        """The time, by the monotonic clock, at which `settle` may find changes; None: nothing waits."""
        due = [
            each for each in (self.policy.due_s(), self.levels.due_s(), self._indexer.due_s()) if each is not None
        ]
        return min(due, default=None)

    @property
    def error(self) -> str | None:
        """Why the last reconcile failed; None once one succeeded."""
        return self._indexer.error

    def statistics(self, *, named: bool = True) -> VaultStatistics:
        """Counts and warnings. `named`: include names of files and counts that may reveal withheld notes."""
        progress = self._indexer.progress()
        if not named:
            progress = msgspec.structs.replace(progress, withheld=progress.withheld - self.requested.count())
        warnings = tuple(self._warnings(named=named))
        cache = self._cache.statistics() if named else msgspec.UNSET
        return VaultStatistics(cache, progress, progress.withheld, warnings)

    # -- the share policy --

    def is_on_request(self, note: NoteId) -> bool:
        """Whether a note, or a file that is named by such notes, is known to be shown on request only."""
        if self.root.selected.is_attachment(note):
            return self.files.withholds(note) and not self.files.withholds(note, Level.ON_REQUEST)
        return self.levels.is_on_request(note)

    def withholds(self, note: NoteId, least: Level = Level.VOLUNTEER) -> bool:
        """Whether a note or file that the log names is withheld. Reads a note that was never read.

        For a missing note the remembered finding counts. A missing note without a finding is withheld.
        """
        known = self.known_to_withhold(note, least)
        if known is not None:
            return known
        if self.levels.settles_in_s(note, least) is None and not self.root.is_taken(note):
            return True
        if self.levels.finding(note) is None and not self.look_at(note, guessed=True):
            return False
        return least is Level.VOLUNTEER or not isinstance(
            self.notes.read_settled([note], Audience(least))[0], Note
        )

    def look_at(self, note: NoteId, *, guessed: bool = False) -> bool:
        """Reads a note that the log names, records the finding, and returns whether the note is withheld.

        Args:
            guessed: an agent may have invented the name. Then a finding that the note is withheld is not recorded,
                because a missing note would leave no record either.
        """
        if self.root.selected.is_attachment(note) and self.files.withholds(note):
            return True
        withheld = not isinstance(self.notes.read_settled([note])[0], Note)
        if not withheld or (self.levels.is_private(note) and not guessed):
            self.levels.looked_at(note)
        return withheld

    def known_to_withhold(self, note: NoteId, least: Level = Level.VOLUNTEER) -> bool | None:
        """As `withholds`, without reading; None: the note must be read."""
        if self.root.selected.is_attachment(note):
            check_may_wait()
            # Of an attachment that is gone, it may be forgotten that a withheld note named it.
            if self.files.withholds(note, least) or not self.root.has_other(note):
                return True
        if self.levels.is_withheld(note, least):
            settles_in_s = self.levels.settles_in_s(note, least)
            return True if settles_in_s is None or settles_in_s > SETTLE_S else None
        finding = self.levels.finding(note)
        if least is Level.VOLUNTEER:
            return None if finding is None else finding is not Visibility.SHOWN
        return False if finding is Visibility.SHOWN and not self.levels.is_withheld(note) else None

    def is_gone(self, note: NoteId, least: Level = Level.VOLUNTEER) -> bool:
        """Whether a file that is no note is not there, and nothing that is known withholds it besides."""
        return (
            self.root.selected.is_attachment(note)
            and not self.files.withholds(note, least)
            and not self.root.has_other(note)
        )

    def renamed(self, old: NoteId, new: NoteId) -> None:
        """Handles a rename that the log records: what was found about the old path holds for the new one."""
        if (
            self.levels.finding(old) is None
            and not self.levels.is_withheld(old)
            and self._indexer.former_level(old) is Level.VOLUNTEER
        ):
            self.levels.looked_at(old)
        self.levels.renamed(old, new)

    def has_shown(self, note: NoteId) -> bool:
        """Whether a note that the log names may be shown now, or was shown earlier."""
        return self.levels.finding(note) in (Visibility.SHOWN, Visibility.WITHDRAWN)

    def level(self, note: NoteId) -> Level:
        """How far the note at its present path may go. Reads the file."""
        if not self.withholds(note):
            return Level.VOLUNTEER
        return Level.NEVER if self.withholds(note, Level.ON_REQUEST) else Level.ON_REQUEST

    def why(self, note: NoteId) -> list[Reason]:
        """All reasons why the note at its present path is not volunteered, for the vault's owner. Reads the file.

        Empty if it is.
        """
        if self.root.selected.is_attachment(note) and self.files.withholds(note) and not self.policy.denies(note):
            never = self.files.withholds(note, Level.ON_REQUEST)
            detail = "a note that is withheld names a file of this name"
            return [Reason("attachment", detail, "never" if never else "on-request")]
        return reasons(self.root, self.levels, note, self.level(note))

    def idle_rules(self) -> list[IdleRule]:
        """The ignore rules that match no file that the index knows, for the vault's owner. Takes a while."""
        return idle_rules(self.policy.rules, self.known_to_owner())

    def known_to_owner(self) -> list[str]:
        """The paths of all files that the index knows, those of withheld notes too, for the vault's owner."""
        return [*self.index.known(), *all_files(self.index.file)]

    def unclear_flags(self) -> list[UnclearFlag]:
        """As `withholding_reasons.unclear_flags`, for the vault's owner."""
        return unclear_flags(self.root, self.levels)

    @property
    def withholds_some(self) -> bool:
        """Whether a note is withheld, may be withheld as far as known, or was withheld before its deletion."""
        known = self.index_state() == "ready" and self.policy.problem is None
        return not known or self.levels.hides_some or self._indexer.progress().withheld > 0

    def volunteers(self, note: NoteId) -> bool:
        """Whether the note is known to be one that may be shown unasked: false also where its file or the rules
        have changed since they were read. Opens no file, but costs two stats, which a dead mount never answers."""
        try:
            entry = self.index.entry(note) if not self.levels.is_withheld(note) else None
            if entry is None or entry.withheld or not self.policy.is_as_read():
                return False
            return entry.stat == stat_key(self.root.stat_note(note))
        except (IndexLost, ToolError):
            return False

    # -- questions --

    def ask(self, question: q.Question[q.R], state: VaultState, audience: Audience = UNASKED) -> q.R:
        if question.blocks:
            check_may_wait()
        answer: q.R = _ANSWERS[type(question)](self, question, state, audience)
        return answer

    def _least_of(self, note: NoteId, least: Level) -> Level:
        """VOLUNTEER for a note that is shown unasked, so that the answers about it are those that all get."""
        return least if self.levels.is_withheld(note) else Level.VOLUNTEER

    # -- reading --

    def read(
        self, notes: Sequence[NoteId], state: VaultState, audience: Audience = UNASKED
    ) -> list[Note | NoteFailure]:
        """As `Read` is answered: a file that may not be opened is missing."""
        closed = self.files.closed(notes, state, audience.least)
        opened = [note for note in notes if note not in closed]
        found = {each.id: each for each in self.notes.read_settled(opened, audience)}
        return [self._readable(found[note]) if note in found else missing_note(note) for note in notes]

    def names(
        self, notes: Sequence[NoteId], state: VaultState, audience: Audience = UNASKED
    ) -> list[NoteRef | None]:
        """As `Names` is answered: of files that are no notes, those are named that may be opened."""
        is_note = self.root.selected.holds
        files = [note for note in dict.fromkeys(notes) if not is_note(note) and self.root.has_other(note)]
        named = self.notes.refs(notes, audience)
        named |= {note: file_at(note).ref for note in files if self.files.opens(note, state, audience.least)}
        if audience.least is not Level.VOLUNTEER:
            unnamed = [note for note in notes if note not in named and is_note(note)]
            read = [each for each in self.notes.read(unnamed, audience) if isinstance(each, Note)]
            named |= {each.id: NoteRef(each.id, each.title, each.id) for each in read}
        return [named.get(note) for note in notes]

    def _readable(self, found: Note | NoteFailure) -> Note | NoteFailure:
        is_pdf = isinstance(found, Note) and found.unread is not None and kind_of(found.id) == PDF
        return self._pdfs.read(found) if isinstance(found, Note) and is_pdf else readable(found)

    # -- images and other attachments --

    def images(self, note: NoteId, state: VaultState, least: Level = Level.VOLUNTEER) -> NoteImages:
        """The images that a note embeds, or the one that the file is. Waits for the index."""
        if self.files.closed([note], state, least):
            return NoteImages()
        if is_image_name(note):
            return NoteImages((read_image(self.root, note, note),), 1)
        [found] = self.notes.read([note], Audience(least))
        return self.files.images(found, least) if isinstance(found, Note) else NoteImages()

    def outline(self, note: NoteId, state: VaultState, least: Level = Level.VOLUNTEER) -> CodeOutline:
        """The definitions in a note that is no Markdown; kept with the note's version."""
        if self.files.closed([note], state, least):
            return CodeOutline()
        [found] = self.notes.read([note], Audience(least))
        if not isinstance(found, Note) or found.is_markdown:
            return CodeOutline()
        known: CodeOutline | None = vars(found).get("outline")
        if known is None:
            known = outline_of_code(note, found.source)
            if known.missing != "failed":
                vars(found)["outline"] = known
        return known

    def note_count(self) -> int:
        return self._indexer.note_count()

    def index_state(self) -> str:
        return "ready" if self._indexer.ready.is_set() else "building"

    def _is_busy(self) -> bool:
        return time.monotonic() - self.notes.last_read < _BUSY_S

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
            (report.links if named else (), "are symlinks, which are not followed"),
        ):
            if names:
                shown = f": {', '.join(map(repr, names[:3]))}{', …' if len(names) > 3 else ''}" if named else ""
                yield f"{len(names)} {problem}{shown}"


_ANSWERS: Final[dict[type[q.Question[Any]], Callable[[Vault, Any, VaultState, Audience], Any]]] = {
    q.Read: lambda vault, asked, state, who: vault.read(asked.notes, state, who),
    q.Resolve: lambda vault, asked, state, who: vault.links.resolve(asked.reference, state, who.least),
    q.ResolveFrom: lambda vault, asked, state, who: vault.links.resolve_from(
        asked.reference, asked.source, state, who.least
    ),
    q.Names: lambda vault, asked, state, who: vault.names(asked.notes, state, who),
    q.NoteCount: lambda vault, *_: vault.note_count(),
    q.IndexState: lambda vault, *_: vault.index_state(),
    q.LinkTargets: lambda vault, asked, state, who: vault.links.link_targets(
        asked.source, asked.links, state, vault._least_of(asked.source, who.least)
    ),
    q.Incoming: lambda vault, asked, state, who: vault.links.incoming(
        asked.note, asked.limit, state, vault._least_of(asked.note, who.least)
    ),
    q.Images: lambda vault, asked, state, who: vault.images(
        asked.note, state, vault._least_of(asked.note, who.least)
    ),
    q.Outline: lambda vault, asked, state, who: vault.outline(
        asked.note, state, vault._least_of(asked.note, who.least)
    ),
    q.NamesLike: lambda vault, asked, state, _who: vault.links.names_like(asked.prefix, asked.limit, state),
    q.Search: lambda vault, asked, state, who: vault.searches.search(asked.query, state.recents, who.least),
    q.Members: lambda vault, asked, *_: vault.searches.members(asked.folder, asked.tag, asked.limit),
    q.Similar: lambda vault, asked, *_: vault.searches.similar(asked.note, asked.limit),
    q.SharingTags: lambda vault, asked, *_: vault.searches.sharing_tags(asked.note, asked.limit),
    q.Overview: lambda vault, asked, *_: vault.searches.overview(asked.limit),
}
"""How each question is answered."""
