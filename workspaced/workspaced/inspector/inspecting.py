"""The log that is inspected, opened and followed, and the API over it. Imported while the page is painted."""

from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from typing import Any

import anyio
import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute
from starlette.routing import Route as WebRoute

from workspaced_events.errors import InvalidArgument
from workspaced_events.schema.decoding import converted, decoded

from ..limits import INSPECTOR_BODY_BYTES_MAX
from .application import API
from .inspected import Download
from .live import follow
from .open_log import OpenLog
from .routes import ROUTES, Route
from .subject import Subject
from .tail import TAIL_PATH, Opening, Tail, TailResponse


class Inspecting:
    """An inspected log. Leaving its `with` block closes it."""

    def __init__(self, subject: Subject, *, may_change: bool) -> None:
        self._closing = ExitStack()
        self._tail = Tail()
        self._log = self._closing.enter_context(OpenLog(subject, self._verified, may_change=may_change))

    def __enter__(self) -> "Inspecting":
        return self

    def __exit__(self, *_error: object) -> None:
        self._closing.close()

    @property
    def routes(self) -> list[BaseRoute]:
        """The views, and the stream that says what is new, at their paths below `API`."""
        stream = WebRoute(TAIL_PATH.removeprefix(API), _following(self._tail))
        views = (
            WebRoute(each.path.removeprefix(API), _endpoint(self._log, each), methods=[each.method])
            for each in ROUTES
        )
        return [stream, *views]

    async def run(self) -> None:
        """Opens the log and follows it, until cancelled."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._log.open)
            tasks.start_soon(follow, self._log, self._tail)

    def end(self) -> None:
        """Gives up what is under way, and ends the pages' streams."""
        self._log.end()
        self._tail.close()

    def _verified(self, done: int, of: int) -> None:
        self._tail.tell(Opening(done, of))


# -- the API --


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
