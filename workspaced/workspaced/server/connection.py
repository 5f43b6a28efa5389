"""The listening socket, and its connections: each reads one message a line, dispatches them in order, and writes
answers as they are ready.

There are no queues but back-pressure: with IN_FLIGHT_MAX open requests, or UNREAD_BYTES_MAX of unread answers, a
connection reads nothing more from its client. It implements asyncio's Protocol, because a task and a stream per
message cost more than most methods.
"""

import asyncio
import os
import resource
import socket
from collections import deque
from typing import Final, cast

from anyio.abc import TaskGroup

from ..errors import RequestError
from ..ipc.jsonrpc import LineSplitter
from ..ipc.peer import peer_uid
from ..journal.log_tail import COMMITTED
from ..limits import CONNECTIONS_MAX, FLUSH_BYTES, IN_FLIGHT_MAX, PARTIAL_LINE_S, UNREAD_BYTES_MAX, UNREAD_S
from ..service.awake_timer import AwakeTimer
from ..service.service import Service
from .dispatcher import Dispatcher

_HTTP: Final = (b" HTTP/1.1\r", b" HTTP/1.0\r")
"""How a request of HTTP ends its first line. No message does."""
_DESCRIPTORS_RESERVED: Final = 24
"""File descriptors that clients never get: for the log, vaults, watchers, and files that tools open."""
_ACCEPTS_PER_TURN: Final = 4
"""Connections accepted in one turn of the loop, so that many at once are refused before descriptors run out."""


