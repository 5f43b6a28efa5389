"""What a method may use of the connection that it answers."""

from collections.abc import Callable
from typing import Any, Protocol

from workspaced_events.errors import WorkspacedError

from ..ipc.jsonrpc import RequestId
from .service import Service


class Follower(Protocol):
    """Something open on a session that follows the log: a subscription, or resources that are watched."""

    @property
    def closing_response(self) -> bytes | None:
        """The line to send when the daemon or the client ends it; None: nothing is sent."""
        ...

    def tail_moved(self) -> None:
        """There may be something to send."""
        ...

    def close(self) -> None:
        """Sends nothing more."""
        ...


class Session(Protocol):
    """One client's connection as methods see it. Belongs to the loop's thread."""

    service: Service
    client: str
    """The name of the client that made the request at hand."""
    line_bytes: int
    """The length of that request's line."""
    subscriptions: dict[RequestId, Follower]

    def __hash__(self) -> int:
        """Each session is a publisher of its own: what waits for the disk is counted for each."""
        ...

    @property
    def writable(self) -> bool:
        """Whether the client keeps up with reading."""
        ...

    def send(self, line: bytes) -> None:
        """Writes one line."""
        ...

    def answer(self, request_id: RequestId | None, result: Any) -> None:
        """Ends a request with its result; a notification gets none."""
        ...

    def fail(self, request_id: RequestId | None, error: WorkspacedError) -> None:
        """Ends a request with an error; a notification gets none."""
        ...

    def cancel(self, request_id: RequestId) -> None:
        """Ends a request that is still open without an answer."""
        ...

    def start_soon(self, function: Callable[..., Any], *args: Any) -> None:
        """Runs a coroutine function in the daemon's task group."""
        ...

    def call_later(self, delay_s: float, function: Callable[[], None]) -> None:
        """Calls a function on the loop after a while."""
        ...
