"""The proxy's life: its port, its server, its connection to the daemon, and its end."""

import logging
import os
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

import anyio
import uvicorn

from ..errors import PortTaken
from ..limits import PROXY_DRAIN_S, PROXY_IDLE_S
from .access import Access
from .application import Application
from .context import Settings
from .daemon_link import DaemonLink
from .upstream import Upstream

HOST: Final = "127.0.0.1"
_INTERRUPTED: Final = 130


class Options(NamedTuple):
    """What a proxy is to do."""

    upstream: str
    port: int
    """0: any."""
    token: str
    socket: Path
    """The daemon's."""
    client: str
    timeout_s: float
    settings: Settings


class Started(NamedTuple):
    """A proxy that takes requests."""

    url: str
    """Takes the place of the upstream's."""
    upstream: str
    without_context: str
    """Why requests get no context at present; empty: they do."""


def run_proxy(options: Options, ready: Callable[[Started], None]) -> int:
    """Serves until SIGINT or SIGTERM; returns the exit code.

    Raises:
        PortTaken: another program listens on the port.
        SettingsInvalid: the upstream is no URL.
    """
    # Their lines would hold paths, and so the token.
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access", "httpx2", "httpcore2"):
        logging.getLogger(name).disabled = True
    upstream = Upstream(options.upstream, options.timeout_s)
    with _listening(options.port) as listener:
        return anyio.run(_serve, options, upstream, listener, ready)


@contextmanager
def _listening(port: int) -> Iterator[socket.socket]:
    # With its protocol named, asyncio sets TCP_NODELAY on what it accepts. Else an answer's body, which follows
    # its head in a second write, would wait 40 ms for the client's delayed acknowledgement.
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((HOST, port))
            listener.listen()
        except OSError as error:
            raise PortTaken(
                f"Cannot listen on port {port}: {error.strerror or error}.",
                hint="Does a proxy run there already? Give another --port; 0 takes any.",
            ) from None
        yield listener


async def _serve(
    options: Options, upstream: Upstream, listener: socket.socket, ready: Callable[[Started], None]
) -> int:
    port: int = listener.getsockname()[1]
    daemon = DaemonLink(options.socket, options.client)
    application = Application(Access(options.token, port), upstream, daemon, options.settings)

    def started() -> None:
        failure = daemon.failure
        url = f"http://{HOST}:{port}/t/{options.token}"
        ready(Started(url, upstream.url, f"{failure.message}" if failure is not None else ""))

    server = _Server(application, started)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(daemon.keep_connected)
        await daemon.tried.wait()
        await server.serve(sockets=[listener])
        await upstream.aclose()
        tasks.cancel_scope.cancel()
    return _INTERRUPTED if server.signal == signal.SIGINT else os.EX_OK


class _Server(uvicorn.Server):
    """uvicorn, with our signals: the first one ends it in good order, and the caller has the exit code."""

    def __init__(self, application: Application, started: Callable[[], None]) -> None:
        super().__init__(
            uvicorn.Config(
                application,
                http="h11",
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                proxy_headers=False,
                server_header=False,
                date_header=False,
                timeout_keep_alive=PROXY_IDLE_S,
                timeout_graceful_shutdown=PROXY_DRAIN_S,
            )
        )
        self.signal: int | None = None
        self._when_started = started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._when_started()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        handled = {each: signal.signal(each, self._end) for each in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for each, before in handled.items():
                signal.signal(each, before)

    def _end(self, number: int, _frame: object) -> None:
        if self.should_exit:
            self.force_exit = True
        self.signal = self.signal or number
        self.should_exit = True
