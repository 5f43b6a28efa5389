"""The inspector's life: its port, its server, the log it opens, and its end, also when nobody looks any more."""

import socket
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Final, NamedTuple

import anyio
from anyio import to_thread

from ..limits import SWITCH_INTERVAL_S
from ..web.loopback_server import LoopbackServer, listening, silence_logs
from .access import Access, Application, Receive, Scope, Send
from .application import Api, application
from .subject import Subject

_INSPECTOR_IDLE_S: Final = 600.0
"""How long the inspector goes on without a page or a request."""
_API: Final = "/api/"


class Options(NamedTuple):
    """What an inspector is to do."""

    subject: Subject
    port: int
    """0: any."""
    at: int | str | None = None
    """The moment that the page shows first."""
    may_change: bool = False
    idle_s: float = _INSPECTOR_IDLE_S
    """It ends when nobody looked for so long."""


def run_inspector(options: Options, ready: Callable[[str, str], None], forgotten: Callable[[], None]) -> int:
    """Serves until SIGINT or SIGTERM, or until nobody looks any more; returns the exit code.

    Args:
        ready: gets the page's address, token included, and one that opens it once, which anybody may read.
        forgotten: called before it ends because nobody looks.

    Raises:
        WorkspacedError: PORT_TAKEN: another program listens on the port.
    """
    silence_logs()
    # A thread verifies and folds the log while the page and its forty files are asked for.
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    with listening(options.port, "Give another --port; 0 takes any.", also_v6=True) as sockets:
        return anyio.run(_serve, options, sockets, ready, forgotten)


async def _serve(
    options: Options,
    sockets: list[socket.socket],
    ready: Callable[[str, str], None],
    forgotten: Callable[[], None],
) -> int:
    api = Api()
    watched = Idle(application(api), options.idle_s)
    access = Access(watched, sockets[0].getsockname()[1], options.at)
    server = LoopbackServer(access, lambda: ready(access.address, access.once), api.end)

    async def end_when_forgotten() -> None:
        await watched.over()
        forgotten()
        server.end()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_inspect, options, api)
        tasks.start_soon(end_when_forgotten)
        await server.serve(sockets=sockets)
        tasks.cancel_scope.cancel()
    return server.exit_code


async def _inspect(options: Options, api: Api) -> None:
    """Begins the API once what reads logs is imported, which takes longer than to paint the page."""
    module = await to_thread.run_sync(import_module, f"{__package__}.inspecting")
    with module.Inspecting(options.subject, may_change=options.may_change) as inspecting:
        api.begin(inspecting.routes, inspecting.end)
        await inspecting.run()


class Idle:
    """ASGI middleware: counts the requests to the API that are open, a page's tail among them."""

    def __init__(self, application: Application, after_s: float) -> None:
        """`after_s`: how long nothing may be open before `over` returns."""
        self._application = application
        self._after_s = after_s
        self._open = 0
        self._changed = anyio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not scope["path"].startswith(_API):
            await self._application(scope, receive, send)
            return
        self._count(+1)
        try:
            await self._application(scope, receive, send)
        finally:
            self._count(-1)

    async def over(self) -> None:
        """Returns when nothing was open for `after_s`, counted from now at the earliest."""
        while True:
            changed = self._changed
            with anyio.move_on_after(self._after_s if self._open == 0 else None):
                await changed.wait()
                continue
            return

    def _count(self, step: int) -> None:
        self._open += step
        # Waiting starts anew only where it ends or begins: requests of an open page wake nobody.
        if self._open == 0 or (step > 0 and self._open == 1):
            changed, self._changed = self._changed, anyio.Event()
            changed.set()
