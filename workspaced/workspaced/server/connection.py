"""A client's connection: reads lines, dispatches them in order, writes answers as they are ready.

It implements asyncio's Protocol, because a task and a stream per line cost more than most methods. Blocking work
(tools, reading the log) runs as a task of the daemon's task group; everything else is answered at once.

The first request decides the protocol (protocol.py): our own methods, or one of the two generations of MCP.

There are no queues but back-pressure: with IN_FLIGHT_MAX open requests, or UNREAD_BYTES_MAX of unread answers, the
connection reads nothing more from its client.
"""

import asyncio
import inspect
import logging
import socket
from collections import deque
from collections.abc import Callable
from typing import Any, cast

import anyio
import msgspec

from workspaced_events.errors import InvalidArgument, WorkspacedError
from workspaced_events.journal.actions import check_not_paused
from workspaced_tools.tools.registry import ToolSet

from ..errors import RequestError
from ..ipc.framing import LineSplitter
from ..ipc.jsonrpc import NO_ANSWER, Request, RequestId, error_response, is_response, parse_request, response
from ..ipc.param_hints import choices
from ..ipc.peer import peer_uid
from ..limits import ANSWER_BYTES_MAX, FLUSH_BYTES, IN_FLIGHT_MAX, PARTIAL_LINE_S, UNREAD_BYTES_MAX, UNREAD_S
from ..service.awake_timer import AwakeTimer
from ..service.method import DEFERRED, Method
from ..service.session import Follower
from .host import Host
from .protocol import ProtocolVersion, decide

logger = logging.getLogger(__name__)


