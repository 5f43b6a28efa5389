"""The inspector over HTTP: its page and its API, which begins a moment later."""

import importlib.resources
import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import anyio
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import BaseRoute, Mount, Router
from starlette.routing import Route as WebRoute
from starlette.staticfiles import StaticFiles
from starlette.types import Receive, Scope, Send

from workspaced_events.errors import WorkspacedError

from .access import Refusal, refusal_of

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
        exception_handlers={
            Refusal: _refused,
            WorkspacedError: _failed,
            HTTPException: _no_such_path,
            Exception: _broken,
        },
    )


async def _page(_request: Request) -> Response:
    return FileResponse(_STATIC / "index.html")


# Starlette types its handlers by Exception.


def _refused(_request: Request, error: Exception) -> Response:
    assert isinstance(error, Refusal)
    return Response(error.body, status_code=error.status, media_type="application/json")


def _failed(request: Request, error: Exception) -> Response:
    assert isinstance(error, WorkspacedError)
    return _refused(request, refusal_of(error))


def _no_such_path(request: Request, error: Exception) -> Response:
    from .routes import ROUTES
    from .tail import TAIL_PATH

    assert isinstance(error, HTTPException)
    hint = "The paths of the API: " + ", ".join((*(each.path for each in ROUTES), TAIL_PATH)) + "."
    refusal = Refusal(
        error.status_code, "UNKNOWN_PATH", f"There is no {request.method} {request.url.path[:200]}.", hint
    )
    return _refused(request, refusal)


def _broken(request: Request, error: Exception) -> Response:
    logger.error("a view failed", exc_info=error)
    return _refused(
        request, Refusal(500, "INTERNAL", "The inspector failed.", "Please report it, with this address.")
    )
