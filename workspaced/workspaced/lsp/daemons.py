"""Finds the daemons that serve the open documents, also those that start later, and keeps connected with them."""

import asyncio
import logging
import math
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

import anyio

from workspaced_events.errors import WorkspacedError

from ..client.async_client import Client
from ..discovery import records
from .daemon import NAME, Daemon
from .uris import note_of

_LSP_LEAVE_S: Final = 2.0
"""How long the end waits until every daemon has taken the view back."""
_LSP_RETRY_MAX_S: Final = 10.0
"""Pauses between looks for daemons; each is twice as long as the one before."""
_LSP_RETRY_FIRST_S: Final = 0.2
_LSP_CONNECT_S: Final = 5.0
"""How long a daemon may take to greet, and to take a view."""
logger = logging.getLogger(__name__)


class Place(NamedTuple):
    """A note in a vault that a connected daemon serves."""

    daemon: Daemon
    vault: str
    root: str
    """The vault's folder."""
    note: str

    def note_at(self, real: str) -> str | None:
        """The note of this vault that really lies there."""
        return note_of(real, self.root)


class Daemons:
    """All connections. Belongs to the loop's thread."""

    def __init__(self, wanted: Callable[[], Iterable[str]], on_change: Callable[[], None]) -> None:
        """
        Args:
            wanted: the real paths of the open documents.
            on_change: called when a daemon came or went.
        """
        self.socket: str | None = None
        """The only socket to use; None: those that serve the documents' folders."""
        self._wanted = wanted
        self._on_change = on_change
        self._connections: dict[str, asyncio.Task[None]] = {}
        self._ready: dict[str, Daemon] = {}
        self._owed: dict[str, set[str]] = {}
        """By socket: the folders of vaults that show something of ours."""
        self._sought = asyncio.Event()
        self._moved = asyncio.Condition()
        self._is_looking = False
        self._asked: list[str] = []
        """Real paths of files that are looked for once, open or not."""
        self._searcher: asyncio.Task[None] | None = None

    def __iter__(self) -> Iterator[Daemon]:
        return iter(list(self._ready.values()))

    def seek(self) -> None:
        """Looks for the daemons of documents that none serves yet."""
        self._is_looking = True
        self._sought.set()
        if self._searcher is None:
            self._searcher = asyncio.create_task(self._search())

    def place(self, real: str) -> Place | None:
        """Where the file at this real path is a note: the vault that is nearest above it."""
        best: Place | None = None
        for daemon in self._ready.values():
            for vault, root in daemon.vaults:
                note = note_of(real, root)
                if note is not None and (best is None or len(root) > len(best.root)):
                    best = Place(daemon, vault, root, note)
        return best

    async def placed(self, real: str, timeout_s: float) -> Place | None:
        """As `place`; while daemons are being looked for or greet, waits at most `timeout_s`."""
        with anyio.move_on_after(timeout_s):
            async with self._moved:
                await self._moved.wait_for(lambda: self.place(real) is not None or not self.is_busy)
        return self.place(real)

    async def sought(self, real: str, timeout_s: float) -> Place | None:
        """As `placed`; looks for a daemon of this file, which need not be open."""
        if self.place(real) is None:
            self._asked.append(real)
            self.seek()
        try:
            return await self.placed(real, timeout_s)
        finally:
            if real in self._asked:
                self._asked.remove(real)

    @property
    def is_busy(self) -> bool:
        """Whether a daemon may come in a moment."""
        return self._is_looking or len(self._ready) < len(self._connections)

    async def leave(self) -> None:
        """Takes all views back and ends the connections, within _LSP_LEAVE_S."""
        with anyio.move_on_after(_LSP_LEAVE_S):
            await asyncio.gather(*(daemon.leave() for daemon in self._ready.values()))
        tasks = [*self._connections.values(), *([self._searcher] if self._searcher is not None else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _search(self) -> None:
        """Looks again and again while a document has no daemon, with growing pauses."""
        pause_s = _LSP_RETRY_FIRST_S
        while True:
            self._sought.clear()
            await self._look()
            self._is_looking = self._sought.is_set()  # for what was not there when this look began
            await self._tell_moved()
            is_done = all(self.place(path) is not None for path in self._wanted()) and not self._owing()
            rest_s = math.inf if is_done else pause_s
            pause_s = min(2 * pause_s, _LSP_RETRY_MAX_S)
            with anyio.move_on_after(rest_s):
                await self._sought.wait()
                pause_s = _LSP_RETRY_FIRST_S

    async def _look(self) -> None:
        for socket in self._owing():
            self._connect(socket)
        unserved = [path for path in (*self._wanted(), *self._asked) if self.place(path) is None]
        if not unserved:
            return
        if self.socket is not None:
            self._connect(self.socket)
            return
        running = await asyncio.to_thread(records.running)
        for path in unserved:
            record = records.serving(running, [path])
            if record is not None:
                self._connect(record.socket)

    def _owing(self) -> list[str]:
        """The sockets of daemons that show something of ours, and are not connected."""
        return [socket for socket, vaults in self._owed.items() if vaults and socket not in self._ready]

    def _connect(self, socket: str) -> None:
        if socket not in self._connections:
            self._connections[socket] = asyncio.create_task(self._keep(socket))

    async def _keep(self, socket: str) -> None:
        """One connection from its beginning to its loss."""
        try:
            async with Client.open(Path(socket), name=NAME, timeout_s=_LSP_CONNECT_S) as client:
                owed = self._owed.setdefault(socket, set())
                daemon = Daemon(client, owed, lambda: self._greeted(socket, daemon))
                await daemon.attend()
        except WorkspacedError as error:
            logger.info("%s: %s", socket, error.message)
        finally:
            self._connections.pop(socket, None)
            if self._ready.pop(socket, None) is not None:
                self._changed()
                self.seek()
            else:
                self._changed()

    def _greeted(self, socket: str, daemon: Daemon) -> None:
        self._ready[socket] = daemon
        self._changed()

    def _changed(self) -> None:
        self._on_change()
        self._telling = asyncio.create_task(self._tell_moved())

    async def _tell_moved(self) -> None:
        async with self._moved:
            self._moved.notify_all()
