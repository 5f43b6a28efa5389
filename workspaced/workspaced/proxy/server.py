"""The proxy's life: its port, its server, its connection to the daemon, and its end."""

import socket
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

import anyio

from ..web.loopback_server import HOST, LoopbackServer, listening, silence_logs
from .access import Access
from .application import Application
from .daemon_link import DaemonLink
from .upstream import Upstream

_TAKEN_HINT: Final = "Does a proxy run there already? Give another --port; 0 takes any."


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
        WorkspacedError: PORT_TAKEN: another program listens on the port.
        SettingsInvalid: the upstream is no URL.
    """
    silence_logs("httpx2", "httpcore2")
    upstream = Upstream(options.upstream, options.timeout_s)
    with listening(options.port, _TAKEN_HINT) as sockets:
        return anyio.run(_serve, options, upstream, sockets, ready)


async def _serve(
    options: Options, upstream: Upstream, sockets: list[socket.socket], ready: Callable[[Started], None]
) -> int:
    port: int = sockets[0].getsockname()[1]
    daemon = DaemonLink(options.socket, options.client)
    application = Application(Access(options.token, port), upstream, daemon)

    def started() -> None:
        failure = daemon.failure
        url = f"http://{HOST}:{port}/t/{options.token}"
        ready(Started(url, upstream.url, f"{failure.message}" if failure is not None else ""))

    server = LoopbackServer(application, started)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(daemon.keep_connected)
        await daemon.tried.wait()
        await server.serve(sockets=sockets)
        await upstream.aclose()
        tasks.cancel_scope.cancel()
    return server.exit_code
