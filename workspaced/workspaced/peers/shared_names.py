"""Which names of notes have ever left this machine, as hashes in a private file: only for these are others asked
to forget a note, so that nobody learns of one that never left.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from workspaced_events.ids import LinkedVaultId, NoteId
from workspaced_events.peers.without_notes import name_hash
from workspaced_events.private_files import read_private, write_durably

FILE: Final = "names"
_BYTES: Final = 32


class SharedNames:
    """Belongs to one thread at a time."""

    def __init__(self, folder: Path) -> None:
        """
        Raises:
            OSError: the file cannot be read, or others may read it.
        """
        self._path: Final = folder / FILE
        data = read_private(self._path) or b""
        self._hashes = {data[at : at + _BYTES] for at in range(0, len(data), _BYTES)}
        self._known: set[tuple[LinkedVaultId, NoteId]] = set()

    def holds(self, vault: LinkedVaultId, note: NoteId) -> bool:
        """Whether the name may have left."""
        return bytes.fromhex(name_hash(vault, note)) in self._hashes

    def add(self, names: Iterable[tuple[LinkedVaultId, NoteId]]) -> None:
        """Keeps names that are about to leave, durably.

        Raises:
            OSError: they may not be kept.
        """
        new = set(names) - self._known
        hashes = self._hashes | {bytes.fromhex(name_hash(*each)) for each in new}
        if len(hashes) > len(self._hashes):
            write_durably(self._path, b"".join(sorted(hashes)))
        self._hashes = hashes
        self._known |= new
