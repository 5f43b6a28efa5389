"""The link's life: its port, its lock file, its sessions, and its end.

It ends by SIGTERM, SIGINT or SIGHUP. While the daemon is gone it waits for it: the user's sessions of Claude Code
then need not be connected again.

Any program of any user, and any page in a browser, can reach a port of the loopback interface. So who opens the
link must have read the lock file: the token keeps programs out. Pages are known by `Origin`, which browsers always
send, and a page whose name was made to point here (DNS rebinding) by `Host`.
"""

import asyncio
import hmac
import itertools
import logging
import os
import random
import secrets
import signal
import socket
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, ExitStack, contextmanager
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any, ClassVar, Final

import anyio
from websockets.asyncio.server import ServerConnection, serve
from websockets.datastructures import Headers
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response
from websockets.typing import Subprotocol

from workspaced_events.errors import WorkspacedError

from ..limits import LINK_CONNECTIONS_MAX, LINK_MESSAGE_BYTES_MAX, LINK_OPEN_S, LINK_SESSIONS_MAX
from .lock_files import announced
from .session import DaemonLink, Session

_LINK_PORTS: Final = (10_000, 65_535)
"""The first and the last port that Claude Code looks for."""
_LINK_END_S: Final = 2.0
"""How long sessions may take to end with the link."""
_LINK_PING_S: Final = 20.0
"""A session that does not answer a ping for so long is ended."""
_LINK_MESSAGES_WAITING_MAX: Final = 16
"""Of one session; one that sends more is not read from meanwhile."""
_LINK_PORT_TRIES_MAX: Final = 50
HOST: Final = "127.0.0.1"
MCP: Final = Subprotocol("mcp")
_INTERRUPTED: Final = 130
TOKEN_HEADER: Final = "x-claude-code-ide-authorization"  # noqa: S105 - the name of a header


class Access:
    """Checks the requests that open the link on `port`."""

    def __init__(self, token: str, port: int) -> None:
        self._token = token.encode()
        self._hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}

    def refusal(self, headers: Headers) -> tuple[HTTPStatus, str] | None:
        """The answer to a program that may not open the link; None: it may."""
        if headers.get_all("Origin"):
            return (HTTPStatus.FORBIDDEN, "A page in a browser may not open this link.\n")
        hosts = headers.get_all("Host")
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            return (HTTPStatus.FORBIDDEN, "The request was sent to another name than 127.0.0.1.\n")
        tokens = headers.get_all(TOKEN_HEADER)
        given = tokens[0].encode(errors="surrogateescape") if len(tokens) == 1 else b""
        if not hmac.compare_digest(given, self._token):
            return (HTTPStatus.UNAUTHORIZED, f"The token of the lock file is needed as {TOKEN_HEADER}.\n")
        return None


def run_link(socket_path: Path, client: str, folders: tuple[str, ...], ready: Callable[[int, Path], None]) -> int:
    """Serves until a signal; returns the exit code.

    Args:
        socket_path: the daemon's.
        client: the name whose sharing level and volunteering count.
        folders: where Claude Code may work; the first one is the vault.
        ready: told the port and the lock file, once the link takes sessions.

    Raises:
        WorkspacedError: no port is free.
        SettingsInvalid: the lock file cannot be written.
    """
    logging.getLogger("websockets").disabled = True  # its lines would hold headers, and so the token
    logging.getLogger("websockets.server").disabled = True
    token = secrets.token_hex(32)
    with _announced_port(folders, token) as (listener, lock):
        port: int = listener.getsockname()[1]
        make = partial(DaemonLink, socket_path, client, folders)
        return anyio.run(_serve, make, Access(token, port), folders, listener, partial(ready, port, lock))


@contextmanager
def _announced_port(folders: tuple[str, ...], token: str) -> Iterator[tuple[socket.socket, Path]]:
    """A socket that listens on a free port, and its lock file, which is removed before the port is free again."""
    with ExitStack() as stack:
        for _ in range(_LINK_PORT_TRIES_MAX):
            port = random.randint(*_LINK_PORTS)
            listener = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP))
            try:
                listener.bind((HOST, port))
                listener.listen()
                path = stack.enter_context(announced(port, folders, token))
            except OSError:  # another program has the port, or another editor a lock file of it
                listener.close()
                continue
            yield listener, path
            return
    raise WorkspacedError(
        f"Found no free port from {_LINK_PORTS[0]} to {_LINK_PORTS[1]} on {HOST}.",
        hint="Do many programs listen there? `ss -ltn` lists them.",
        code="PORT_TAKEN",
    )


async def _serve(
    make: Callable[[], DaemonLink],
    access: Access,
    folders: tuple[str, ...],
    listener: socket.socket,
    ready: Callable[[], None],
) -> int:
    daemon = make()
    link = _Link(access, daemon, folders)
    with anyio.open_signal_receiver(*(signal.SIGTERM, signal.SIGINT, signal.SIGHUP)) as signals:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(daemon.keep_connected)
            async with link.served(listener):
                ready()
                number = await anext(aiter(signals))
            tasks.cancel_scope.cancel()
    return _INTERRUPTED if number == signal.SIGINT else os.EX_OK


class _Link:
    """The sessions of one link, and who may open one."""

    def __init__(self, access: Access, daemon: DaemonLink, folders: tuple[str, ...]) -> None:
        self._access = access
        self._daemon = daemon
        self._folders = folders
        self._sessions = 0
        self._numbers = itertools.count(1)
        self._name = secrets.token_hex(4)

    def served(self, listener: socket.socket) -> AbstractAsyncContextManager[Any]:
        return serve(
            self._run,
            sock=listener,
            process_request=self._check,
            select_subprotocol=lambda _, offered: MCP if MCP in offered else None,
            create_connection=_Bounded,
            compression=None,  # so that a short message cannot become a long one
            server_header=None,
            open_timeout=LINK_OPEN_S,
            ping_interval=_LINK_PING_S,
            ping_timeout=_LINK_PING_S,
            close_timeout=_LINK_END_S,
            max_size=LINK_MESSAGE_BYTES_MAX,
            max_queue=_LINK_MESSAGES_WAITING_MAX,
        )

    def _check(self, connection: ServerConnection, request: Request) -> Response | None:
        refused = self._access.refusal(request.headers)
        if refused is not None:
            return connection.respond(*refused)
        if self._sessions >= LINK_SESSIONS_MAX:
            return connection.respond(
                HTTPStatus.SERVICE_UNAVAILABLE, f"There are {LINK_SESSIONS_MAX} sessions already: end one.\n"
            )
        return None

    async def _run(self, connection: ServerConnection) -> None:
        name = f"ide-{self._name}-{next(self._numbers)}"
        session = Session(name, connection, self._daemon, self._folders)
        self._sessions += 1
        try:
            async with anyio.create_task_group() as tasks:
                for task in (session.tell, session.answer):
                    tasks.start_soon(partial(_until_closed, task, tasks.cancel_scope))
        finally:
            self._sessions -= 1


async def _until_closed(task: Callable[[], Awaitable[None]], scope: anyio.CancelScope) -> None:
    try:
        await task()
    except ConnectionClosed:
        scope.cancel()


class _Bounded(ServerConnection):
    """A connection that is closed at once if there are LINK_CONNECTIONS_MAX already."""

    _open: ClassVar[set[ServerConnection]] = set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._open.add(self)
        if len(self._open) > LINK_CONNECTIONS_MAX:
            self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self._open.discard(self)
        super().connection_lost(exc)
