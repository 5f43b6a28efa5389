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
from workspaced_events.schema.decoding import converted, decoded

from ..limits import INSPECTOR_BODY_BYTES_MAX
from .inspected import Download
from .open_log import OpenLog
from .refusal import Refusal, refusal_of
from .routes import ROUTES, Route
from .tail import TAIL_PATH, Tail, TailResponse

logger = logging.getLogger(__name__)

_STATIC: Final = Path(str(importlib.resources.files(__package__))) / "static"


def application(log: OpenLog, tail: Tail) -> Starlette:
    """The page and its API over `log`, and the stream of `tail`; `Access` stands in front of it."""
    return Starlette(
        routes=[
            WebRoute("/", _page),
            Mount("/static", StaticFiles(directory=_STATIC)),
            WebRoute(TAIL_PATH, _following(tail)),
            *(WebRoute(each.path, _endpoint(log, each), methods=[each.method]) for each in ROUTES),
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


def _following(tail: Tail) -> Callable[[Request], Awaitable[Response]]:
    async def follow(_request: Request) -> Response:
        return TailResponse(tail.page())

    return follow


def _endpoint(log: OpenLog, route: Route) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        parameters = _parameters(request, await _object_in(request), route.parameters)
        return await log.read(lambda inspected: _response(route.view(inspected, parameters)))

    return answer


def _response(answer: msgspec.Struct | Download) -> Response:
    if not isinstance(answer, Download):
        return Response(msgspec.json.encode(answer), media_type="application/json")
    headers = {"content-disposition": f'attachment; filename="{answer.name}"'}
    return Response(answer.content, media_type=answer.media_type, headers=headers)


async def _object_in(request: Request) -> dict[str, Any]:
    """The JSON object that a POST holds.

    Raises:
        InvalidArgument: it is longer than allowed, or no JSON object.
    """
    if request.method != "POST":
        return {}
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > INSPECTOR_BODY_BYTES_MAX:
            raise InvalidArgument(f"Expected a body of at most {INSPECTOR_BODY_BYTES_MAX} bytes.")
    try:
        return decoded(body, dict[str, Any])
    except (msgspec.MsgspecError, RecursionError) as error:
        raise InvalidArgument(f"Expected a JSON object as the body of {request.url.path}: {error}.") from None


def _parameters(request: Request, body: dict[str, Any], kind: type[msgspec.Struct]) -> msgspec.Struct:
    """
    Raises:
        InvalidArgument: a parameter is unknown or has another type.
    """
    given: dict[str, Any] = {**body, **request.query_params, **request.path_params}
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
