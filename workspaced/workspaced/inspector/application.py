"""The inspector over HTTP: its page, its API, and the stream that says what is new."""

import importlib.resources
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Mount
from starlette.routing import Route as WebRoute
from starlette.staticfiles import StaticFiles

from workspaced_events.errors import InvalidArgument, WorkspacedError
from workspaced_events.schema.decoding import converted

from .open_log import OpenLog
from .refusal import Refusal, refusal_of
from .routes import ROUTES, Route

logger = logging.getLogger(__name__)

_STATIC: Final = Path(str(importlib.resources.files(__package__))) / "static"


def application(log: OpenLog) -> Starlette:
    """The page and its API over `log`; `Access` stands in front of it."""
    return Starlette(
        routes=[
            WebRoute("/", _page),
            Mount("/static", StaticFiles(directory=_STATIC)),
            *(WebRoute(each.path, _endpoint(log, each), methods=["GET"]) for each in ROUTES),
        ],
        exception_handlers={
            Refusal: _refused,
            WorkspacedError: _failed,
            HTTPException: _no_such_path,
            Exception: _broken,
        },
    )


async def _page(_request: Request) -> Response:
    return FileResponse(_STATIC / "index.html")


def _endpoint(log: OpenLog, route: Route) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        parameters = _parameters(request, route.parameters)
        encoded = await log.read(lambda inspected: msgspec.json.encode(route.view(inspected, parameters)))
        return Response(encoded, media_type="application/json")

    return answer


def _parameters(request: Request, kind: type[msgspec.Struct]) -> msgspec.Struct:
    """
    Raises:
        InvalidArgument: a parameter is unknown or has another type.
    """
    given: dict[str, Any] = {**request.query_params, **request.path_params}
    try:
        return converted(given, kind, strict=False)
    except msgspec.ValidationError as error:
        raise InvalidArgument(f"{error} in the parameters of {request.url.path}.") from None


# Starlette types its handlers by Exception.


def _refused(_request: Request, error: Exception) -> Response:
    assert isinstance(error, Refusal)
    return Response(error.body, status_code=error.status, media_type="application/json")


def _failed(request: Request, error: Exception) -> Response:
    assert isinstance(error, WorkspacedError)
    return _refused(request, refusal_of(error))


def _no_such_path(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    hint = "The paths of the API: " + ", ".join(each.path for each in ROUTES) + "."
    refusal = Refusal(
        error.status_code, "UNKNOWN_PATH", f"There is no {request.method} {request.url.path[:200]}.", hint
    )
    return _refused(request, refusal)


def _broken(request: Request, _error: Exception) -> Response:
    logger.exception("a view failed")
    return _refused(
        request, Refusal(500, "INTERNAL", "The inspector failed.", "Please report it, with this address.")
    )
