"""The synchronous client: one socket, one request at a time, for scripts and the command line.

Imports neither an event loop nor pydantic, so that commands start fast.
"""

import os
import socket
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from workspaced_events.ids import uuid7

from ..errors import NoDaemon, TimedOut
from ..ipc.peer import check_daemon
from ..ipc.socket_path import default_socket
from .answers import ToolMethods
from .conversations import ContextMethods
from .wire import Answer, Notice, hello_params, parse_line, request_line, unwrap, upload_parts

_RECEIVE_BYTES = 256 * 1024


def socket_from_environment(path: Path | str | None = None, workspace: str | None = None) -> Path:
    """The daemon's socket: `path`, else WORKSPACED_SOCKET, else that of the workspace."""
    if path is not None:
        return Path(path)
    if workspace is None and (path_given := os.environ.get("WORKSPACED_SOCKET")):
        return Path(path_given)
    return default_socket(workspace or os.environ.get("WORKSPACED_WORKSPACE", "default"))


def connect(
    path: Path | str | None = None, *, workspace: str | None = None, name: str = "python", timeout_s: float = 10.0
) -> "SyncClient":
    """A connected client.

    Args:
        path: the socket; default: see `socket_from_environment`.
        workspace: selects the daemon by its workspace instead.
        name: this client's name for the daemon (share policy, records).
        timeout_s: for connecting and for each answer.

    Raises:
        NoDaemon: nobody listens there, or another user does.
    """
    return SyncClient(socket_from_environment(path, workspace), name=name, timeout_s=timeout_s)


