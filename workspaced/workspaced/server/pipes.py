"""An agent's own pipes, handed over by its bridge (`ipc.handover`), so that no process copies their bytes.

On Linux only, where a pipe can be opened anew: whether a call may block belongs to the open pipe, which a bridge
shares with the processes that started it.
"""

import asyncio
import fcntl
import os
import socket
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple

from ..ipc.handover import ENDED, READY, REFUSED
from ..limits import HANDOVER_BYTES_MAX, PARTIAL_LINE_S, PIPE_ANSWERS_BYTES, PIPE_CHUNK_BYTES, UNREAD_BYTES_MAX
from ..service.awake_timer import AwakeTimer
from .connection import Connection
from .host import Host

PIPES_DESCRIPTORS: Final = 3
"""An agent's input, its output, and the connection of its bridge."""
Data = bytes | bytearray | memoryview


# -- taking them --


class PipesOffer:
    """A bridge that has offered its agent's pipes: they are awaited, then a connection is made of them."""

    descriptors = PIPES_DESCRIPTORS
    client = "unknown"

    def __init__(self, host: Host, bridge: socket.socket) -> None:
        self._host = host
        self._bridge = bridge
        bridge.setblocking(False)
        if not host.has_room_for_pipes():
            self._refuse()
            return
        self._timer = AwakeTimer(host.loop, PARTIAL_LINE_S, self.close)
        host.opened(self)
        host.loop.add_reader(bridge.fileno(), self._receive)
        _tell(bridge, READY)

    def flush(self) -> None:
        """Nothing is queued."""

    def tail_moved(self) -> None:
        """Nothing is subscribed to."""

    def close(self) -> None:
        """Ends it without the pipes."""
        self._settle()
        self._bridge.close()

    def _settle(self) -> None:
        self._timer.cancel()
        self._host.loop.remove_reader(self._bridge.fileno())
        self._host.closed(self)

    def _refuse(self) -> None:
        _tell(self._bridge, REFUSED)
        self._bridge.close()

    def _receive(self) -> None:
        self._settle()
        try:
            first, descriptors, _, _ = socket.recv_fds(
                self._bridge, HANDOVER_BYTES_MAX, 2, getattr(socket, "MSG_CMSG_CLOEXEC", 0)
            )
            ends = open_ends(descriptors)
        except OSError:  # also where the bridge has gone
            self._refuse()
            return
        connection = Connection(self._host)
        connection.connection_made(PipesTransport(self._host.loop, self._bridge, *ends, connection))
        connection.data_received(first)


def _tell(bridge: socket.socket, word: bytes) -> None:
    with suppress(OSError):  # it has gone, or never reads
        bridge.send(word)


# -- the descriptors --


class PipeEnd(NamedTuple):
    """One end of a pipe or of a pair of sockets. No call blocks, whatever flags its other holders set."""

    descriptor: int
    read: Callable[[int], bytes]
    write: Callable[[Data], int]
    close: Callable[[], None]


def open_ends(descriptors: list[int]) -> tuple[PipeEnd, PipeEnd]:
    """The end from which an agent's bytes come and the end to which its answers go; takes the descriptors over.

    Raises:
        OSError: they are not two different ends, of pipes without a name or of pairs of sockets, one to read from
            and one to write to.
    """
    with _closing(descriptors):
        if len(descriptors) != 2 or os.path.samestat(*map(os.fstat, descriptors)):
            raise OSError("Expected two different pipes.")
        incoming = _open_end(descriptors[0], os.O_RDONLY)
        try:
            return incoming, _open_end(descriptors[1], os.O_WRONLY)
        except OSError:
            incoming.close()
            raise


def _open_end(descriptor: int, mode: int) -> PipeEnd:
    if stat.S_ISSOCK(os.fstat(descriptor).st_mode):
        return _socket_end(descriptor)
    path = f"/proc/self/fd/{descriptor}"
    # Where a pipe with a name is opened anew without its writer, its end is never told.
    is_pipe = str(Path(path).readlink()).startswith("pipe:")
    if not is_pipe or fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE not in (mode, os.O_RDWR):
        raise OSError("Expected a pipe without a name.")
    anew = os.open(path, mode | os.O_NONBLOCK | os.O_CLOEXEC)
    if mode == os.O_WRONLY:
        with suppress(OSError):  # the user has as many as the system allows
            fcntl.fcntl(anew, fcntl.F_SETPIPE_SZ, PIPE_ANSWERS_BYTES)
    return PipeEnd(
        anew, lambda size: os.read(anew, size), lambda data: os.write(anew, data), lambda: os.close(anew)
    )


