"""The outbox: the one message that was made last, kept before it is sent, so that it is sent again as it was."""

from collections.abc import Iterable
from pathlib import Path
from typing import Final, Protocol

import anyio.to_thread
import msgspec

from workspaced_events.ids import LinkedVaultId, NoteId
from workspaced_events.peers.differences import NOTHING_SHARED, SharedView, notes_of, view_of
from workspaced_events.peers.without_notes import name_hash
from workspaced_events.private_files import read_private, write_durably
from workspaced_events.schema.peer_events import SharedVault

FILE: Final = "outbox"
NamesByVault = dict[LinkedVaultId, tuple[NoteId, ...]]
_BYTES: Final = 32


class Sent(msgspec.Struct, frozen=True):
    """The message that was made last."""

    generation: int = 0
    n: int = 0
    """0: none was made."""
    epoch: int = 0
    digest: str = ""
    previous: str = ""
    """The digest of the message before it; of the first of a generation: ""."""
    frame: bytes = b""
    """Empty: it named a note that was forgotten since, and is not sent again."""
    view: tuple[SharedVault, ...] = ()
    """What is shared once it is applied."""
    since_whole: int = 0
    """How many messages came after the whole view of its generation."""
    named: NamesByVault = {}
    """Every note that its generation has named, also those that are shared no more."""

    @property
    def shared(self) -> SharedView:
        return view_of(self.view) if self.view else NOTHING_SHARED


class Outbox(Protocol):
    """Keeps one message."""

    def load(self) -> Sent:
        """What was kept last."""

    async def keep(self, sent: Sent) -> None:
        """Returns once it is durable, in place of the one before.

        Raises:
            OSError: it may not be.
        """


class FileOutbox:
    """Implements `Outbox` in the data directory."""

    def __init__(self, folder: Path) -> None:
        """Raises OSError: its files cannot be read."""
        self._folder: Final = folder
        self._names: Final = SharedNames(folder)

    def load(self) -> Sent:
        """Raises OSError, msgspec.MsgspecError: the file cannot be read."""
        return load_sent(self._folder)

    async def keep(self, sent: Sent) -> None:
        await anyio.to_thread.run_sync(self._keep, sent)

    def _keep(self, sent: Sent) -> None:
        self._names.add((vault.vault, note) for vault in sent.view for note in notes_of(vault))
        save_sent(self._folder, sent)


def load_sent(folder: Path) -> Sent:
    """What was sent last, of the link of a folder.

    Raises:
        OSError, msgspec.MsgspecError: the file cannot be read.
    """
    data = read_private(folder / FILE)
    return Sent() if data is None else msgspec.json.decode(data, type=Sent)


def save_sent(folder: Path, sent: Sent) -> None:
    """Keeps it, durably.

    Raises:
        OSError: it may not be kept.
    """
    write_durably(folder / FILE, msgspec.json.encode(sent))


class SharedNames:
    """Which names of notes have ever left this machine, as hashes in a private file.

    Only for these are others asked to forget a note, so that nobody learns of one that never left. Belongs to one
    thread at a time.
    """

    def __init__(self, folder: Path) -> None:
        """Raises OSError: the file cannot be read, or others may read it."""
        self._path: Final = folder / "names"
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