class SyncClient(ToolMethods):
    """A connection to a daemon. `tool` calls any tool; a method for each tool gives its answer as a struct.

    Not thread-safe. After a connection error the next call reconnects."""

    def __init__(self, path: Path, *, name: str, timeout_s: float) -> None:
        self.path = path
        self._name = name
        self._timeout_s = timeout_s
        self._socket: socket.socket | None = None
        self._buffer = bytearray()
        self._notices: deque[Notice] = deque()
        self._last_id = 0
        self.server: dict[str, Any] = {}
        """The daemon's answer to hello."""
        self.context: ContextMethods[dict[str, Any]] = ContextMethods(self.call)
        """Methods for conversations and their prompts."""
        self._connect()

    # -- calls --

    def call(self, method: str, params: Any = None) -> Any:
        """Calls any method; returns its result as JSON values.

        Raises:
            RemoteError: the daemon refused.
            NoDaemon: the connection is gone.
            TimedOut: no answer in time.
        """
        if self._socket is None:
            self._connect()
        return self._request(method, params or {})

    def publish(self, actions: Sequence[dict[str, Any]], *, source: str | None = None) -> list[dict[str, Any]]:
        """Publishes a batch and returns its receipts once durable.

        Every action gets an id, so that a retry after a lost answer records nothing twice. While the workspace is
        paused the daemon holds the actions, and there are no receipts.
        """
        events: list[dict[str, Any]] = self._publish(actions, source)["events"]
        return events

    def publish_checked(
        self, actions: Sequence[dict[str, Any]], *, source: str | None = None
    ) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """Like `publish`; also returns a warning for each note that is not in the vault.

        A warning has `seq`, `note`, `message` and `near`, the notes of near names.
        """
        result = self._publish(actions, source, check=True)
        return result["events"], result["warnings"]

    def _publish(self, actions: Sequence[dict[str, Any]], source: str | None, **more: Any) -> dict[str, Any]:
        named = [action if action.get("id") else {**action, "id": uuid7()} for action in actions]
        params: dict[str, Any] = {"actions": named, **more}
        if source is not None:
            params["source"] = source
        result: dict[str, Any]
        try:
            result = self.call("workspaced/publish", params)
        except NoDaemon:
            result = self.call("workspaced/publish", params)
        return result

    def pause(self, for_s: float | None = None) -> dict[str, Any]:
        """Pauses the workspace, for `for_s` seconds or until it is resumed; returns `{since, until?}`."""
        paused: dict[str, Any] = self.call("workspaced/pause", {} if for_s is None else {"forS": for_s})["paused"]
        return paused

    def resume(self) -> None:
        """Ends a pause. Without a pause it changes nothing."""
        self.call("workspaced/resume")

    def tool(self, name: str, arguments: dict[str, Any] | None = None) -> dict[str, Any]:
        """A tool's result: `{success, data?, error?, code?, message, asOfSeq, ...}`."""
        result = self.call("tools/call", {"name": name, "arguments": arguments or {}})
        structured: dict[str, Any] = result["structuredContent"]
        return structured

    def upload(self, text: str) -> str:
        """Uploads a text too long for one request; a message then names it by the returned sha256."""
        sha256 = ""
        for part in upload_parts(text):
            sha256 = self.call("workspaced/blob/put", part).get("sha256", "")
        return sha256

    def state(
        self, *, at: int | str | None = None, vault: str | None = None, of: str | None = None
    ) -> dict[str, Any]:
        """The folded state of a vault; of whom, where several machines are linked."""
        given = {"at": at, "vault": vault, "of": of}
        params = {key: value for key, value in given.items() if value is not None}
        state: dict[str, Any] = self.call("workspaced/state", params)["state"]
        return state

    def events(self, *, since: str | int | None = None, types: Sequence[str] | None = None) -> Iterator[Notice]:
        """Subscribes and yields `workspaced/event` and `workspaced/gap` notices until the connection ends."""
        params: dict[str, Any] = {"since": since} if since is not None else {}
        if types is not None:
            params["types"] = list(types)
        self.call("workspaced/subscribe", params)
        assert self._socket is not None
        self._socket.settimeout(None)
        while True:
            if self._notices:
                yield self._notices.popleft()
            else:
                self._receive()

    # -- the connection --

    def close(self) -> None:
        """Ends the connection."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def __enter__(self) -> "SyncClient":
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.close()

    def _connect(self) -> None:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.settimeout(self._timeout_s)
        try:
            connection.connect(str(self.path))
        except OSError as error:
            connection.close()
            raise NoDaemon(
                f"No daemon listens on {self.path}: {error.strerror or error}.",
                hint="Start one with `workspaced start DIR`, or name its socket with --socket.",
            ) from None
        try:
            check_daemon(connection, self.path)
        except NoDaemon:
            connection.close()
            raise
        self._socket = connection
        self._buffer.clear()
        self._notices.clear()
        self.server = self._request("workspaced/hello", hello_params(self._name))

    def _request(self, method: str, params: Any) -> Any:
        assert self._socket is not None
        self._last_id += 1
        try:
            self._socket.sendall(request_line(self._last_id, method, params))
        except OSError as error:
            raise self._lost(error) from None
        while (answer := self._receive()) is None or answer.id not in (self._last_id, None):
            pass
        return unwrap(answer, self.server)

    def _receive(self) -> Answer | None:
        """Reads one line: returns an answer, queues a notice."""
        assert self._socket is not None
        while (end := self._buffer.find(b"\n")) < 0:
            try:
                data = self._socket.recv(_RECEIVE_BYTES)
            except TimeoutError:
                self.close()
                raise TimedOut(f"The daemon did not answer within {self._timeout_s:g} s.") from None
            except OSError as error:
                raise self._lost(error) from None
            if not data:
                raise self._lost(None)
            self._buffer += data
        message = parse_line(bytes(self._buffer[:end]))
        del self._buffer[: end + 1]
        if isinstance(message, Notice):
            self._notices.append(message)
            return None
        return message

    def _lost(self, error: OSError | None) -> NoDaemon:
        self.close()
        reason = (error.strerror or str(error)) if error else "it closed the connection"
        return NoDaemon(f"The daemon on {self.path} is gone: {reason}.", hint="Is it still running?")