def _socket_end(descriptor: int) -> PipeEnd:
    given = socket.socket(fileno=descriptor)
    try:
        is_stream = given.family == socket.AF_UNIX and given.type == socket.SOCK_STREAM
        # One with a name may be a connection to this daemon, which would hold itself.
        if not is_stream or given.getsockname() or given.getpeername():
            raise OSError("Expected one of a pair of sockets.")
        end = given.dup()
    finally:
        given.detach()
    flag = socket.MSG_DONTWAIT
    return PipeEnd(end.fileno(), lambda size: end.recv(size, flag), lambda data: end.send(data, flag), end.close)


@contextmanager
def _closing(descriptors: list[int]) -> Iterator[None]:
    try:
        yield
    finally:
        for each in descriptors:
            os.close(each)


# -- the transport --


class PipesTransport(asyncio.Transport):
    """asyncio's transport over the two ends, as far as a connection of lines uses it.

    Closes the ends when the bridge ends; tells the bridge when the agent does.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        bridge: socket.socket,
        incoming: PipeEnd,
        outgoing: PipeEnd,
        connection: Connection,
    ) -> None:
        super().__init__({"socket": bridge, "descriptors": PIPES_DESCRIPTORS})
        self._loop = loop
        self._bridge = bridge
        self._incoming = incoming
        self._outgoing = outgoing
        self._connection = connection
        self._unwritten = bytearray()
        self._unwritten_max = UNREAD_BYTES_MAX
        self._is_paused = False
        """Whether the connection was told to write no more for now."""
        self._is_reading = False
        self._is_closing = False
        self._is_closed = False
        self._agent_ended = False
        loop.add_reader(bridge.fileno(), self.abort)  # a bridge says nothing more, so this is its end
        self.resume_reading()

    def is_reading(self) -> bool:
        return self._is_reading

    def pause_reading(self) -> None:
        if self._is_reading:
            self._is_reading = False
            self._loop.remove_reader(self._incoming.descriptor)

    def resume_reading(self) -> None:
        if not (self._is_reading or self._agent_ended or self._is_closing):
            self._is_reading = True
            self._loop.add_reader(self._incoming.descriptor, self._read)

    def _read(self) -> None:
        try:
            data = self._incoming.read(PIPE_CHUNK_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if data:
            self._connection.data_received(data)
            return
        self.pause_reading()
        self._agent_ended = True
        self._connection.eof_received()

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:  # noqa: ARG002
        self._unwritten_max = UNREAD_BYTES_MAX if high is None else high

    def write(self, data: Data) -> None:
        if self._is_closing:
            return
        if not self._unwritten:
            data = memoryview(data)[self._write(data) :]
            if not data:
                return
            self._loop.add_writer(self._outgoing.descriptor, self._write_on)
        self._unwritten += data
        if len(self._unwritten) > self._unwritten_max and not self._is_paused:
            self._is_paused = True
            self._connection.pause_writing()

    def _write(self, data: Data) -> int:
        """How many bytes were written; all, if nobody reads them any more."""
        try:
            return self._outgoing.write(data)
        except BlockingIOError:
            return 0
        except OSError:
            self._agent_ended = True
            self.abort()
            return len(data)

    def _write_on(self) -> None:
        del self._unwritten[: self._write(self._unwritten)]
        if not self._unwritten:
            self._loop.remove_writer(self._outgoing.descriptor)
        if self._is_closing:
            self._close_if_written()
        if self._is_paused and len(self._unwritten) <= self._unwritten_max // 4:
            self._is_paused = False
            self._connection.resume_writing()

    def is_closing(self) -> bool:
        return self._is_closing

    def close(self) -> None:
        self._is_closing = True
        self.pause_reading()
        self._close_if_written()

    def abort(self) -> None:
        self._loop.remove_writer(self._outgoing.descriptor)
        self._unwritten = bytearray()
        self._is_paused = False
        self.close()

    def _close_if_written(self) -> None:
        if not self._unwritten:
            self._loop.call_soon(self._end)

    def _end(self) -> None:
        if self._is_closed:
            return
        self._is_closed = True
        self._loop.remove_reader(self._bridge.fileno())
        self._incoming.close()
        self._outgoing.close()
        self._connection.connection_lost(None)
        if self._agent_ended:
            _tell(self._bridge, ENDED)
        self._bridge.close()
