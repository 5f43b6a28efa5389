"""JSON-RPC 2.0 messages: from a byte stream to lines and requests, from a result or an error to a line. No sockets
here."""

import re
from typing import Any, Final, Literal

import msgspec

from workspaced_events.errors import WorkspacedError
from workspaced_events.schema.nesting import is_deeper, open_levels

from ..errors import McpError, RequestError, wire
from ..limits import IN_FLIGHT_MAX, JSON_DEPTH_MAX, REQUEST_BYTES_MAX

_MARK: Final = "\ufeff".encode()
_MAYBE_HALF: Final = re.compile(rb"\\u[dD][89a-fA-F]")
_ESCAPE: Final = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})|\\.", re.DOTALL
)
"""A pair of surrogates, half of a pair as the group, or any other escape."""


class LineSplitter:
    """Splits received data into lines; holds at most one incomplete line of `bytes_max`."""

    def __init__(self, bytes_max: int = REQUEST_BYTES_MAX) -> None:
        self._bytes_max = bytes_max
        self._partial: list[bytes] = []
        self._partial_bytes = 0

    @property
    def partial(self) -> bool:
        """Whether an incomplete line has begun."""
        return self._partial_bytes > 0

    def take_partial(self) -> bytes:
        """What came behind the last LF, or the line that was too long: at the end of the stream."""
        partial, self._partial, self._partial_bytes = b"".join(self._partial), [], 0
        return partial

    def feed(self, data: bytes) -> list[bytes]:
        """The lines that `data` completes, without their LF.

        Raises:
            RequestError: LINE_TOO_LARGE; the stream is unusable from here on.
        """
        *lines, rest = data.split(b"\n")
        if lines and self._partial:
            lines[0] = b"".join((*self._partial, lines[0]))
            self._partial, self._partial_bytes = [], 0
        if rest:
            self._partial.append(rest)
            self._partial_bytes += len(rest)
        too_long = next((line for line in lines if len(line) > self._bytes_max), None)
        if too_long is not None:
            self._partial, self._partial_bytes = [too_long], len(too_long)
        if self._partial_bytes > self._bytes_max:
            raise RequestError(
                "LINE_TOO_LARGE",
                f"A line is longer than {self._bytes_max} bytes.",
                hint="Send less in one line: fewer actions, or a shorter text. The connection is closed.",
            )
        return lines


def mended(line: bytes) -> bytes:
    """The line without a byte order mark, and with U+FFFD for what is no character: bytes that are not UTF-8, and
    halves of surrogate pairs, as `JSON.stringify` writes a cut emoji."""
    if not line.isascii():
        try:
            line.decode()
        except UnicodeDecodeError:
            line = line.decode(errors="replace").encode()
        line = line.removeprefix(_MARK)
    if b"\\u" in line and _MAYBE_HALF.search(line):
        line = _ESCAPE.sub(lambda found: rb"\ufffd" if found[1] else found[0], line)
    return line


def check_depth(line: bytes) -> None:
    """Refuses JSON nested deeper than JSON_DEPTH_MAX, before any parser sees it.

    Raises:
        RequestError: INVALID_REQUEST.
    """
    if is_deeper(line, JSON_DEPTH_MAX):
        raise RequestError("INVALID_REQUEST", f"The JSON is nested deeper than {JSON_DEPTH_MAX}.")


RequestId = int | float | str
"""JSON-RPC allows fractions, and some clients write every number as one."""
NO_ANSWER: Final = object()
"""The result of a request that stays open, so that no answer is sent."""


class Request(msgspec.Struct, frozen=True):
    """A request, or a notification when it has no id."""

    jsonrpc: Literal["2.0"]
    method: str
    id: RequestId | msgspec.UnsetType = msgspec.UNSET
    params: msgspec.Raw = msgspec.Raw(b"{}")


class _Envelope(msgspec.Struct, frozen=True):
    method: Any = msgspec.UNSET
    result: Any = msgspec.UNSET
    error: Any = msgspec.UNSET


_REQUEST: Final = msgspec.json.Decoder(Request)
_BATCH: Final = msgspec.json.Decoder(list[msgspec.Raw])
_ENVELOPE: Final = msgspec.json.Decoder(_Envelope)
_ENCODER: Final = msgspec.json.Encoder()
_ID: Final = re.compile(
    rb'"id"\s*+:\s*+("(?:[^"\\]++|\\.)*+"|-?\d++(?:\.\d++)?(?:[eE][+-]?\d++)?)(?=\s*+[,}])', re.DOTALL
)
"""What follows shows that a number is complete."""
_ID_VALUE: Final = msgspec.json.Decoder(RequestId)


