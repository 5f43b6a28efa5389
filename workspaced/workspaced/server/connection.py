"""A connection of lines: reads one message a line, dispatches them in order, writes answers as they are ready.

There are no queues but back-pressure: with IN_FLIGHT_MAX open requests, or UNREAD_BYTES_MAX of unread answers, the
connection reads nothing more from its client.
"""

from collections import deque

from workspaced_events.errors import WorkspacedError

from ..errors import RequestError
from ..ipc.framing import LineSplitter
from ..ipc.jsonrpc import RequestId
from ..limits import FLUSH_BYTES, IN_FLIGHT_MAX, PARTIAL_LINE_S
from ..service.awake_timer import AwakeTimer
from .dispatcher import Dispatcher
from .host import Host
from .socket_connection import SocketConnection


class Connection(SocketConnection):
    """The outlet of its dispatcher."""

    def __init__(self, host: Host) -> None:
        super().__init__(host)
        self._dispatcher = Dispatcher(host, self)
        self._splitter = LineSplitter()
        self._waiting: deque[bytes] = deque()
        self._at_end = False
        self._out: list[bytes] = []
        self._out_bytes = 0
        self._partial_timer: AwakeTimer | None = None

    @property
    def client(self) -> str:
        return self._dispatcher.client

    # -- what comes --

    def data_received(self, data: bytes) -> None:
        try:
            lines = self._splitter.feed(data)
        except RequestError as error:
            self._refuse_and_close(error)
            return
        self._watch_partial(completed=bool(lines))
        self._waiting.extend(line for line in lines if line.strip())
        self.go_on()

    def eof_received(self) -> bool:
        # A client may send, shut down its side and read on, so open answers are still written. Its last line may
        # end without LF.
        self._at_end = True
        if last := self._splitter.take_partial().strip():
            self._watch_partial(completed=True)
            self._waiting.append(last)
            self.go_on()
        self._close_at_end()
        return True

    def go_on(self) -> None:
        while self._waiting and self._dispatcher.in_flight < IN_FLIGHT_MAX and self.writable:
            self._dispatcher.take(self._waiting.popleft())
        self.throttle()

    def throttle(self) -> None:
        if self._transport is None or self._transport.is_closing():
            return
        if self._waiting or not self._writable:
            self._transport.pause_reading()
            self._watch_partial(completed=True)  # the client cannot complete a line that we do not read
        else:
            self._transport.resume_reading()
            self._watch_partial(completed=False)

    def lost(self) -> None:
        self._waiting.clear()
        if self._partial_timer is not None:
            self._partial_timer.cancel()
        self._dispatcher.close()

    # -- what goes --

    def reply(self, _request_id: RequestId | None, line: bytes, _error: WorkspacedError | None) -> None:
        """Queues an answer."""
        self.send(line)

    def ended(self, _request_id: RequestId | None) -> None:
        """Takes the next request."""
        if self._waiting:
            self._loop.call_soon(self.go_on)
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
        if self._writable:
            self._dispatcher.tail_moved()

    # -- ends --

    def close(self) -> None:
        self._dispatcher.say_goodbye()
        self.flush()
        super().close()

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
