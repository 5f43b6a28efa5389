"""The inspector's life: its port, its server, the log it opens, and its end."""

import socket
import sys
from collections.abc import Callable
from contextlib import ExitStack
from typing import NamedTuple

import anyio

from ..limits import INSPECTOR_IDLE_S, SWITCH_INTERVAL_S
from ..web.loopback_server import HOST, LoopbackServer, listening, silence_logs
from .access import Access, new_token
from .application import application
from .idle import Idle
from .inspected import Subject
from .live import CLIENT, follow
from .masking.asked_daemon import AskedDaemon
from .open_log import OpenLog
from .tail import Opening, Tail


class Options(NamedTuple):
    """What an inspector is to do."""

    subject: Subject
    port: int
    """0: any."""
    may_change: bool = False
    reveals: bool = False
    """Whether notes that are withheld from agents are shown over a running daemon too."""
    idle_s: float = INSPECTOR_IDLE_S
    """It ends when nobody looked for so long."""


def run_inspector(options: Options, ready: Callable[[str], None], forgotten: Callable[[], None]) -> int:
    """Serves until SIGINT or SIGTERM, or until nobody looks any more; returns the exit code.

    Args:
        ready: gets the page's address, token included.
        forgotten: called before it ends because nobody looks.

    Raises:
        PortTaken: another program listens on the port.
    """
    silence_logs()
    # A thread verifies and folds the log while the page and its forty files are asked for.
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    with listening(options.port, "Give another --port; 0 takes any.", also_v6=True) as sockets:
        return anyio.run(_serve, options, sockets, ready, forgotten)


async def _serve(
    options: Options, sockets: list[socket.socket], ready: Callable[[str], None], forgotten: Callable[[], None]
) -> int:
    port: int = sockets[0].getsockname()[1]
    token = new_token()
    tail = Tail()

    def verified(done: int, of: int) -> None:
        tail.tell(Opening(done, of))

    with ExitStack() as closing:
        ask = None
        if options.subject.socket is not None and not options.reveals:
            ask = AskedDaemon(options.subject.socket, CLIENT)
            closing.callback(ask.close)
        log = closing.enter_context(OpenLog(options.subject, verified, may_change=options.may_change, ask=ask))
        watched = Idle(application(log, tail), options.idle_s)

        def ending() -> None:
            log.end()
            tail.close()

        server = LoopbackServer(
            Access(watched, token, port), lambda: ready(f"http://{HOST}:{port}/#token={token}"), ending
        )

        async def end_when_forgotten() -> None:
            await watched.over()
            forgotten()
            server.end()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(log.open)
            tasks.start_soon(follow, log, tail)
            tasks.start_soon(end_when_forgotten)
            await server.serve(sockets=sockets)
            tasks.cancel_scope.cancel()
        return server.exit_code
