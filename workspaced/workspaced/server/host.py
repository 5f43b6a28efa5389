"""Protocols between a server and its connections, so that neither module imports the other."""

import asyncio
from collections.abc import Callable
from typing import Any, Protocol

from ..service.service import Service


class Accepted(Protocol):
    """A connection, as its server uses it."""

    @property
    def client(self) -> str:
        """The client's name."""
        ...

    def __hash__(self) -> int:
        """Sets and keys hold connections."""
        ...

    def flush(self) -> None:
        """Writes the queued lines."""
        ...

    def tail_moved(self) -> None:
        """Lets every subscription send new events."""
        ...

    def close(self) -> None:
        """Closes after all queued lines were written."""
        ...


class Host(Protocol):
    """The server, as its connections use it."""

    service: Service
    loop: asyncio.AbstractEventLoop

    def admits(self, uid: int) -> bool:
        """Whether a client of this user may connect."""
        ...

    def opened(self, connection: Accepted) -> None:
        """Registers a new connection."""
        ...

    def closed(self, connection: Accepted) -> None:
        """Unregisters a closed connection."""
        ...

    def start_soon(self, function: Callable[..., Any], *args: Any) -> None:
        """Runs a coroutine function in the daemon's task group."""
        ...
