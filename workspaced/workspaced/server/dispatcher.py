"""From a client's requests to handlers, and from their results to answers.

Blocking work (tools, reading the log) runs as a task of the daemon's task group; all else is answered at once. The
first request decides the protocol (protocol.py): our own methods, or one of the two generations of MCP.
"""

import inspect
import logging
from collections.abc import Set as AbstractSet
from typing import Any, Final

import anyio
import msgspec
from anyio.abc import TaskGroup
from msgspec.structs import replace

from workspaced_events.errors import InvalidArgument, WorkspacedError
from workspaced_events.journal.actions import check_not_paused

from ..errors import RequestError
from ..ipc.jsonrpc import (
    NO_ANSWER,
    Request,
    RequestId,
    error_response,
    is_batch,
    is_response,
    parse_batch,
    parse_request,
    readable_ids,
    response,
)
from ..ipc.params import hint_for
from ..limits import ANSWER_BYTES_MAX
from ..service.service import Service
from ..service.session import DEFERRED, Method, Outlet, Session
from .protocol import ProtocolVersion, decide

logger = logging.getLogger(__name__)


class Batch:
    """A batch of MCP 2025-03-26: several messages on one line, whose answers go out together on another.

    Answers are gathered until no request is open.
    """

    def __init__(self, line: bytes, waited_for: AbstractSet[RequestId | None]) -> None:
        """
        Args:
            waited_for: the ids of other batches' open requests.

        Raises:
            RequestError: it is no batch.
        """
        self.messages: list[Request] = []
        self.answers: list[bytes] = []
        self.ids: list[RequestId] = []
        """Of the open requests."""
        for message in parse_batch(line):
            try:
                self._add(parse_request(message), waited_for)
            except RequestError as error:
                if not is_response(message):
                    self.answers.append(error_response(next(iter(readable_ids(message)), None), error))
        self.open = len(self.ids)

    def _add(self, request: Request, waited_for: AbstractSet[RequestId | None]) -> None:
        if request.method == "initialize":
            raise RequestError("INVALID_REQUEST", "initialize stands in no batch.", hint="Send it by itself.")
        if not isinstance(request.id, msgspec.UnsetType):
            if request.id in self.ids or request.id in waited_for:
                raise RequestError(
                    "INVALID_REQUEST", "Two open requests have one id.", hint="Give each an id of its own."
                )
            self.ids.append(request.id)
        self.messages.append(request)

    @property
    def line(self) -> bytes:
        """The line with all answers, in the order in which they were ready."""
        return b"[" + b",".join(each.rstrip(b"\n") for each in self.answers) + b"]\n"


class _Nowhere:
    """The outlet after the client has gone."""

    writable = False

    def send(self, line: bytes) -> None:
        pass

    def ended(self) -> None:
        pass


_NOWHERE: Final = _Nowhere()


