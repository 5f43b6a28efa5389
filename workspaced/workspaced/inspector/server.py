"""The inspector's life: its port, its server, the log it opens, and its end."""

import socket
from collections.abc import Callable
from typing import NamedTuple

import anyio

from ..web.loopback_server import HOST, LoopbackServer, listening, silence_logs
from .access import Access, new_token
from .application import application
from .inspected import Subject
from .open_log import OpenLog


class Options(NamedTuple):
    """What an inspector is to do."""

    subject: Subject
    port: int
    """0: any."""
    may_change: bool = False


def run_inspector(options: Options, ready: Callable[[str], None]) -> int:
    """Serves until SIGINT or SIGTERM; returns the exit code. `ready` gets the page's address, token included.

    Raises:
        PortTaken: another program listens on the port.
    """
    silence_logs()
    with listening(options.port, "Give another --port; 0 takes any.", also_v6=True) as sockets:
        return anyio.run(_serve, options, sockets, ready)


async def _serve(options: Options, sockets: list[socket.socket], ready: Callable[[str], None]) -> int:
    port: int = sockets[0].getsockname()[1]
    token = new_token()
    with OpenLog(options.subject, may_change=options.may_change) as log:
        server = LoopbackServer(
            Access(application(log), token, port), lambda: ready(f"http://{HOST}:{port}/#token={token}")
        )
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(log.open)
            await server.serve(sockets=sockets)
            tasks.cancel_scope.cancel()
        return server.exit_code