class Connection(asyncio.Protocol):
    """Runs on the loop's thread only."""

    def __init__(self, host: Host) -> None:
        self.service = host.service
        self.client = "unknown"
        """The client's name, from the current or the last request."""
        self.tools: ToolSet = "all"
        """The tools that this client's list shows."""
        self.line_bytes = 0
        """The length of the current or the last line."""
        self.subscriptions: dict[RequestId, Follower] = {}
        self._host = host
        self._loop = host.loop
        self._transport: asyncio.Transport | None = None
        self._splitter = LineSplitter()
        self._waiting: deque[bytes] = deque()
        self._in_flight = 0
        self._protocol: ProtocolVersion | None = None
        self._running: dict[RequestId, anyio.CancelScope] = {}
        """Requests that can be cancelled."""
        self._at_end = False
        self._writable = True
        self._out: list[bytes] = []
        self._out_bytes = 0
        self._partial_timer: AwakeTimer | None = None
        self._unread_timer: AwakeTimer | None = None

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
        self._waiting.clear()
        for timer in (self._partial_timer, self._unread_timer):
            if timer is not None:
                timer.cancel()
        for subscription in self.subscriptions.values():
            subscription.close()
        self.subscriptions.clear()
        self._host.closed(self)

    def data_received(self, data: bytes) -> None:
        try:
            lines = self._splitter.feed(data)
        except RequestError as error:
            self._refuse_and_close(error)
            return
        self._watch_partial(completed=bool(lines))
        self._waiting.extend(line for line in lines if line.strip())
        self._take()

    def eof_received(self) -> bool:
        # A client may send, shut down its side and read on, so open answers are still written.
        self._at_end = True
        self._close_at_end()
        return True

    def pause_writing(self) -> None:
        self._writable = False
        self._unread_timer = AwakeTimer(self._loop, UNREAD_S, self._abort_unread)
        self._throttle()

    def resume_writing(self) -> None:
        self._writable = True
        if self._unread_timer is not None:
            self._unread_timer.cancel()
        self._take()
        self.tail_moved()

    # -- requests --

    def _take(self) -> None:
        while self._waiting and self._in_flight < IN_FLIGHT_MAX and self._writable and self._transport is not None:
            self._handle(self._waiting.popleft())
        self._throttle()

    def _throttle(self) -> None:
        if self._transport is None or self._transport.is_closing():
            return
        if self._waiting or not self._writable:
            self._transport.pause_reading()
            self._watch_partial(completed=True)  # the client cannot complete a line that we do not read
        else:
            self._transport.resume_reading()
            self._watch_partial(completed=False)

    def _handle(self, line: bytes) -> None:
        request_id: RequestId | None = None
        request: Request | None = None
        protocol = self._protocol
        self.line_bytes = len(line)
        try:
            request = parse_request(line)
            request_id = None if request.id is msgspec.UNSET else request.id
            if protocol is None or not protocol.settled:
                protocol = decide(request, protocol)
            method = protocol.begin(self, request)
            if method is None:
                return
            params = _decode_params(method, request)
            self._protocol = protocol
            if not method.works_paused:
                check_not_paused(self.service.tail.state)
            result = method.handler(self, request_id, params)
        except WorkspacedError as error:
            if request is None:
                if protocol is not None and protocol.is_mcp and is_response(line):
                    return
                request_id = error.details.get("request_id")
            self._in_flight += 1
            self.fail(request_id, error, reply_without_id=request is None)
            return
        except Exception:
            logger.exception("a method failed")
            self._in_flight += 1
            self.fail(request_id, _internal())
            return
        self._in_flight += 1
        if result is DEFERRED:
            return
        if not inspect.iscoroutine(result):
            self.answer(request_id, protocol.decorate(method, result))
        elif request_id is not None and (protocol.is_mcp or method.is_cancellable):
            scope = self._running[request_id] = anyio.CancelScope()
            self._host.start_soon(self._finish_unless_cancelled, scope, request_id, result, protocol, method)
        else:
            self._host.start_soon(self._finish, request_id, result, protocol, method)

    async def _finish(
        self, request_id: RequestId | None, result: Any, protocol: ProtocolVersion, method: Method
    ) -> None:
        try:
            value = protocol.decorate(method, await result)
        except WorkspacedError as error:
            self.fail(request_id, error)
        except Exception:
            logger.exception("a method failed")
            self.fail(request_id, _internal())
        else:
            self.answer(request_id, value)

    async def _finish_unless_cancelled(
        self,
        scope: anyio.CancelScope,
        request_id: RequestId,
        result: Any,
        protocol: ProtocolVersion,
        method: Method,
    ) -> None:
        cancelled = scope.cancel_called
        if cancelled:  # before it began: one that never waits would not notice
            result.close()
        else:
            with scope:
                await self._finish(request_id, result, protocol, method)
            cancelled = scope.cancelled_caught
        if self._running.get(request_id) is scope:
            del self._running[request_id]
        if cancelled:
            self._ended()

    def cancel(self, request_id: RequestId) -> None:
        """Ends an open request without an answer, at its client's request."""
        follower = self.subscriptions.get(request_id)
        if follower is not None and follower.closing_response is not None:
            follower.close()
            del self.subscriptions[request_id]
        if (scope := self._running.get(request_id)) is not None:
            scope.cancel()

    # -- answers --

    def answer(self, request_id: RequestId | None, result: Any) -> None:
        """Ends a request with its result; sends nothing for a notification or for NO_ANSWER."""
        if request_id is not None and result is not NO_ANSWER:
            try:
                line = response(request_id, result)
            except Exception:  # an unencodable answer is our bug, so the client stays connected
                logger.exception("an answer cannot be written")
                line = error_response(request_id, _internal())
            if len(line) > ANSWER_BYTES_MAX:
                line = error_response(
                    request_id,
                    InvalidArgument(
                        f"The answer would be {len(line)} bytes; at most {ANSWER_BYTES_MAX} are sent.",
                        hint="Ask for less at a time.",
                    ),
                )
            self.send(line)
        self._ended()

    def fail(
        self, request_id: RequestId | None, error: WorkspacedError, *, reply_without_id: bool = False
    ) -> None:
        """Answers with an error. A notification gets none, except for a line that could not be parsed
        (`reply_without_id`), as JSON-RPC 2.0, section 5, requires."""
        if request_id is not None:
            self.send(error_response(request_id, error))
        elif reply_without_id:
            self.send(error_response(self._unknown_request_id, error))
        else:
            logger.debug("a notification failed: %s", error)
        self._ended()

    @property
    def _unknown_request_id(self) -> msgspec.UnsetType | None:
        """The id of a reply to an unparsable line: null, or absent for MCP."""
        return msgspec.UNSET if self._protocol is not None and self._protocol.is_mcp else None

    def _ended(self) -> None:
        self._in_flight -= 1
        if self._waiting:
            self._loop.call_soon(self._take)
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

    # -- the rest of Session --

    @property
    def writable(self) -> bool:
        """Whether the client reads fast enough."""
        return self._writable and self._transport is not None

    def start_soon(self, function: Callable[..., Any], *args: Any) -> None:
        """Runs a coroutine function in the daemon's task group."""
        self._host.start_soon(function, *args)

    def call_later(self, delay_s: float, function: Callable[[], None]) -> None:
        """Calls a function on the loop after a delay."""
        self._loop.call_later(delay_s, function)

    def tail_moved(self) -> None:
        """Lets every subscription of this connection send new events, unless its client does not read."""
        if not self._writable:
            return
        for subscription in list(self.subscriptions.values()):
            subscription.tail_moved()

    # -- ends --

    def close(self) -> None:
        """Closes after all queued lines were written."""
        for each in self.subscriptions.values():
            if each.closing_response is not None:
                self.send(each.closing_response)
        self.flush()
        if self._transport is not None:
            self._transport.close()

    def _close_at_end(self) -> None:
        """Closes after the last answer, if the client has shut down its side."""
        done = not (self._in_flight or self._waiting or self._out)
        if self._at_end and done and self._transport is not None:
            self._transport.close()

    def _refuse_and_close(self, error: RequestError) -> None:
        self.send(error_response(self._unknown_request_id, error))
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

    def _abort_unread(self) -> None:
        if self._transport is not None:
            self._transport.abort()


def _decode_params(method: Method, request: Request) -> Any:
    try:
        return method.decode(request.params)
    except msgspec.ValidationError as error:
        raise InvalidArgument(f"{request.method}: {error}.", hint=choices(method.params, error)) from None
    except UnicodeDecodeError as error:
        raise InvalidArgument(f"{request.method}: {error}.") from None
    except (msgspec.DecodeError, RecursionError) as error:
        raise RequestError("INVALID_JSON", f"{request.method}: {error}.") from None


def _internal() -> WorkspacedError:
    return WorkspacedError("The daemon failed at this request; its log says more.", hint="Please report it.")


def _break_cycle(transport: asyncio.Transport) -> None:
    """Breaks the reference cycle in asyncio's transport, which holds a method of its own. Otherwise a closed
    connection would stay in memory until a rare collection of old objects. uvloop's transport has no cycle."""
    getattr(transport, "__dict__", {}).pop("_read_ready_cb", None)
