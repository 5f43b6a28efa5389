"""Finds the daemons that serve the open documents, also those that start later, and keeps connected with them."""

import asyncio
import logging
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

import anyio

from workspaced_events.errors import WorkspacedError
from workspaced_events.ids import uuid7

from ..client.async_client import Client
from ..client.wire import hello_params
from ..discovery import records
from ..errors import NoDaemon, TimedOut
from ..limits import LSP_TICK_S
from .documents import Shown, note_of, snapshot

NAME: Final = "lsp"
"""The name in hello, whose sharing level counts, and the source of pins."""


class Daemon:
    """A connection. Belongs to the loop's thread.

    Attributes:
        vaults: the served folders with their ids.
        problem: why the daemon does not take what it is told; None: it does.
    """

    def __init__(self, client: Client, owed: set[str], on_ready: Callable[[], None]) -> None:
        """
        Args:
            owed: the folders of vaults that an earlier connection showed something of: what is not shown any more
                is to be taken back. Kept up to date.
            on_ready: called whenever the daemon greeted.
        """
        self._owed = owed
        self._source = f"{NAME}-{os.getpid()}-1"
        """The source of views."""
        self.client = client
        self.vaults: list[tuple[str, str]] = []
        self.problem: str | None = None
        self._on_ready = on_ready
        self._server: Mapping[str, Any] | None = None
        self._views: dict[str, Shown] = {}
        self._focus: str | None = None
        self.told: dict[str, Shown] = {}
        """What the daemon has taken, by vault."""
        self._current: str | None = None
        self._changed = asyncio.Event()

    @property
    def is_told(self) -> bool:
        """Whether the daemon has taken all that it is to be told."""
        return not any(self._differs(vault, view) for vault, view in self._views.items())

    def _differs(self, vault: str, view: Shown) -> bool:
        """Whether the daemon does not know the view. Of a vault of which nothing was shown it knows that."""
        told = self.told.get(vault)
        if told is None:
            return not view.is_empty or dict(self.vaults).get(vault) in self._owed
        return told != view

    def show(self, views: Mapping[str, Shown], focus: str | None) -> None:
        """Tells the views of the vaults, by their ids, from now on. `focus`: the vault that the user looks at."""
        self._views = {vault: views.get(vault, Shown()) for vault, _ in self.vaults}
        self._focus = focus
        self._changed.set()

    def forget(self) -> None:
        """Tells everything again: another editor's view came or went."""
        self.told = {}
        self._changed.set()

    async def attend(self) -> None:
        """Keeps the daemon informed until the connection is lost."""
        following: asyncio.Task[None] | None = None
        try:
            while self.client.is_connected:
                if self._server is not self.client.server:
                    await self._greeted()
                    if following is not None:
                        following.cancel()
                    following = asyncio.create_task(self._follow())
                await self._tell()
                self._changed.clear()
                if self.problem is not None or self.is_told:
                    with anyio.move_on_after(LSP_TICK_S):
                        await self._changed.wait()
        finally:
            if following is not None:
                following.cancel()  # while the connection stands, so that it can end the subscription
                await asyncio.gather(following, return_exceptions=True)

    async def act(self, action: str, data: Mapping[str, Any], vault: str, name: str | None = None) -> None:
        """Publishes an action of the user. `name`: its id, if it was sent before.

        Raises:
            WorkspacedError: the daemon refused it, or did not answer.
        """
        what = {"type": action, "data": data, "vault": vault, "id": name or uuid7()}
        source = NAME if action == "note_pinned" else self._source
        await self.client.call("workspaced/publish", {"actions": [what], "source": source})

    async def leave(self) -> None:
        """Takes the views back."""
        self.show({}, None)
        with suppress(WorkspacedError):
            await self._tell()

    async def _greeted(self) -> None:
        """Takes note of a daemon that is new on the connection."""
        with suppress(NoDaemon, TimedOut):
            await self.client.call("workspaced/hello", {**hello_params(NAME), "inferred": True})
        self._server = server = self.client.server
        self.vaults = [(each["id"], each["path"]) for each in server.get("vaults", ())]
        self.told, self._current = {}, None
        self._on_ready()

    async def _tell(self) -> None:
        """Sends what the daemon does not know yet."""
        try:
            for vault, view in list(self._views.items()):
                if self._differs(vault, view):
                    if len(self.vaults) > 1 and vault == self._focus != self._current and view.active is not None:
                        await self.act("vault_switched", {"vaultId": vault}, vault)
                        self._current = vault
                    await self.client.call("workspaced/snapshot", snapshot(view, self._source, vault))
                    self.told[vault] = view
                    self._owed.discard(dict(self.vaults)[vault])
                    if not view.is_empty:
                        self._owed.add(dict(self.vaults)[vault])
            self.problem = None
        except WorkspacedError as error:
            self.problem = error.message
            logger.info("%s: %s", self.client.path, error.message)

    async def _follow(self) -> None:
        """Shows everything again whenever another editor's view opens or closes: another may count now."""
        with suppress(WorkspacedError):
            async with self.client.subscribe(types=("view_opened", "view_closed")) as notices:
                async for notice in notices:
                    events = notice.params.get("events", ())
                    if not events or any(map(self._may_count_more, events)):
                        self.forget()

    def _may_count_more(self, event: Mapping[str, Any]) -> bool:
        """Whether a view came or went that counts more than an inferred one."""
        if event["type"] == "view_opened":
            return bool(event["data"].get("confidence") != "inferred")
        return bool(event.get("source") != self._source)


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