class Connection(asyncio.Protocol):
    """The outlet of its dispatcher. Runs on the loop's thread only."""

    def __init__(self, server: "Server") -> None:
        self._server = server
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._writable = True
        self._unread_timer: AwakeTimer | None = None
        self._dispatcher = Dispatcher(server.service, server.tasks, self)
        self._splitter = LineSplitter()
        self._waiting: deque[bytes] = deque()
        self._at_end = False
        self._out: list[bytes] = []
        self._out_bytes = 0
        self._partial_timer: AwakeTimer | None = None

    @property
    def client(self) -> str:
        """The client's name, as far as it is known."""
        return self._dispatcher.client

    @property
    def writable(self) -> bool:
        """Whether the client reads fast enough."""
        return self._writable and self._transport is not None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport = cast(asyncio.Transport, transport)  # uvloop's class does not inherit from it
        peer: socket.socket = transport.get_extra_info("socket")
        if not self._server.admits(peer_uid(peer)):
            transport.abort()
            self._dispatcher.close()  # which would keep this connection in memory
            return
        transport.set_write_buffer_limits(high=UNREAD_BYTES_MAX)
        self._transport = transport
        self._server.opened(self)

    # -- what comes --

    def data_received(self, data: bytes) -> None:
        try:
            lines = self._splitter.feed(data)
        except RequestError as error:
            self._refuse_and_close(error)
            return
        if lines and lines[0].endswith(_HTTP):
            # A page of another site may have sent a body of our requests through a careless relay.
            self.send(b"HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n")
            hint = "Send one JSON object a line; a program that speaks MCP starts `workspaced mcp`."
            self._refuse_and_close(RequestError("INVALID_REQUEST", "This socket does not speak HTTP.", hint=hint))
            return
        self._watch_partial(completed=bool(lines))
        self._waiting.extend(line for line in lines if line.strip())
        self._go_on()

    def eof_received(self) -> bool:
        # A client may send, shut down its side and read on, so open answers are still written. Its last line may
        # end without LF.
        self._at_end = True
        if last := self._splitter.take_partial().strip():
            self._watch_partial(completed=True)
            self._waiting.append(last)
            self._go_on()
        self._close_at_end()
        return True

    def _go_on(self) -> None:
        """Takes the requests that wait."""
        while self._waiting and self._dispatcher.in_flight < IN_FLIGHT_MAX and self.writable:
            self._dispatcher.take(self._waiting.popleft())
        self._throttle()

    def _throttle(self) -> None:
        """Reads nothing more from a client that does not read or asks too much; otherwise reads on."""
        if self._transport is None or self._transport.is_closing():
            return
        if self._waiting or not self._writable:
            self._transport.pause_reading()
            self._watch_partial(completed=True)  # the client cannot complete a line that we do not read
        else:
            self._transport.resume_reading()
            self._watch_partial(completed=False)

    # -- what goes --

    def ended(self) -> None:
        """Takes the next request."""
        if self._waiting:
            self._loop.call_soon(self._go_on)
        self._close_at_end()

    def send(self, line: bytes) -> None:
        """Queues a line; all lines of one turn of the loop go out in one system call, unless they are many."""
        if self._transport is None:
            return
        self._out.append(line)
        self._out_bytes += len(line)
        if self._out_bytes > FLUSH_BYTES:
            self.flush()  # so that `writable` is accurate even within one turn
        elif len(self._out) == 1:
            self._loop.call_soon(self.flush)

    def flush(self) -> None:
        """Writes the lines queued in this turn of the loop."""
        if not self._out:
            return
        out, self._out, self._out_bytes = self._out, [], 0
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(b"".join(out))
            self._close_at_end()

    def tail_moved(self) -> None:
        """Lets every subscription send new events."""
        if self._writable:
            self._dispatcher.tail_moved()

    def pause_writing(self) -> None:
        self._writable = False
        self._unread_timer = AwakeTimer(self._loop, UNREAD_S, self._abort)
        self._throttle()

    def resume_writing(self) -> None:
        self._writable = True
        if self._unread_timer is not None:
            self._unread_timer.cancel()
        self._go_on()
        self.tail_moved()

    # -- ends --

    def connection_lost(self, _error: Exception | None) -> None:
        if self._transport is None:
            return
        # Otherwise a closed connection would stay in memory until a rare collection of old objects, since
        # asyncio's transport holds a method of its own. uvloop's has no such cycle.
        getattr(self._transport, "__dict__", {}).pop("_read_ready_cb", None)
        self._transport = None
        self._waiting.clear()
        for timer in (self._unread_timer, self._partial_timer):
            if timer is not None:
                timer.cancel()
        self._dispatcher.close()
        self._server.closed(self)

    def close(self) -> None:
        """Closes after all that is queued was written."""
        self._dispatcher.say_goodbye()
        self.flush()
        if self._transport is not None:
            self._transport.close()

    def _abort(self) -> None:
        """Closes without writing what is queued."""
        if self._transport is not None:
            self._transport.abort()

    def _close_at_end(self) -> None:
        """Closes after the last answer, if the client has shut down its side."""
        done = not (self._dispatcher.in_flight or self._waiting or self._out)
        if self._at_end and done and self._transport is not None:
            self._transport.close()

    def _refuse_and_close(self, error: RequestError) -> None:
        """Refuses the line that has begun."""
        self._dispatcher.refuse(self._splitter.take_partial(), error)
        self.close()

    def _watch_partial(self, *, completed: bool) -> None:
        if self._partial_timer is not None and (completed or not self._splitter.partial):
            self._partial_timer.cancel()
            self._partial_timer = None
        reading = self._transport is not None and self._transport.is_reading()
        if self._splitter.partial and self._partial_timer is None and reading:
            self._partial_timer = AwakeTimer(self._loop, PARTIAL_LINE_S, self._abort_partial)

    def _abort_partial(self) -> None:
        self._refuse_and_close(
            RequestError("INVALID_REQUEST", f"A line was not completed within {PARTIAL_LINE_S:g} s.")
        )


class Server:
    """Accepts clients of this user on one socket."""

    def __init__(self, service: Service, tasks: TaskGroup) -> None:
        self.service = service
        self.tasks = tasks
        self._loop = asyncio.get_running_loop()
        self._connections: set[Connection] = set()
        self._connections_max = _connections_max()
        self._listener: asyncio.Server | None = None
        self.idle_since: float | None = self._loop.time()
        """When the last client left; None while there is one."""

    async def start(self, listening: socket.socket) -> None:
        """Starts accepting."""
        self._listener = await self._loop.create_unix_server(
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

    def admits(self, uid: int) -> bool:
        """Whether a client of this user may connect."""
        return uid == os.getuid() and len(self._connections) < self._connections_max

    def client_names(self) -> list[str]:
        """The names that the connected clients reported."""
        return [each.client for each in self._connections]

    def opened(self, connection: Connection) -> None:
        """Registers a new connection."""
        self._connections.add(connection)
        self.idle_since = None
        self.service.connections = len(self._connections)

    def closed(self, connection: Connection) -> None:
        """Unregisters a closed connection."""
        self._connections.discard(connection)
        if not self._connections:
            self.idle_since = self._loop.time()
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
