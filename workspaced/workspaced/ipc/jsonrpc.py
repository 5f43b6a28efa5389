"""JSON-RPC 2.0 messages: from a line to a request, from a result or an error to a line. No sockets here."""

from typing import Any, Final, Literal

import msgspec

from workspaced_events.errors import WorkspacedError

from ..errors import McpError, RequestError, wire
from .framing import check_depth

RequestId = int | str
NO_ANSWER: Final = object()
"""The result of a request that stays open, so that no answer is sent."""


class Request(msgspec.Struct, frozen=True):
    """A request, or a notification when it has no id."""

    jsonrpc: Literal["2.0"]
    method: str
    id: RequestId | msgspec.UnsetType = msgspec.UNSET
    params: msgspec.Raw = msgspec.Raw(b"{}")


class _Response(msgspec.Struct, frozen=True):
    id: RequestId | None
    result: Any
    jsonrpc: str = "2.0"


class _Notification(msgspec.Struct, frozen=True):
    method: str
    params: Any
    jsonrpc: str = "2.0"


class _ErrorBody(msgspec.Struct, frozen=True):
    code: int
    message: str
    data: dict[str, Any]


class _ErrorResponse(msgspec.Struct, frozen=True):
    id: RequestId | msgspec.UnsetType | None
    error: _ErrorBody
    jsonrpc: str = "2.0"


class _Envelope(msgspec.Struct, frozen=True):
    id: Any = None
    method: Any = msgspec.UNSET
    result: Any = msgspec.UNSET
    error: Any = msgspec.UNSET


_REQUEST: Final = msgspec.json.Decoder(Request)
_ENVELOPE: Final = msgspec.json.Decoder(_Envelope)
_ENCODER: Final = msgspec.json.Encoder()


def parse_request(line: bytes) -> Request:
    """Parses a line as a request.

    Raises:
        RequestError: INVALID_JSON or INVALID_REQUEST; with `request_id` in its details if it was readable.
    """
    check_depth(line)
    try:
        return _REQUEST.decode(line)
    except (msgspec.ValidationError, UnicodeDecodeError, RecursionError) as error:
        if line.lstrip()[:1] == b"[":
            raise RequestError(
                "INVALID_REQUEST", "Batches are not taken.", hint="Send one request a line."
            ) from None
        raise RequestError(
            "INVALID_REQUEST", f"Not a JSON-RPC 2.0 request: {error}.", request_id=_readable_id(line)
        ) from None
    except msgspec.DecodeError as error:
        raise RequestError("INVALID_JSON", f"Not one JSON object on a line: {error}.") from None


def _readable_id(line: bytes) -> RequestId | None:
    try:
        request_id = _ENVELOPE.decode(line).id
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
    return request_id if isinstance(request_id, int | str) and not isinstance(request_id, bool) else None


def is_response(line: bytes) -> bool:
    """Whether the line is a response, which must not be answered."""
    try:
        envelope = _ENVELOPE.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return False
    return envelope.method is msgspec.UNSET and (
        envelope.result is not msgspec.UNSET or envelope.error is not msgspec.UNSET
    )


def response(request_id: RequestId | None, result: Any) -> bytes:
    """The line of a successful response."""
    return _ENCODER.encode(_Response(request_id, result)) + b"\n"


def notification(method: str, params: Any) -> bytes:
    """The line of a notification."""
    return _ENCODER.encode(_Notification(method, params)) + b"\n"


def error_response(request_id: RequestId | msgspec.UnsetType | None, error: WorkspacedError) -> bytes:
    """The line of an error response: JSON-RPC's number, our stable code and the step that repairs it.

    If the request's id is unknown, JSON-RPC requires `null` and MCP (UNSET) no id at all.
    """
    number = error.jsonrpc if isinstance(error, McpError) else wire(error.code).jsonrpc
    details = {camel(name): value for name, value in error.details.items() if name != "request_id"}
    body = _ErrorBody(number, error.message, {"code": error.code, "hint": error.hint, **details})
    return _ENCODER.encode(_ErrorResponse(request_id, body)) + b"\n"


def camel(name: str) -> str:
    """`snake_case` in camel case."""
    head, *rest = name.split("_")
    return head + "".join(part.capitalize() for part in rest)
