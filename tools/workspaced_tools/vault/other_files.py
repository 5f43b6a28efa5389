"""`OtherFiles`: the files of a vault that are no notes. Their names are indexed, their text is not.

One is opened only where an editor shows it or a link in a shown note leads to it: an agent that guesses a path
learns nothing of the file there. An image is opened only where an editor shows it; with the notes that embed it,
agents get it anyway.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from workspaced_events.ids import NoteId
from workspaced_events.projections.workspace_state import VaultState

from ..notes.formats.kinds import ATTACHED, ending_of, is_image_name
from ..notes.note import Level
from .checked_index import UPDATE_ATTEMPTS, CheckedIndex
from .images.gate import AttachmentGate
from .index.entries import NamedNote
from .index.files import files_named
from .links.backlinks import incoming
from .links.resolver import IndexLookup, members


class OtherFiles:
    """One for each vault. Safe from any thread. Where a method takes `least`, it is the least level that its
    audience is shown."""

    def __init__(self, checked: CheckedIndex, gates: Mapping[Level, AttachmentGate]) -> None:
        self._checked: Final = checked
        self._gates: Final = gates

    def has(self, path: str) -> bool:
        """Whether a file at `path` would be no note. No I/O."""
        return not self._checked.root.selected.holds(path)

    def is_attachment(self, path: str) -> bool:
        """Whether the file is withheld with the notes that name it, which only the index knows."""
        return self.has(path) and ending_of(path) in ATTACHED

    def withholds(self, path: str, least: Level = Level.VOLUNTEER) -> bool:
        """Whether the file at `path` is withheld, as far as known. Touches no file of the vault."""
        if not self.is_attachment(path):
            return self._checked.levels.policy.level(path) < least
        gate, indexer = self._gates[least], self._checked.indexer
        return self._checked.asking(lambda: not indexer.is_complete or gate.withholds(path))

    def named(self, name_key: str, least: Level = Level.VOLUNTEER) -> list[NamedNote]:
        """The files with this name that are not withheld."""
        found = files_named(self._checked.index.file, name_key)
        return [file_at(NoteId(path)) for path in found if not self.withholds(path, least)]

    def lookup(self, own: NamedNote | None = None, least: Level = Level.VOLUNTEER) -> IndexLookup:
        """A look-up for links: of notes, as `CheckedIndex.lookup`, and of files."""
        return self._checked.lookup(own, lambda name_key: self.named(name_key, least))

    def opens(self, path: NoteId, state: VaultState, least: Level = Level.VOLUNTEER) -> bool:
        """Whether the file at `path` may be opened for an audience that sees `state`."""
        if self.withholds(path, least) or self._withholds_now(path, least):
            return False
        if path in members(state):
            return True
        return not is_image_name(path) and self._is_linked(file_at(path), state, least)

    def closed(self, notes: Iterable[NoteId], state: VaultState, least: Level = Level.VOLUNTEER) -> set[NoteId]:
        """Those of the notes that are files which may not be opened."""
        return {note for note in notes if self.has(note) and not self.opens(note, state, least)}

    def _withholds_now(self, path: NoteId, least: Level) -> bool:
        gate = self._gates[least]
        return self.is_attachment(path) and self._checked.asking(lambda: gate.withholds_now(path))

    def _is_linked(self, file: NamedNote, state: VaultState, least: Level) -> bool:
        self._checked.await_names()
        for _ in range(UPDATE_ATTEMPTS):
            found = incoming(file, 1, state, self._checked.index, self.lookup(least=least))
            if self._checked.is_current({link.source.id for link in found.links}):
                break
        return bool(found.links)


def file_at(path: NoteId) -> NamedNote:
    """A file by its names."""
    return NamedNote(path, path.rpartition("/")[2])
