"""The endpoint `/mcp`: MCP's Streamable HTTP.

    POST   a request or notification: of 2026-07-28 by itself, of the versions before in a session
    GET    the stream of a session
    DELETE ends a session

Only MCP is spoken here: our own methods stay with the lines.
"""

from typing import Final

import msgspec

from workspaced_events.errors import WorkspacedError
from workspaced_tools.limits import ECHO_CHARS_MAX

from ...errors import McpError, RequestError, UnsupportedVersion, wire
from ...ipc.jsonrpc import (
    Request,
    RequestId,
    error_response,
    is_batch,
    is_response,
    parse_request,
    readable_ids,
)
from ...mcp.errors import UnknownSession
from ...mcp.handshake import MODERN, SUPPORTED
from ..dispatcher import Dispatcher
from ..host import Host
from ..protocol import MODERN_MCP, after_handshake, version_of
from .request import (
    EVENTS,
    JSON,
    SESSION,
    VERSION,
    HttpRefusal,
    HttpRequest,
    check_accepts,
    check_is_json,
    check_mirrored,
    check_origin,
    refusal,
)
from .response import HttpResponse
from .sessions import Session, Sessions

PATH: Final = "/mcp"
_ALLOWED: Final = ("Allow", "GET, POST, DELETE")
_STATUS: Final = {-32601: 404, -32602: 400, -32022: 400, -32020: 400, -32700: 400, -32600: 400}
"""The status of an error's answer in MCP 2026-07-28; 200 for all others."""


class Endpoint:
    """Serves the requests of one connection."""

    def __init__(self, host: Host, sessions: Sessions) -> None:
        self._host = host
        self._sessions = sessions

    def serve(self, request: HttpRequest, response: HttpResponse) -> str | None:
        """Answers a request, now or later. Returns the name of its client, as far as it is known."""
        message_id: RequestId | msgspec.UnsetType = msgspec.UNSET
        try:
            self._check(request)
            if request.method == "POST":
                if is_batch(request.body) and SESSION in request.headers:
                    return self._post_batch(request, response)
                message = _message(request)
                if message is None:
                    self._take_response(request, response)
                    return None
                message_id = message.id
                return self._post(request, message, response)
            _check_version(request)
            session = self._session_of(request)
            if request.method == "GET":
                check_accepts(request, EVENTS)
                session.open_stream(response)
                return session.dispatcher.client
            self._sessions.end(session)
            response.answer(204)
        except HttpRefusal as refused:
            response.answer(refused.status, error_response(message_id, refused.error), refused.headers)
        except WorkspacedError as error:
            if message_id is msgspec.UNSET:
                message_id = next(iter(readable_ids(request.body)), msgspec.UNSET)
            response.answer(400, error_response(message_id, error))
        return None

    def _check(self, request: HttpRequest) -> None:
        check_origin(request)
        if request.path != PATH:
            raise refusal(404, "There is nothing at this path.", f"MCP is at {PATH}.")
        if request.method not in ("GET", "POST", "DELETE"):
            raise refusal(405, f"{request.method[:ECHO_CHARS_MAX]} is not served here.", "Send a POST.", _ALLOWED)
        if request.method != "POST" and request.headers.get(VERSION) == MODERN:
            raise refusal(405, f"MCP {MODERN} has only POST.", "Send a POST.", ("Allow", "POST"))

    def _post(self, request: HttpRequest, message: Request, response: HttpResponse) -> str | None:
        _check_version(request)
        stated, meant = request.headers.get(VERSION), version_of(message)
        if stated == MODERN or (meant is not None and SESSION not in request.headers):
            check_mirrored(request.headers, message, meant)
            return self._post_alone(message, response, len(request.body))
        if message.method == "initialize" and SESSION not in request.headers:
            return self._begin_session(message, response)
        session = self._session_of(request)
        session.dispatcher.line_bytes = len(request.body)
        session.post(message, response)
        return session.dispatcher.client

    def _post_batch(self, request: HttpRequest, response: HttpResponse) -> str:
        """
        Raises:
            RequestError: it is no batch, or the session's version has none.
        """
        _check_version(request)
        _check_message(request)
        session = self._session_of(request)
        dispatcher = session.dispatcher
        dispatcher.line_bytes = len(request.body)
        if dispatcher.takes_batches:
            session.post_batch(dispatcher.batch(request.body), response)
        else:
            session.post(parse_request(request.body), response)
        return dispatcher.client

    def _post_alone(self, message: Request, response: HttpResponse, length: int) -> str:
        if message.method == "initialize":
            hint = "Leave the header MCP-Protocol-Version out to begin a session."
            raise HttpRefusal(404, RequestError("UNKNOWN_METHOD", f"MCP {MODERN} knows no initialize.", hint=hint))
        outlet = _Alone(response)
        dispatcher = response.dispatcher = Dispatcher(self._host, outlet, MODERN_MCP)
        dispatcher.line_bytes = length
        response.gone = dispatcher.abandon
        dispatcher.handle(message)
        if message.id is msgspec.UNSET:
            response.answer(202)
        return dispatcher.client

    def _begin_session(self, message: Request, response: HttpResponse) -> str:
        session = Session(self._host, after_handshake(message))
        session.post(message, response)
        if session.is_greeted:
            self._sessions.add(session)
        else:
            session.close()
        return session.dispatcher.client

    def _take_response(self, request: HttpRequest, response: HttpResponse) -> None:
        """A response of the client: the daemon asks nothing, so there is nothing to do with it."""
        self._session_of(request)
        response.answer(202)

    def _session_of(self, request: HttpRequest) -> Session:
        """
        Raises:
            HttpRefusal: there is none.
        """
        named = request.headers.get(SESSION)
        if named is None:
            hint = f"Begin a session with initialize, or send MCP-Protocol-Version: {MODERN}."
            raise refusal(400, "The header Mcp-Session-Id is missing.", hint)
        session = self._sessions.find(named)
        if session is None:
            raise HttpRefusal(
                404, UnknownSession("There is no such session any more.", hint="Begin another with initialize.")
            )
        return session


