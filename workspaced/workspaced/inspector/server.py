"""The inspector's life: its port, its server, its page and its API, which begins a moment later, the log it opens,
and its end, also when nobody looks any more."""

import importlib.resources
import logging
import socket
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Final

import anyio
from anyio import to_thread
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import BaseRoute, Mount, Router
from starlette.routing import Route as WebRoute
from starlette.staticfiles import StaticFiles

from workspaced_events.errors import WorkspacedError

from ..limits import SWITCH_INTERVAL_S
from ..web.loopback_server import LoopbackServer, listening, silence_logs
from .access import Access, Application, Receive, Refusal, Scope, Send, refusal_of
from .subject import Subject

logger = logging.getLogger(__name__)

API: Final = "/api"
_STATIC: Final = Path(str(importlib.resources.files(__package__))) / "static"


class Api:
    """ASGI application: the API. What is asked before it begins waits."""

    def __init__(self) -> None:
        self._router: Router | None = None
        self._began = anyio.Event()
        self._end: Callable[[], None] | None = None
        self._is_over = False

    def begin(self, routes: Sequence[BaseRoute], end: Callable[[], None]) -> None:
        """Answers from now on. `end`: ends what would hold up the server's own end."""
        self._router, self._end = Router(routes), end
        self._began.set()
        if self._is_over:
            end()

    def end(self) -> None:
        """The server begins to end."""
        self._is_over = True
        if self._end is not None:
            self._end()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._began.wait()
        assert self._router is not None
        await self._router(scope, receive, send)


def application(api: Api) -> Starlette:
    """The page, its files and its API; `Access` stands in front of it."""
    return Starlette(
        routes=[WebRoute("/", _page), Mount("/static", StaticFiles(directory=_STATIC)), Mount(API, api)],
        exception_handlers=dict.fromkeys((Refusal, WorkspacedError, HTTPException, Exception), _failed),
    )


async def _page(_request: Request) -> Response:
    return FileResponse(_STATIC / "index.html")


def _failed(request: Request, error: Exception) -> Response:
    match error:
        case Refusal():
            refusal = error
        case WorkspacedError():
            refusal = refusal_of(error)
        case HTTPException():
            from .routes import ROUTES
            from .tail import TAIL_PATH

            what = f"There is no {request.method} {request.url.path[:200]}."
            hint = "The paths of the API: " + ", ".join((*(each.path for each in ROUTES), TAIL_PATH)) + "."
            refusal = Refusal(error.status_code, "UNKNOWN_PATH", what, hint)
        case _:
            logger.error("a view failed", exc_info=error)
            refusal = Refusal(500, "INTERNAL", "The inspector failed.", "Please report it, with this address.")
    return Response(refusal.body, status_code=refusal.status, media_type="application/json")


_INSPECTOR_IDLE_S: Final = 600.0
"""How long the inspector goes on without a page or a request."""
_API: Final = "/api/"


def run_inspector(
    subject: Subject,
    port: int,
    at: int | str | None,
    ready: Callable[[str, str], None],
    forgotten: Callable[[], None],
    *,
    may_change: bool,
) -> int:
    """Serves until SIGINT or SIGTERM, or until nobody looks any more; returns the exit code.

    Args:
        port: 0: any.
        at: the moment that the page shows first.
        ready: gets the page's address, token included, and one that opens it once, which anybody may read.
        forgotten: called before it ends because nobody looks.

    Raises:
        WorkspacedError: PORT_TAKEN: another program listens on the port.
    """
    silence_logs()
    # A thread verifies and folds the log while the page and its forty files are asked for.
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    with listening(port, "Give another --port; 0 takes any.", also_v6=True) as sockets:
        return anyio.run(_serve, subject, at, may_change, sockets, ready, forgotten)


async def _serve(
    subject: Subject,
    at: int | str | None,
    may_change: bool,
    sockets: list[socket.socket],
    ready: Callable[[str, str], None],
    forgotten: Callable[[], None],
) -> int:
    api = Api()
    watched = Idle(application(api), _INSPECTOR_IDLE_S)
    access = Access(watched, sockets[0].getsockname()[1], at)
    server = LoopbackServer(access, lambda: ready(access.address, access.once), api.end)

    async def end_when_forgotten() -> None:
        await watched.over()
        forgotten()
        server.end()

    async def inspect() -> None:
        # Once what reads logs is imported, which takes longer than to paint the page.
        module = await to_thread.run_sync(import_module, f"{__package__}.inspecting")
        with module.Inspecting(subject, may_change=may_change) as inspecting:
            api.begin(inspecting.routes, inspecting.end)
            await inspecting.run()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(inspect)
        tasks.start_soon(end_when_forgotten)
        await server.serve(sockets=sockets)
        tasks.cancel_scope.cancel()
    return server.exit_code


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
