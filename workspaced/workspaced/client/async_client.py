"""The asynchronous client: one open connection, many requests in flight.

For UI processes: it reconnects, resends the UI's last snapshot to restore the daemon's state, and gives every
action an id, so that actions in flight when the connection broke are retried and recorded once.

The pattern that works in real editors: on any editor event recompute the whole view, coalesce, and pass it to
`show`; the daemon appends only the differences.
"""

import itertools
import logging
from collections.abc import AsyncIterator, Awaitable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import anyio
from anyio.abc import SocketAttribute, SocketStream
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from workspaced_events.errors import WorkspacedError
from workspaced_events.ids import uuid7

from ..errors import NoDaemon, RemoteError, TimedOut
from ..ipc.jsonrpc import LineSplitter
from ..ipc.peer import check_daemon
from ..limits import ANSWER_BYTES_MAX
from .answers import AsyncToolMethods
from .conversations import ContextMethods
from .sync_client import socket_from_environment
from .wire import Answer, Notice, hello_params, parse_line, request_line, unwrap, upload_parts

logger = logging.getLogger(__name__)

RETRY_FIRST_S = 0.05
RETRY_MAX_S = 2.0
NOTICES_MAX = 1_000


class Client(AsyncToolMethods):
    """A connection to a daemon, restored after losses until the context ends.

        async with Client.open(name="my-editor") as client:
            await client.publish([{"type": "active_note_set", "data": {"note": "plan.md"}}])

    Attributes:
        server: the daemon's answer to hello on the present connection.
        context: methods for conversations and their prompts.
    """

    def __init__(self, path: Path, name: str, timeout_s: float) -> None:
        self.path = path
        self.server: dict[str, Any] = {}
        self.context: ContextMethods[Awaitable[dict[str, Any]]] = ContextMethods(self.call)
        self._name = name
        self._timeout_s = timeout_s
        self._ids = itertools.count(1)
        self._lines: MemoryObjectSendStream[bytes] | None = None
        """Leads to the writing task, so that a cancelled caller leaves no partial line."""
        self._connected = anyio.Event()
        self._pending: dict[int, _Pending] = {}
        self._subscribers: dict[str, MemoryObjectSendStream[Notice]] = {}
        self._unclaimed: list[Notice] = []
        self._snapshot: dict[str, Any] | None = None
        self._showing = anyio.Lock()
        self._views = 0
        """How many views `show` was given; `_sent`: how many of them the daemon was told, or need not be."""
        self._sent = 0
        self._answered: list[dict[str, Any]] | WorkspacedError = []
        """What the daemon said of the last one."""

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        path: Path | str | None = None,
        *,
        workspace: str | None = None,
        name: str = "python",
        timeout_s: float = 10.0,
    ) -> AsyncIterator["Client"]:
        """A connected client; leaving the context ends it.

        Raises:
            NoDaemon: at the first try nobody listens, or another user does. After later losses the client
                reconnects, and calls wait for that.
        """
        client = cls(socket_from_environment(path, workspace), name, timeout_s)
        stream = await client._dial()
        failure: Exception | None = None
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(client._keep_connected, stream)
            try:
                await client._wait_connected()
                yield client
            except Exception as error:  # raised again below, outside of the task group's exception group
                failure = error
            tasks.cancel_scope.cancel()
        if failure is not None:
            raise failure

    @property
    def is_connected(self) -> bool:
        """Whether a call would be sent at once; else it waits until the connection is restored."""
        return self._connected.is_set()

    # -- calls --

    async def call(self, method: str, params: Any = None) -> Any:
        """Calls any method; returns its result as JSON values.

        Raises:
            RemoteError: the daemon refused.
            NoDaemon: the connection broke before the answer came.
            TimedOut: no answer in time.
        """
        with anyio.move_on_after(self._timeout_s):
            await self._connected.wait()
            return await self._request(method, params or {})
        raise TimedOut(f"The daemon did not answer {method} within {self._timeout_s:g} s.")

    async def upload(self, text: str) -> str:
        """Uploads a text too long for one request; a message then names it by the returned sha256."""
        sha256 = ""
        for part in upload_parts(text):
            sha256 = (await self.call("workspaced/blob/put", part)).get("sha256", "")
        return sha256

    async def publish(
        self, actions: Sequence[dict[str, Any]], *, source: str | None = None
    ) -> list[dict[str, Any]]:
        """Publishes a batch and returns its receipts once durable; retries after a reconnection.

        While the workspace is paused the daemon holds the actions, and there are no receipts.
        """
        named = [action if action.get("id") else {**action, "id": uuid7()} for action in actions]
        params: dict[str, Any] = {"actions": named, "source": source or self._name}
        while True:
            try:
                result = await self.call("workspaced/publish", params)
            except NoDaemon:
                continue
            events: list[dict[str, Any]] = result["events"]
            return events

    async def show(
        self,
        *,
        active: str | None,
        pins: Sequence[str] = (),
        tabs: Sequence[dict[str, str]] = (),
        focused: bool = True,
        selection: dict[str, Any] | None = None,
    ) -> list[dict[str, Any]]:
        """Publishes the UI's whole view; the daemon appends the differences. Resent after every reconnection.

        One view is on its way at a time, and of those that wait the newest is sent: it answers for the others.

        Args:
            focused: whether the user is in this UI; if not, no other one loses the active note to it.
            selection: `{startLine, endLine, text?}` of the active note.
        """
        view = {"active": active, "pins": list(pins), "tabs": list(tabs), "focused": focused}
        own = {"source": self._name, **view, **({} if selection is None else {"selection": selection})}
        self._snapshot, self._views = own, (views := self._views + 1)
        async with self._showing:
            if self._sent < views:
                newest = self._views
                try:
                    self._answered = (await self.call("workspaced/snapshot", self._snapshot))["events"]
                except WorkspacedError as error:
                    self._answered = error
                self._sent = newest
        if isinstance(self._answered, WorkspacedError):
            raise self._answered
        return self._answered

    async def pause(self, for_s: float | None = None) -> dict[str, Any]:
        """Pauses the workspace, for `for_s` seconds or until it is resumed; returns `{since, until?}`."""
        result = await self.call("workspaced/pause", {} if for_s is None else {"forS": for_s})
        paused: dict[str, Any] = result["paused"]
        return paused

    async def resume(self) -> None:
        """Ends a pause. Without a pause it changes nothing."""
        await self.call("workspaced/resume")

    async def tool(self, name: str, arguments: dict[str, Any] | None = None) -> dict[str, Any]:
        """A tool's result: `{success, data?, error?, code?, message, asOfSeq, ...}`."""
        result = await self.call("tools/call", {"name": name, "arguments": arguments or {}})
        structured: dict[str, Any] = result["structuredContent"]
        return structured

    async def state(
        self, *, at: int | str | None = None, vault: str | None = None, of: str | None = None
    ) -> dict[str, Any]:
        """The folded state of a vault; of whom, where several machines are linked."""
        given = {"at": at, "vault": vault, "of": of}
        params = {key: value for key, value in given.items() if value is not None}
        result = await self.call("workspaced/state", params)
        state: dict[str, Any] = result["state"]
        return state

    @asynccontextmanager
    async def subscribe(
        self, *, since: str | int | None = None, types: Sequence[str] | None = None
    ) -> AsyncIterator[MemoryObjectReceiveStream[Notice]]:
        """The events from now on, or since a clock.

        The stream ends when the connection breaks, and when its reader is NOTICES_MAX notices behind; a new
        subscription with the last notice's clock misses nothing.
        """
        params: dict[str, Any] = {}
        if since is not None:
            params["since"] = since
        if types is not None:
            params["types"] = list(types)
        send, receive = anyio.create_memory_object_stream[Notice](NOTICES_MAX)
        subscribed = await self.call("workspaced/subscribe", params)
        subscription = subscribed["subscription"]
        self._subscribers[subscription] = send
        own = [notice for notice in self._unclaimed if notice.params.get("subscription") == subscription]
        self._unclaimed = [notice for notice in self._unclaimed if notice not in own]
        for notice in own:
            send.send_nowait(notice)
        try:
            with receive:
                yield receive
        finally:
            if self._subscribers.pop(subscription, None) is not None:
                send.close()
                with anyio.move_on_after(1, shield=True), suppress(NoDaemon):
                    await self.call("workspaced/unsubscribe", {"subscription": subscription})

    # -- the connection --

    async def _wait_connected(self) -> None:
        with anyio.move_on_after(self._timeout_s):
            await self._connected.wait()
            return
        raise NoDaemon(f"What listens on {self.path} does not answer.", hint="Is it a workspaced daemon?")

    async def _dial(self) -> SocketStream:
        try:
            stream = await anyio.connect_unix(str(self.path))
        except OSError as error:
            raise NoDaemon(
                f"No daemon listens on {self.path}: {error.strerror or error}.",
                hint="Start one with `workspaced start DIR`, or name its socket.",
            ) from None
        try:
            check_daemon(stream.extra(SocketAttribute.raw_socket), self.path)  # noqa: S610 (this is no Django)
        except NoDaemon:
            await stream.aclose()
            raise
        return stream

    async def _dial_again(self) -> SocketStream:
        delay_s = RETRY_FIRST_S
        while True:
            await anyio.sleep(delay_s)
            try:
                return await self._dial()
            except NoDaemon:
                delay_s = min(delay_s * 2, RETRY_MAX_S)

    async def _keep_connected(self, stream: SocketStream) -> None:
        """Runs one connection after another, beginning with `stream`, until cancelled."""
        while True:
            self._lines, lines = anyio.create_memory_object_stream[bytes](0)
            with self._lines, lines:
                async with stream, anyio.create_task_group() as tasks:
                    tasks.start_soon(self._write, stream, lines)
                    tasks.start_soon(self._greet, stream)
                    await self._read(stream)
                    self._lose()
                    tasks.cancel_scope.cancel()
            stream = await self._dial_again()

    async def _write(self, stream: SocketStream, lines: MemoryObjectReceiveStream[bytes]) -> None:
        """Writes each line whole. After an error, closes the channel, so that no caller waits to send a line."""
        with lines, suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
            async for line in lines:
                await stream.send(line)

    async def _greet(self, stream: SocketStream) -> None:
        """Sends hello and the last view, then lets waiting calls continue."""
        try:
            with anyio.fail_after(self._timeout_s):
                self.server = await self._request("workspaced/hello", hello_params(self._name))
                if self._snapshot is not None:
                    try:
                        await self._request("workspaced/snapshot", self._snapshot)
                    except RemoteError as error:
                        # A log that takes no events may still be readable; the next `show` gets the error itself.
                        logger.warning("the view was not taken after reconnecting: %s", error)
        except (WorkspacedError, TimeoutError):
            await stream.aclose()  # the reader then ends, and the client reconnects
        else:
            self._connected.set()

    async def _read(self, stream: SocketStream) -> None:
        """Reads lines until the connection ends."""
        splitter = LineSplitter(ANSWER_BYTES_MAX)
        try:
            async for data in stream:
                for line in splitter.feed(data):
                    self._take(line)
        except (OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
            return
        except WorkspacedError as error:
            logger.warning("the connection is given up: %s", error)

    def _lose(self) -> None:
        self._connected = anyio.Event()
        self._lines = None
        pending, self._pending = self._pending, {}
        for waiting in pending.values():
            waiting.done.set()
        subscribers, self._subscribers = self._subscribers, {}
        for send in subscribers.values():
            send.close()

    def _take(self, line: bytes) -> None:
        message = parse_line(line)
        if isinstance(message, Answer):
            waiting = self._pending.pop(message.id, None) if isinstance(message.id, int) else None
            if waiting is not None:
                waiting.answer = message
                waiting.done.set()
            return
        send = self._subscribers.get(str(message.params.get("subscription")))
        if send is None:
            # The notice arrived before the result of the subscription was processed.
            self._unclaimed = [*self._unclaimed[-99:], message]
            return
        try:
            send.send_nowait(message)
        except anyio.WouldBlock:
            # Waiting here would delay every other answer; the reader can resubscribe with its last clock.
            send.close()
            del self._subscribers[str(message.params["subscription"])]
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            return

    async def _request(self, method: str, params: Any) -> Any:
        number = next(self._ids)
        waiting = self._pending[number] = _Pending()
        try:
            if self._lines is None:
                raise NoDaemon(f"The daemon on {self.path} is gone.", hint="The client connects again by itself.")
            with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                await self._lines.send(request_line(number, method, params))
                await waiting.done.wait()
        finally:
            self._pending.pop(number, None)
        if waiting.answer is None:
            raise NoDaemon(f"The daemon on {self.path} went away before it answered {method}.")
        return unwrap(waiting.answer, self.server)


class _Pending:
    """A request in flight; done without an answer: the connection is lost."""

    def __init__(self) -> None:
        self.done = anyio.Event()
        self.answer: Answer | None = None
