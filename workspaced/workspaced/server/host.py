"""What a server and its connections need of each other, so that neither module imports the other for its types."""

import asyncio
from collections.abc import Callable
from typing import Any, Protocol

from ..service.service import Service


class Accepted(Protocol):
    """A connection, as its server sees it."""

    client: str

    def flush(self) -> None:
        """Writes what was sent so far."""
        ...

    def tail_moved(self) -> None:
        """Lets every subscription send what is new."""
        ...

    def close(self) -> None:
        """Closes after what was written has gone out."""
        ...


class Host(Protocol):
    """The server, as its connections see it."""

    service: Service
    loop: asyncio.AbstractEventLoop

    def admits(self, uid: int) -> bool:
        """Whether a client of this user may connect."""
        ...

    def opened(self, connection: Accepted) -> None:
        """A client is there."""
        ...

    def closed(self, connection: Accepted) -> None:
        """A client is gone."""
        ...

    def start_soon(self, function: Callable[..., Any], *args: Any) -> None:
        """Runs a coroutine function in the daemon's task group."""
        ...
