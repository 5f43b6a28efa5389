"""The memory folder as one client sees it: without what the share policy withholds.

A withheld file does not exist here: it is neither listed nor read, moved or deleted. Only its name is taken, for
`create` and as the new name of `rename`, and the error for that is the one for a link or a device.
"""

from collections import OrderedDict
from contextlib import suppress
from hashlib import sha256
from typing import Final

from workspaced_events.ids import NoteId

from ..errors import MemoryNotFound, MemoryPathUnusable
from ..limits import MEMORY_FILES_MAX
from ..notes.note import Level, Note
from ..notes.privacy_flag import HEAD_BYTES, level_of_head
from ..ports.memory import MEMORY_ROOT
from ..vault.vault import Vault
from .folder import MemoryFolder
from .paths import Parts, shown
from .steps import Listed, check_size, unusable


class SharedFolder:
    """A memory folder without what is withheld: what front matter says is no note for every agent, and in a vault
    what its rules and findings say.

    A note of a vault that someone else has just written may not be whole, so it is withheld until it settles. What
    an agent wrote itself is whole.
    """

    def __init__(self, folder: MemoryFolder, prefix: str, vault: Vault | None) -> None:
        """
        Args:
            prefix: comes before a file's path in the log: the folder's path in its vault, or BESIDE_VAULTS.
            vault: where the folder lies; None: beside the vaults.
        """
        self.folder: Final = folder
        self._prefix = prefix
        self._vault = vault
        self._written: OrderedDict[NoteId, bytes] = OrderedDict()
        """Digests of the notes that agents wrote last into the vault."""

    def note(self, path: Parts) -> NoteId:
        """The file's path in the log."""
        return NoteId(self._prefix + "/".join(path))

    def parts(self, note: NoteId) -> Parts | None:
        """The opposite of `note`; None if the path is not of this folder."""
        return tuple(note.removeprefix(self._prefix).split("/")) if note.startswith(self._prefix) else None

    def denies(self, note: NoteId) -> bool:
        """Whether a rule withholds the path from every agent, whatever is there."""
        if self._vault is None:
            return False
        self._vault.policy.refresh()
        return self._vault.policy.denies(note)

    def wrote(self, path: Parts, content: bytes | None) -> None:
        """Remembers what an agent wrote; None: it removed the file."""
        if self._vault is None:
            return
        note = self.note(path)
        self._written.pop(note, None)
        if content is not None:
            self._written[note] = sha256(content).digest()
            if len(self._written) > MEMORY_FILES_MAX:
                self._written.popitem(last=False)

    def read(self, path: Parts) -> bytes | None:
        """The file's content; None if there is none, or a withheld one.

        Raises:
            MemoryPathUnusable, MemoryFull: as `MemoryFolder.read`.
        """
        content = self._head(path)
        if content is not None:
            check_size(path, content)
        return content

    def text(self, path: Parts) -> str:
        """The file's text.

        Raises:
            MemoryNotFound: there is none.
            MemoryPathUnusable: it is no UTF-8, or as `read`.
        """
        content = self.read(path)
        if content is None:
            raise missing(path)
        try:
            return content.decode()
        except UnicodeDecodeError:
            raise MemoryPathUnusable(
                f"The file {shown(path)} is no UTF-8 text.", hint="Choose another file."
            ) from None

    def check_free(self, path: Parts) -> None:
        """Checks that a file may be made at the path.

        Raises:
            MemoryPathUnusable: a rule denies the path, or something that is not the agent's has it.
        """
        if self.denies(self.note(path)) or self.folder.head(path) is not None:
            raise unusable(path)

    def is_folder(self, path: Parts) -> bool:
        """Whether there is a folder with files to show; the memory folder itself always counts as one."""
        with suppress(MemoryPathUnusable):
            return not path or (self.folder.is_folder(path) and bool(self.files(path)))
        return False

    def files(self, path: Parts = ()) -> list[Listed]:
        """The files below a folder, sorted by path; without those that cannot be opened."""
        return [each for each in self.folder.files(path) if self._is_shown(each.path)]

    def _is_shown(self, path: Parts) -> bool:
        try:
            return self._head(path) is not None
        except MemoryPathUnusable:  # Swapped since it was listed, or closed to us.
            return False

    def _head(self, path: Parts) -> bytes | None:
        """As `MemoryFolder.head`, without what is withheld."""
        if self.denies(self.note(path)):
            return None
        try:
            content = self.folder.head(path)
        except MemoryPathUnusable:
            if self._is_below_withheld(path):
                return None
            raise
        return None if content is None or self._withholds(self.note(path), content) else content

    def _withholds(self, note: NoteId, content: bytes) -> bool:
        """Whether a file with this content is withheld."""
        level = level_of_head(content[:HEAD_BYTES], whole=len(content) <= HEAD_BYTES)
        if level is not Level.VOLUNTEER or self.denies(note):
            return True
        if self._vault is None or not note.lower().endswith(".md"):
            return False
        if self._written.get(note) == sha256(content).digest():
            return False
        return not isinstance(self._vault.notes.read([note])[0], Note)

    def _is_below_withheld(self, path: Parts) -> bool:
        """Whether a path is unusable only because of what is withheld: a file above it, or files below it."""
        with suppress(MemoryPathUnusable):
            return self.folder.is_folder(path) and not self.files(path)
        return bool(path) and self._head(path[:-1]) is None


def missing(path: Parts) -> MemoryNotFound:
    """The error for a path where nothing is."""
    return MemoryNotFound(
        f"The path {shown(path)} does not exist. Please provide a valid path.",
        hint=f"View {MEMORY_ROOT} to see what there is.",
    )