class Dispatcher(Session):
    """One client's requests, and the session for their handlers. Runs on the loop's thread only."""

    def __init__(self, service: Service, tasks: TaskGroup, outlet: Outlet) -> None:
        """`tasks`: the daemon's."""
        super().__init__(service, tasks, outlet)
        self.in_flight = 0
        self._protocol: ProtocolVersion | None = None
        """None: the first request decides."""
        self._running: dict[RequestId, anyio.CancelScope] = {}
        """Requests that can be cancelled."""
        self._batches: dict[RequestId | None, Batch] = {}
        """By the ids of their open requests."""

    # -- requests --

    def take(self, line: bytes) -> None:
        """Handles one message of the client, or a batch."""
        self.line_bytes = len(line)
        try:
            if self._protocol is not None and self._protocol.takes_batches and is_batch(line):
                # The answers of a batch are one, to its first id.
                batch = Batch(line, self._batches.keys())
                self._batches.update(dict.fromkeys(batch.ids, batch))
                if not batch.ids and batch.answers:
                    self._outlet.send(batch.line)
                for message in batch.messages:
                    self._handle(message)
            else:
                self._handle(parse_request(line))
        except RequestError as error:
            if self._protocol is not None and self._protocol.is_mcp and is_response(line):
                return
            self.refuse(line, error)

    def refuse(self, line: bytes, error: RequestError) -> None:
        """Answers every request on a line that could not be parsed; if no id can be read, once without one."""
        ids = readable_ids(line)
        for request_id in ids:
            self.in_flight += 1
            self.fail(request_id, error)
        if not ids:
            self._outlet.send(error_response(self._unknown_id, error))

    def _handle(self, request: Request) -> None:
        """Handles one request or notification."""
        request_id = None if request.id is msgspec.UNSET else request.id
        protocol = self._protocol
        try:
            if protocol is None or not protocol.settled:
                protocol = decide(request, protocol)
            method = protocol.begin(self, request)
            if method is None:
                return
            params = _decode_params(method, request)
            self._protocol = protocol
            if method.writes:
                self.service.check_takes_writes()
            if not method.works_paused:
                check_not_paused(self.service.tail.state)
            result = method.handler(self, request_id, params)
        except WorkspacedError as error:
            self.in_flight += 1
            self.fail(request_id, error)
            return
        except Exception:
            logger.exception("a method failed")
            self.in_flight += 1
            self.fail(request_id, _internal())
            return
        self.in_flight += 1
        if result is DEFERRED:
            return
        if not inspect.iscoroutine(result):
            self.answer(request_id, protocol.decorate(method, result))
        elif request_id is not None and protocol.is_mcp:
            scope = self._running[request_id] = anyio.CancelScope()
            self._tasks.start_soon(self._finish_unless_cancelled, scope, request_id, result, protocol, method)
        else:
            self._tasks.start_soon(self._finish, request_id, result, protocol, method)

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
            self._ended(request_id)

    def cancel(self, request_id: RequestId) -> None:
        follower = self.subscriptions.get(request_id)
        if follower is not None and follower.closing_response is not None:
            follower.close()
            del self.subscriptions[request_id]
        if (scope := self._running.get(request_id)) is not None:
            scope.cancel()

    # -- answers --

    def answer(self, request_id: RequestId | None, result: Any) -> None:
        if request_id is not None and result is not NO_ANSWER:
            try:
                line = response(request_id, result)
            except Exception:  # an unencodable answer is our bug, so the client stays connected
                logger.exception("an answer cannot be written")
                self.fail(request_id, _internal())
                return
            if len(line) > ANSWER_BYTES_MAX:
                self.fail(
                    request_id,
                    InvalidArgument(
                        f"The answer would be {len(line)} bytes; at most {ANSWER_BYTES_MAX} are sent.",
                        hint="Ask for less at a time.",
                    ),
                )
                return
            self._reply(request_id, line)
        self._ended(request_id)

    def fail(self, request_id: RequestId | None, error: WorkspacedError) -> None:
        if request_id is not None:
            self._reply(request_id, error_response(request_id, error))
        else:
            logger.debug("a notification failed: %s", error)
        self._ended(request_id)

    @property
    def _unknown_id(self) -> msgspec.UnsetType | None:
        """JSON-RPC's id where none can be read: null, or absent for MCP."""
        return msgspec.UNSET if self._protocol is not None and self._protocol.is_mcp else None

    def _reply(self, request_id: RequestId, line: bytes) -> None:
        if (batch := self._batches.get(request_id)) is not None:
            batch.answers.append(line)
        else:
            self._outlet.send(line)

    def _ended(self, request_id: RequestId | None) -> None:
        self.in_flight -= 1
        batch = self._batches.pop(request_id, None)
        if batch is not None:
            batch.open -= 1
            if batch.open:
                return
            if batch.answers:
                self._outlet.send(batch.line)
        self._outlet.ended()

    # -- subscriptions, and the end --

    def tail_moved(self) -> None:
        """Lets every subscription send new events."""
        for subscription in list(self.subscriptions.values()):
            subscription.tail_moved()

    def say_goodbye(self) -> None:
        """Sends what each subscription owes its client when the daemon ends it."""
        for each in self.subscriptions.values():
            if each.closing_response is not None:
                self._outlet.send(each.closing_response)

    def close(self) -> None:
        """Ends the subscriptions of a client who has gone. Open requests go on; their answers go nowhere."""
        self._outlet = _NOWHERE  # otherwise outlet and dispatcher would keep each other in memory
        for subscription in self.subscriptions.values():
            subscription.close()
        self.subscriptions.clear()
        self.service.views.gone(self)


def _decode_params(method: Method, request: Request) -> Any:
    try:
        return method.decode(request.params)
    except msgspec.ValidationError as error:
        if bytes(request.params) == b"null":  # as some clients write that there are none
            return _decode_params(method, replace(request, params=msgspec.Raw(b"{}")))
        hint = hint_for(request.method, method.params, error)
        raise InvalidArgument(f"{request.method}: {error}.", hint=hint) from None
    except (msgspec.DecodeError, RecursionError) as error:
        raise RequestError("INVALID_JSON", f"{request.method}: {error}.", hint="Send JSON as UTF-8.") from None


def _internal() -> WorkspacedError:
    return WorkspacedError("The daemon failed at this request; its log says more.", hint="Please report it.")