def parse_request(line: bytes) -> Request:
    """Parses a line as a request; what is no character in it is U+FFFD.

    Raises:
        RequestError: INVALID_JSON or INVALID_REQUEST. `readable_ids` has the ids to answer.
    """
    line = mended(line)
    check_depth(line)
    try:
        return _REQUEST.decode(line)
    except (msgspec.ValidationError, RecursionError) as error:
        if is_batch(line):
            raise RequestError(
                "INVALID_REQUEST", "Batches are taken in MCP 2025-03-26 only.", hint="Send one request a line."
            ) from None
        raise RequestError("INVALID_REQUEST", f"Not a JSON-RPC 2.0 request: {error}.") from None
    except msgspec.DecodeError as error:
        raise RequestError(
            "INVALID_JSON",
            f"Not one JSON object on a line: {error}.",
            hint="Send one request of JSON-RPC 2.0 a line, in UTF-8, without headers.",
        ) from None


def is_batch(line: bytes) -> bool:
    """Whether a line would be a batch: an array."""
    return line.lstrip()[:1] == b"["


def parse_batch(line: bytes) -> list[bytes]:
    """The messages of a batch.

    Raises:
        RequestError: INVALID_JSON, or INVALID_REQUEST: there are none, or too many.
    """
    line = mended(line)
    check_depth(line)
    try:
        messages = _BATCH.decode(line)
    except msgspec.DecodeError as error:
        raise RequestError("INVALID_JSON", f"Not one JSON array on a line: {error}.") from None
    if not 1 <= len(messages) <= IN_FLIGHT_MAX:
        raise RequestError(
            "INVALID_REQUEST",
            f"A batch has 1 to {IN_FLIGHT_MAX} messages, this one {len(messages)}.",
            hint="Send messages one a line.",
        )
    return list(map(bytes, messages))


def readable_ids(line: bytes) -> list[RequestId]:
    """The ids of the requests on a line that could not be parsed, whatever is wrong with it: cut off, nested too
    deep, several on one line or in a batch. At most IN_FLIGHT_MAX, as many as a client may wait for."""
    line = mended(line)
    level = 2 if is_batch(line) else 1
    found: list[RequestId] = []
    depth = end = 0
    for each in _ID.finditer(line):
        depth += open_levels(line[end : each.start()])
        end = each.end()
        if depth != level:
            continue
        try:
            found.append(_ID_VALUE.decode(each[1]))
        except msgspec.DecodeError:  # a number beyond all bounds
            continue
        if len(found) == IN_FLIGHT_MAX:
            break
    return found


def is_response(line: bytes) -> bool:
    """Whether the line is a response, which must not be answered."""
    try:
        envelope = _ENVELOPE.decode(mended(line))
    except (msgspec.MsgspecError, RecursionError):
        return False
    return envelope.method is msgspec.UNSET and (
        envelope.result is not msgspec.UNSET or envelope.error is not msgspec.UNSET
    )


def response(request_id: RequestId | None, result: Any) -> bytes:
    """The line of a successful response."""
    return _ENCODER.encode({"id": request_id, "result": result, "jsonrpc": "2.0"}) + b"\n"


def notification(method: str, params: Any) -> bytes:
    return _ENCODER.encode({"method": method, "params": params, "jsonrpc": "2.0"}) + b"\n"


def error_response(request_id: RequestId | msgspec.UnsetType | None, error: WorkspacedError) -> bytes:
    """The line of an error response: JSON-RPC's number, our stable code and the step that repairs it.

    If the request's id is unknown, JSON-RPC requires `null` and MCP (UNSET) no id at all.
    """
    number = error.jsonrpc if isinstance(error, McpError) else wire(error.code).jsonrpc
    details = {camel(name): value for name, value in error.details.items()}
    data = {"code": error.code, "hint": error.hint, **details}
    named = {} if request_id is msgspec.UNSET else {"id": request_id}
    body = {"code": number, "message": error.message, "data": data}
    return _ENCODER.encode({**named, "error": body, "jsonrpc": "2.0"}) + b"\n"


def camel(name: str) -> str:
    """`snake_case` in camel case."""
    head, *rest = name.split("_")
    return head + "".join(part.capitalize() for part in rest)
