"""`SharedNotes`: the notes of a folder that may be shown, in their present version, and what the index says of it.

Every note that a vault returns went through `_shared`. The index answers quickly but may lag behind the files: its
answers are checked on disk before they name a note. If an answer was wrong, the index is updated and asked again,
at most UPDATE_ATTEMPTS times. Where a method takes `least`, it is the least level that its audience is shown.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

from workspaced_events.ids import NoteId
from workspaced_events.projections.note_visibility import Visibility

from ..errors import NotDownloaded, NoteNotFound, ToolError
from ..limits import SETTLE_S
from ..notes.note import Level, Note, NoteFailure
from ..notes.privacy_flag import level_of
from ..ports.asking import UNASKED, Audience, check_may_wait
from ..ports.vault import NoteRef
from .files.content_cache import ContentCache, NoteRead, stat_key
from .files.note_levels import NoteLevels
from .files.placeholders import not_downloaded
from .files.safe_open import VaultRoot, missing_note
from .index.database import IndexLost
from .index.entries import IndexEntry, NamedNote, Withheld, indexed
from .index.index import Index
from .index.indexer import Indexer
from .links.resolver import IndexLookup

P = ParamSpec("P")
T = TypeVar("T")
UPDATE_ATTEMPTS: Final = 3
_MARGIN_S: Final = 0.01


class SharedNotes:
    """One for each vault. Safe from any thread."""

    def __init__(
        self,
        root: VaultRoot,
        cache: ContentCache,
        levels: NoteLevels,
        index: Index,
        requested: Index,
        indexer: Indexer,
        wait_s: float,
    ) -> None:
        """
        Args:
            requested: the index of the notes for explicit requests only.
            wait_s: how long after its beginning look-ups wait for an index that is being built. A call asks
                several questions, and each would wait anew if this counted from the question.
        """
        self.root: Final = root
        self.levels: Final = levels
        self.index: Final = index
        self.requested: Final = requested
        self.indexer: Final = indexer
        self._cache: Final = cache
        self._wait_s: Final = wait_s
        self.last_read = 0.0
        """When notes were last read, by the monotonic clock."""

    # -- files --

    def read(self, notes: Sequence[NoteId], audience: Audience = UNASKED) -> list[Note | NoteFailure]:
        """What the audience has decided of these notes is not decided again."""
        self.last_read = time.monotonic()
        least, levels, version = audience.least, self.levels, self.levels.state_version
        # Reading a denied note must take no longer than reading a missing one, so its file is not touched.
        ruled = {each: levels.policy.level(each) for each in notes if not audience.stands(each, version)}
        for note, level in ruled.items():
            if level < least and level is Level.NEVER:
                levels.let_go(note)
        found = self._cache.read_many([note for note in notes if ruled.get(note, least) >= least])
        shared = {each.id: self._shared(each, ruled.get(each.id), audience) for each in found}
        return [shared[note] if note in shared else missing_note(note) for note in notes]

    def read_settled(
        self, notes: Sequence[NoteId], audience: Audience = UNASKED, wait_s: float = SETTLE_S
    ) -> list[Note | NoteFailure]:
        """As `read`, but waits for files that appeared a moment ago, if they settle within `wait_s`."""
        found = self.read(notes, audience)
        left_s = [self.levels.settles_in_s(note, audience.least) for note in notes]
        soon_s = [each for each in left_s if each is not None and each <= wait_s]
        if not soon_s:
            return found
        check_may_wait()
        time.sleep(max(soon_s) + _MARGIN_S)
        return self.read(notes, audience)

    def is_cached(self, note: NoteId) -> bool:
        """Whether a version of the note, of whatever level, is in the content cache."""
        return self._cache.holds(note)

    def _shared(self, found: NoteRead, ruled: Level | None, audience: Audience) -> Note | NoteFailure:
        """The result of a read for the caller. A withheld note gives exactly the result of a missing note.

        `ruled`: the note's level by the rules when it was read; None: the audience had decided of it.
        """
        if isinstance(found, NoteFailure):
            return self._failed(found)
        note, levels = found.id, self.levels
        flagged = level_of(found) if isinstance(found, Note) else Level.NEVER
        # The verdict is that of the version shown: one with a flag, or read while levels moved, is judged anew.
        if flagged is Level.VOLUNTEER and isinstance(found, Note) and audience.stands(note, levels.state_version):
            return found
        ruled = levels.policy.level(note) if ruled is None else ruled
        before, level = levels.judge(note, found.stat, ruled=ruled, flagged=flagged, was=self.indexer.former_level)
        if level is not before:
            if flagged is Level.NEVER:
                self.indexer.hide(note)
            elif level > before or flagged is Level.ON_REQUEST:
                self.indexer.file([note])
        return found if level >= audience.least and isinstance(found, Note) else missing_note(note)

    def _failed(self, found: NoteFailure) -> NoteFailure:
        note, levels, is_gone = found.id, self.levels, found.code == NoteNotFound.code
        if is_gone:
            levels.let_go(note)
        if levels.policy.denies(note):
            return missing_note(note)
        if (is_gone and levels.is_missing(note)) or levels.is_hidden(note) or levels.was_withheld(note):
            return missing_note(note)
        # What is elsewhere cannot be read, so only what was found to be shown before is spoken of.
        was_shown = levels.finding(note) is Visibility.SHOWN
        if found.code == NotDownloaded.code and not was_shown:
            return missing_note(note)
        if is_gone and was_shown and (program := self.root.program_with(note)):
            return NoteFailure(note, NotDownloaded.code, not_downloaded(note, program).message)
        return found

    # -- the index --

    def await_names(self) -> None:
        """Waits a limited time until the index can look up names and links, then removes denied notes from it."""
        if not self.indexer.usable.is_set():
            check_may_wait()
            self.indexer.usable.wait(self._left_s())
        self.indexer.enforce()

    def await_ready(self) -> bool:
        """Waits a limited time until the index has been compared with all files; returns whether it has."""
        check_may_wait()
        return self.indexer.ready.wait(self._left_s())

    def _left_s(self) -> float:
        return max(self.indexer.begun_s + self._wait_s - time.monotonic(), 0.0)

    def asking(self, ask: Callable[[], T]) -> T:
        """Calls `ask`; if the index fails, rebuilds the index and calls `ask` again."""
        for _ in range(UPDATE_ATTEMPTS):
            generation = self.index.file.generation
            try:
                found = ask()
                if generation == self.index.file.generation:
                    return found
            except IndexLost:
                check_may_wait()
                self.indexer.rebuild(generation)
            self.await_ready()
        return ask()

    def lookup(
        self, own: NamedNote | None, files: Callable[[str], Sequence[NamedNote]] = lambda _name_key: ()
    ) -> IndexLookup:
        """A look-up in the index that finds `own` whatever its level, notes kept elsewhere, and `files`."""
        elsewhere = [each for each in self.indexer.elsewhere if not self.levels.is_withheld(each.id)]
        notes = [*elsewhere, *([own] if own is not None else [])]
        return IndexLookup(self.index, self.levels.is_withheld, files, notes)

    def is_fresh(self, entry: IndexEntry, audience: Audience = UNASKED) -> bool:
        """Whether the index has the file's present version, and the note may be shown."""
        if not entry.certain or entry.withheld:
            return False
        stands = audience.stands(entry.id, self.levels.state_version)
        if not stands and self.levels.is_withheld(entry.id, audience.least):
            return False
        try:
            return stat_key(self.root.stat_note(entry.id)) == entry.stat
        except ToolError:
            return False

    def is_current(self, notes: Iterable[NoteId], least: Level = Level.VOLUNTEER) -> bool:
        """Whether the indexes have the present versions of these notes, and other files are still there.

        If not, updates the index and returns False: the caller asks the index again. Returns True if the update
        changed nothing.
        """
        every = list(notes)
        wanted = list(filter(self.root.selected.holds, every))
        gone = [each for each in every if not self.root.selected.holds(each) and not self.root.has_other(each)]
        if gone:
            self.indexer.file_others(gone)
        known = self.index.entries(wanted)
        stale = [note for note in wanted if note not in known or not self.is_fresh(known[note])]
        if stale and least is not Level.VOLUNTEER:
            known = self.requested.entries(stale)
            asked = Audience(least)
            stale = [note for note in stale if note not in known or not self.is_fresh(known[note], asked)]
        return not gone and (not stale or not self.indexer.file(stale))

    def names(self, notes: Sequence[NoteId], audience: Audience = UNASKED) -> list[NoteRef | None]:
        """The present names of the notes; None for one that is missing or withheld."""
        known = self.asking(lambda: self.index.entries(list(notes)))
        fresh = {note: known[note].ref for note in known if self.is_fresh(known[note], audience)}
        others = [note for note in notes if note not in fresh and self.root.selected.holds(note)]
        read = {found.id: found for found in self.read(others, audience)}
        refs: list[NoteRef | None] = []
        for note in notes:
            found = read.get(note)
            refs.append(NoteRef(note, found.title, note) if isinstance(found, Note) else fresh.get(note))
        return refs

    @property
    def has_requested(self) -> bool:
        """Whether any note is known to be for explicit requests only."""
        return self.requested.count() > 0

    def refs(self, notes: Sequence[NoteId], audience: Audience = UNASKED) -> dict[NoteId, NoteRef]:
        """The present names of the notes, without missing and withheld notes."""
        return {note: ref for note, ref in zip(notes, self.names(notes, audience), strict=True) if ref is not None}

    def entry(self, note: NoteId, least: Level) -> IndexEntry | None:
        """The index entry of a note; for a file that is not indexed yet, the entry made from the file itself."""
        entry = (self.index if least is Level.VOLUNTEER else self.requested).entry(note)
        if entry is None:
            [found] = self.read([note], Audience(least))
            if not isinstance(found, Note):
                return None
            entry = indexed(found, self.levels.policy, certain=False).entry
        is_shown = entry is not None and (entry.withheld is Withheld.NO or least is not Level.VOLUNTEER)
        return entry if is_shown and not self.levels.is_withheld(note, least) else None


def asking_again(method: Callable[Concatenate[Any, P], T]) -> Callable[Concatenate[Any, P], T]:
    """A method of an object that has `SharedNotes` as `_notes`, called by `SharedNotes.asking`."""

    def ask(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:
        notes: SharedNotes = self._notes
        return notes.asking(lambda: method(self, *args, **kwargs))

    return ask
