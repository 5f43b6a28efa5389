"""The common part of connections: who is admitted, and what happens to a client that does not read.

It implements asyncio's Protocol, because a task and a stream per message cost more than most methods.
"""

import asyncio
import socket
from typing import cast

from ..ipc.peer import peer_uid
from ..limits import UNREAD_BYTES_MAX, UNREAD_S
from ..service.awake_timer import AwakeTimer
from .host import Host


class SocketConnection(asyncio.Protocol):
    """Runs on the loop's thread only."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._loop = host.loop
        self._transport: asyncio.Transport | None = None
        self._writable = True
        self._unread_timer: AwakeTimer | None = None

    @property
    def client(self) -> str:
        """The client's name, as far as it is known."""
        return "unknown"

    @property
    def writable(self) -> bool:
        """Whether the client reads fast enough."""
        return self._writable and self._transport is not None

    def flush(self) -> None:
        """Writes what is queued."""

    def tail_moved(self) -> None:
        """Lets every subscription send new events."""

    def close(self) -> None:
        """Closes after all that is queued was written."""
        if self._transport is not None:
            self._transport.close()

    # -- asyncio.Protocol --

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport = cast(asyncio.Transport, transport)  # uvloop's class does not inherit from it
        peer: socket.socket = transport.get_extra_info("socket")
        if not self._host.admits(peer_uid(peer)):
            transport.abort()
            return
        transport.set_write_buffer_limits(high=UNREAD_BYTES_MAX)
        self._transport = transport
        self._host.opened(self)

    def connection_lost(self, _error: Exception | None) -> None:
        if self._transport is None:
            return
        _break_cycle(self._transport)
        self._transport = None
        if self._unread_timer is not None:
            self._unread_timer.cancel()
        self.lost()
        self._host.closed(self)

    def pause_writing(self) -> None:
        self._writable = False
        self._unread_timer = AwakeTimer(self._loop, UNREAD_S, self.abort)
        self.throttle()

    def resume_writing(self) -> None:
        self._writable = True
        if self._unread_timer is not None:
            self._unread_timer.cancel()
        self.go_on()
        self.tail_moved()

    # -- for subclasses --

    def lost(self) -> None:
        """Drops what belongs to the client, who has gone."""

    def throttle(self) -> None:
        """Reads nothing more from a client that does not read or asks too much; otherwise reads on."""

    def go_on(self) -> None:
        """Takes the requests that wait."""

    def abort(self) -> None:
        """Closes without writing what is queued."""
        if self._transport is not None:
            self._transport.abort()


def _break_cycle(transport: asyncio.Transport) -> None:
    """Breaks the reference cycle in asyncio's transport, which holds a method of its own. Otherwise a closed
    connection would stay in memory until a rare collection of old objects. uvloop's transport has no cycle."""
    getattr(transport, "__dict__", {}).pop("_read_ready_cb", None)
