"""The outbox: the one message that was made last, kept before it is sent, so that it is sent again as it was."""

from pathlib import Path
from typing import Final, Protocol

import anyio.to_thread
import msgspec

from workspaced_events.peers.differences import NOTHING_SHARED, SharedView, view_of
from workspaced_events.schema.decoding import decoded
from workspaced_events.schema.peer_events import SharedVault

from .files import read_private, write_durably


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
    view: tuple[SharedVault, ...] = ()
    """What is shared once it is applied."""
    since_whole: int = 0
    """How many messages came after the whole view of its generation."""

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
        self._path: Final = folder / "outbox"

    def load(self) -> Sent:
        """
        Raises:
            OSError, msgspec.MsgspecError: the file cannot be read.
        """
        data = read_private(self._path)
        return Sent() if data is None else decoded(data, Sent)

    async def keep(self, sent: Sent) -> None:
        await anyio.to_thread.run_sync(write_durably, self._path, msgspec.json.encode(sent))
