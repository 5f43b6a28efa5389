"""`CheckedIndex`: the index, whose answers are checked on disk before they name a note.

The index answers quickly but may lag behind the files. If an answer was wrong, the index is updated and asked
again, at most UPDATE_ATTEMPTS times.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeVar

from workspaced_events.ids import NoteId

from ..errors import ToolError
from ..notes.note import Level, Note
from ..ports.vault import NoteRef
from .files.content_cache import stat_key
from .files.note_levels import NoteLevels
from .files.safe_open import VaultRoot
from .index.database import IndexLost
from .index.entries import IndexEntry, NamedNote, Withheld, indexed
from .index.index import Index
from .index.indexer import Indexer
from .links.resolver import IndexLookup, WithNotes
from .shared_notes import SharedNotes

T = TypeVar("T")
UPDATE_ATTEMPTS: Final = 3


class CheckedIndex:
    """One for each vault. Safe from any thread."""

    def __init__(
        self,
        root: VaultRoot,
        index: Index,
        requested: Index,
        indexer: Indexer,
        levels: NoteLevels,
        notes: SharedNotes,
        wait_s: float,
    ) -> None:
        """
        Args:
            requested: the index of the notes for explicit requests only.
            wait_s: how long after its beginning look-ups wait for an index that is being built. A call asks
                several questions, and each would wait anew if this counted from the question.
        """
        self.root: Final = root
        self.index: Final = index
        self.requested: Final = requested
        self.indexer: Final = indexer
        self.levels: Final = levels
        self._wait_s: Final = wait_s
        self._notes: Final = notes

    def await_names(self) -> None:
        """Waits a limited time until the index can look up names and links, then removes denied notes from it."""
        self.indexer.usable.wait(self._left_s())
        self.indexer.enforce()

    def await_ready(self) -> bool:
        """Waits a limited time until the index has been compared with all files; returns whether it has."""
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
                self.indexer.rebuild(generation)
            self.await_ready()
        return ask()

    def lookup(
        self, own: NamedNote | None, files: Callable[[str], Sequence[NamedNote]] = lambda _name_key: ()
    ) -> IndexLookup:
        """A look-up in the index that finds `own` whatever its level, notes kept elsewhere, and `files`."""
        lookup = IndexLookup(self.index, self.levels.is_withheld, files)
        elsewhere = [each for each in self.indexer.elsewhere if not self.levels.is_withheld(each.id)]
        notes = [*elsewhere, *([own] if own is not None else [])]
        return WithNotes(lookup, notes) if notes else lookup

    def is_fresh(self, entry: IndexEntry, least: Level = Level.VOLUNTEER) -> bool:
        """Whether the index has the file's present version, and the note may be shown."""
        if not entry.certain or entry.withheld or self.levels.is_withheld(entry.id, least):
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
            stale = [note for note in stale if note not in known or not self.is_fresh(known[note], least)]
        return not gone and (not stale or not self.indexer.file(stale))

    def names(self, notes: Sequence[NoteId]) -> list[NoteRef | None]:
        """The present names of the notes; None for one that is missing or withheld."""
        known = self.asking(lambda: self.index.entries(list(notes)))
        fresh = {note: known[note].ref for note in known if self.is_fresh(known[note])}
        others = [note for note in notes if note not in fresh and self.root.selected.holds(note)]
        read = {found.id: found for found in self._notes.read(others)}
        refs: list[NoteRef | None] = []
        for note in notes:
            found = read.get(note)
            refs.append(NoteRef(note, found.title, note) if isinstance(found, Note) else fresh.get(note))
        return refs

    def names_nonblocking(self, notes: Sequence[NoteId]) -> list[NoteRef | None] | None:
        """As `names` if the index has the present version of every note, otherwise None."""
        known = self.index.entries(list(notes))
        if len(known) < len(set(notes)) or not all(map(self.is_fresh, known.values())):
            return None
        return [known[note].ref for note in notes]

    def refs(self, notes: Sequence[NoteId]) -> dict[NoteId, NoteRef]:
        """The present names of the notes, without missing and withheld notes."""
        return {note: ref for note, ref in zip(notes, self.names(notes), strict=True) if ref is not None}

    def entry(self, note: NoteId, least: Level) -> IndexEntry | None:
        """The index entry of a note; for a file that is not indexed yet, the entry made from the file itself."""
        entry = (self.index if least is Level.VOLUNTEER else self.requested).entry(note)
        if entry is None:
            [found] = self._notes.read([note], least)
            if not isinstance(found, Note):
                return None
            entry = indexed(found, self.levels.policy, certain=False).entry
        is_shown = entry is not None and (entry.withheld is Withheld.NO or least is not Level.VOLUNTEER)
        return entry if is_shown and not self.levels.is_withheld(note, least) else None
