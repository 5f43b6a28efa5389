"""`Session`: the part of a connection that handlers may use; `Method`: a method of the API with its handler."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import msgspec
from anyio.abc import TaskGroup

from workspaced_events.errors import WorkspacedError
from workspaced_tools.tools.registry import ToolSet

from ..ipc.jsonrpc import RequestId
from .service import Service

DEFERRED: Final = object()
"""A handler returns this if it answers later, by `Session.answer` or `Session.fail`."""


class Follower(Protocol):
    """A subscription, or a watch on resources: it belongs to a session and follows the log."""

    @property
    def closing_response(self) -> bytes | None:
        """The line to send when the daemon or the client ends the follower; None: send nothing."""
        ...

    def tail_moved(self) -> None:
        """Called when the log has new events, and when the client reads again."""
        ...

    def close(self) -> None:
        """Sends nothing more."""
        ...


class Outlet(Protocol):
    """What carries a dispatcher's messages to its client."""

    @property
    def writable(self) -> bool:
        """Whether the client reads fast enough."""
        ...

    def send(self, line: bytes) -> None:
        """Sends a message."""
        ...

    def ended(self) -> None:
        """Called when a request has ended, answered or not."""
        ...


class Session:
    """One client's connection as methods see it. Belongs to the loop's thread."""

    def __init__(self, service: Service, tasks: TaskGroup, outlet: Outlet) -> None:
        """`tasks`: the daemon's."""
        self.service = service
        self.client = "unknown"
        """The name of the client that made the request at hand, or the last one."""
        self.inferred = False
        """Whether the client infers the views that it shows."""
        self.tools: ToolSet = "all"
        """The tools that `tools/list` shows on this connection."""
        self.line_bytes = 0
        """The length of that request's line."""
        self.subscriptions: dict[RequestId, Follower] = {}
        self._tasks = tasks
        self._outlet = outlet

    @property
    def writable(self) -> bool:
        """Whether the client reads fast enough to be sent more."""
        return self._outlet.writable

    def send(self, line: bytes) -> None:
        """Writes one line, which answers no request."""
        self._outlet.send(line)

    def answer(self, request_id: RequestId | None, result: Any) -> None:
        """Ends a request with its result; sends nothing for a notification or for NO_ANSWER."""
        raise NotImplementedError

    def fail(self, request_id: RequestId | None, error: WorkspacedError) -> None:
        """Ends a request with an error; a notification gets none."""
        raise NotImplementedError

    def cancel(self, request_id: RequestId) -> None:
        """Ends a request that is still open without an answer, at its client's request."""
        raise NotImplementedError

    def start_soon(self, function: Callable[..., Any], *args: Any) -> None:
        """Runs a coroutine function in the daemon's task group."""
        self._tasks.start_soon(function, *args)

    def call_later(self, delay_s: float, function: Callable[[], None]) -> None:
        """Calls a function on the loop after `delay_s`."""
        asyncio.get_running_loop().call_later(delay_s, function)


@dataclass(frozen=True, slots=True)
class Method:
    """One row of a table of methods."""

    params: Any
    handler: Callable[[Session, RequestId | None, Any], Any]
    cache: dict[str, Any] | None = None
    """The fields that MCP 2026-07-28 adds to the result: how long it may be cached, and by which clients."""
    works_paused: bool = False
    """Whether it answers while the user has paused the workspace; all other methods answer PAUSED. True for
    methods that administer the daemon or read the log, and for those that see to the pause themselves."""
    writes: bool = False
    """Whether it changes the workspace, or what is shared of it; where a daemon takes no changes it is refused."""
    decode: Callable[[bytes], Any] = field(init=False)
    """Decodes JSON to `params`; raises msgspec's errors."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "decode", msgspec.json.Decoder(self.params).decode)
