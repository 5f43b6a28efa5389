"""`FileLookup`: the names of a vault's notes, by its files and its index, for the resolver."""

import unicodedata
from collections.abc import Sequence
from typing import Final

from workspaced_events.ids import NoteId
from workspaced_events.projections.workspace_state import VaultState

from ..errors import NotDownloaded, ReadFailed, SymlinkNotFollowed
from ..limits import ECHO_CHARS_MAX, SETTLE_EMPTY_S
from ..notes.name_keys import key, stem
from ..notes.note import Level, Note
from ..ports.vault import NoteRef
from .checked_index import CheckedIndex
from .index.entries import NamedNote
from .links.resolver import IndexLookup
from .other_files import OtherFiles, file_at
from .shared_notes import SharedNotes


class FileLookup:
    """The resolver's look-up: on disk for exact paths, which never wait, and in the index for everything else."""

    paths_by_name: Final = False

    def __init__(
        self,
        checked: CheckedIndex,
        notes: SharedNotes,
        files: OtherFiles,
        state: VaultState,
        least: Level,
        own: NamedNote | None,
    ) -> None:
        """
        Args:
            state: of files that are no notes, those that it shows are found, and those that a link leads to.
            own: a note that is found whatever its level.
        """
        self._checked = checked
        self._notes = notes
        self._files = files
        self._state = state
        self._least = least
        self._own = own
        self._index = files.lookup(own, least)
        self._requested = IndexLookup(checked.requested, lambda note: checked.levels.is_withheld(note, least))

    def at_path(self, path: NoteId) -> NoteRef | None:
        if self._files.has(path):
            is_found = self._checked.root.has_other(path) and self._files.opens(path, self._state, self._least)
            return file_at(path).ref if is_found else None
        if not path.isascii() and not unicodedata.is_normalized("NFC", path):
            # A path that is not NFC names a note only if another note has the NFC form; the disk finds it always.
            return self._index.at_path(path)
        if self._own is not None and path == self._own.id:
            return self._own.ref
        [found] = self._notes.read_settled([path], self._least, SETTLE_EMPTY_S)
        if isinstance(found, Note):
            return NoteRef(path, found.title, path)
        if found.code == SymlinkNotFollowed.code:
            if "/" not in path and self.named(key(stem(path))):
                return None  # a note elsewhere has the name, as links find it
            raise SymlinkNotFollowed(found.message, hint=self._hint_of_link(path))
        # The reference means a file that exists but cannot be read. Reading it later reports the reason.
        is_there = found.code in (ReadFailed.code, NotDownloaded.code) and not self._checked.root.is_folder(path)
        return NoteRef(path, stem(path), path) if is_there else None

    def _hint_of_link(self, path: NoteId) -> str:
        """Names where a symlink leads only if that is a note that may be shown."""
        target = self._checked.root.link_target(path)
        if target is None or not isinstance(self._notes.read([NoteId(target)], self._least)[0], Note):
            return "Name a note by the path of its own file."
        return f"It leads to {target[:ECHO_CHARS_MAX]!r}: ask for that."

    def named(self, name_key: str) -> Sequence[NamedNote]:
        self._checked.await_names()
        found = [each for each in self._index.named(name_key) if self._opens(each.id)]
        return found if self._least is Level.VOLUNTEER else [*found, *self._requested.named(name_key)]

    def _opens(self, note: NoteId) -> bool:
        return not self._files.has(note) or self._files.opens(note, self._state, self._least)

    def near(self, name: str, limit: int) -> Sequence[NamedNote]:
        return self._index.near(name, limit)
