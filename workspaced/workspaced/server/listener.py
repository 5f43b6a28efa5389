"""The listening socket and its connections."""

import asyncio
import os
import resource
import socket
from collections.abc import Callable
from typing import Any, Final

from anyio.abc import TaskGroup

from ..journal.log_tail import COMMITTED
from ..limits import CONNECTIONS_MAX
from ..service.service import Service
from .connection import Connection
from .host import Accepted

_DESCRIPTORS_RESERVED: Final = 24
"""File descriptors that clients never get: for the log, vaults, watchers, and files that tools open."""
_ACCEPTS_PER_TURN: Final = 4
"""Connections accepted in one turn of the loop, so that many at once are refused before descriptors run out."""


class Server:
    """Accepts clients of this user on one socket."""

    def __init__(self, service: Service, tasks: TaskGroup) -> None:
        self.service = service
        self.loop = asyncio.get_running_loop()
        self._tasks = tasks
        self._connections: set[Accepted] = set()
        self._connections_max = _connections_max()
        self._listener: asyncio.Server | None = None
        self.idle_since: float | None = self.loop.time()
        """When the last client left; None while there is one."""

    async def start(self, listening: socket.socket) -> None:
        """Starts accepting."""
        self._listener = await self.loop.create_unix_server(
            lambda: Connection(self), sock=listening, backlog=_ACCEPTS_PER_TURN
        )
        # asyncio accepts at most `backlog` connections per turn; the kernel's queue may be longer.
        listening.listen(CONNECTIONS_MAX)
        self.service.tail.signals.on(COMMITTED, self._tail_moved)

    async def stop(self) -> None:
        """Stops accepting; every client gets the written answers, then the end of the stream."""
        assert self._listener is not None
        self.service.tail.signals.remove_listener(COMMITTED, self._tail_moved)
        self._listener.close()
        self.service.views.stop()
        for connection in list(self._connections):
            connection.close()

    def start_soon(self, function: Callable[..., Any], *args: Any) -> None:
        """Runs a coroutine function in the daemon's task group."""
        self._tasks.start_soon(function, *args)

    def admits(self, uid: int) -> bool:
        """Whether a client of this user may connect."""
        return uid == os.getuid() and len(self._connections) < self._connections_max

    def client_names(self) -> list[str]:
        """The names that the connected clients reported."""
        return [each.client for each in self._connections]

    def opened(self, connection: Accepted) -> None:
        """Registers a new connection."""
        self._connections.add(connection)
        self.idle_since = None
        self.service.connections = len(self._connections)

    def closed(self, connection: Accepted) -> None:
        """Unregisters a closed connection."""
        self._connections.discard(connection)
        if not self._connections:
            self.idle_since = self.loop.time()
        self.service.connections = len(self._connections)

    def _tail_moved(self) -> None:
        for connection in list(self._connections):
            connection.flush()  # the receipts of this commit, without waiting for the loop's next turn
            connection.tail_moved()


def _connections_max() -> int:
    """How many clients the process's limit of descriptors allows."""
    descriptors, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if descriptors == resource.RLIM_INFINITY:
        return CONNECTIONS_MAX
    # A refused connection keeps its descriptor for up to four turns of the loop.
    return max(1, min(CONNECTIONS_MAX, descriptors - _DESCRIPTORS_RESERVED - 4 * _ACCEPTS_PER_TURN))