def _check_version(request: HttpRequest) -> None:
    """
    Raises:
        UnsupportedVersion: the header names a version that is not spoken here.
    """
    stated = request.headers.get(VERSION)
    if stated is not None and stated not in SUPPORTED:
        raise UnsupportedVersion(
            "Unsupported protocol version.",
            hint=f"Send {MODERN}, or begin a session with initialize.",
            supported=SUPPORTED,
            requested=stated[:ECHO_CHARS_MAX],
        )


def _message(request: HttpRequest) -> Request | None:
    """The message of a POST; None: a response.

    Raises:
        HttpRefusal: the headers are wrong.
        RequestError: the body is no message.
    """
    _check_message(request)
    try:
        return parse_request(request.body)
    except RequestError:
        if is_response(request.body):
            return None
        raise


def _check_message(request: HttpRequest) -> None:
    """
    Raises:
        HttpRefusal: the headers of a POST are wrong.
    """
    check_is_json(request)
    check_accepts(request, JSON, EVENTS)


class _Alone:
    """The outlet of a dispatcher for a single request: an answer, or a stream if something comes before it."""

    def __init__(self, response: HttpResponse) -> None:
        self._response = response

    @property
    def writable(self) -> bool:
        return self._response.writable

    def send(self, line: bytes) -> None:
        if not self._response.is_stream:
            self._response.begin_stream()
        self._response.send_event(line)

    def reply(self, _request_id: RequestId | None, line: bytes, error: WorkspacedError | None) -> None:
        if self._response.is_stream:
            self._response.send_event(line)
            self._response.end()
        else:
            self._response.answer(200 if error is None else _STATUS.get(_number(error), 200), line)

    def ended(self, _request_id: RequestId | None) -> None:
        """Nothing: a request without an answer holds a stream."""


def _number(error: WorkspacedError) -> int:
    return error.jsonrpc if isinstance(error, McpError) else wire(error.code).jsonrpc
