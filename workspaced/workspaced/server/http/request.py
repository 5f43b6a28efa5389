"""A request of HTTP, and what the transport chapters of MCP demand of its headers.

Sources: MCP 2025-11-25, "Transports"; MCP 2026-07-28, "Streamable HTTP".
"""

import binascii
from base64 import b64decode
from collections.abc import Mapping
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

import h11
import msgspec

from workspaced_events.errors import WorkspacedError
from workspaced_tools.limits import ECHO_CHARS_MAX

from ...errors import RequestError
from ...ipc.jsonrpc import Request
from ...mcp.errors import HeaderMismatch
from ...mcp.handshake import MODERN

VERSION: Final = "mcp-protocol-version"
SESSION: Final = "mcp-session-id"
JSON: Final = "application/json"
EVENTS: Final = "text/event-stream"
_NAMED: Final = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
"""The methods whose parameter of this name stands in the header `Mcp-Name`."""
_OUR_HOSTS: Final = frozenset({"localhost", "127.0.0.1", "::1"})
_BASE64: Final = ("=?base64?", "?=")


class HttpRefusal(Exception):
    """A request that gets a status and an error instead of an answer."""

    def __init__(self, status: int, error: WorkspacedError, headers: tuple[tuple[str, str], ...] = ()) -> None:
        super().__init__(error.message)
        self.status = status
        self.error = error
        self.headers = headers


class HttpRequest(NamedTuple):
    """A complete request."""

    method: str
    path: str
    """Without the query."""
    headers: Mapping[str, str]
    """By name in lower case; several of one name are joined by commas."""
    body: bytes

    @classmethod
    def of(cls, head: h11.Request, body: bytes) -> "HttpRequest":
        headers: dict[str, str] = {}
        for raw_name, raw_value in head.headers:
            name, value = raw_name.decode("ascii"), raw_value.decode("latin-1")
            headers[name] = f"{headers[name]}, {value}" if name in headers else value
        try:
            path = urlsplit(head.target.decode("ascii")).path
        except ValueError:
            path = ""
        return cls(head.method.decode("ascii"), path, headers, body)


def refusal(status: int, message: str, hint: str, *headers: tuple[str, str]) -> HttpRefusal:
    """A refusal with the code INVALID_REQUEST."""
    return HttpRefusal(status, RequestError("INVALID_REQUEST", message, hint=hint), headers)


def check_origin(request: HttpRequest) -> None:
    """Refuses what a page of another site asks. No browser reaches the socket, but a careless relay might.

    Raises:
        HttpRefusal: 403.
    """
    origin = request.headers.get("origin")
    if origin is None:
        return
    try:
        host = urlsplit(origin).hostname
    except ValueError:
        host = None
    if host not in _OUR_HOSTS:
        raise refusal(403, f"The origin {origin[:ECHO_CHARS_MAX]!r} is not ours.", "Leave the header Origin out.")


def check_accepts(request: HttpRequest, *types: str) -> None:
    """Without the header a client accepts everything.

    Raises:
        HttpRefusal: 406.
    """
    accepted = {part.partition(";")[0].strip() for part in request.headers.get("accept", "*/*").lower().split(",")}
    for each in types:
        if accepted.isdisjoint({each, f"{each.partition('/')[0]}/*", "*/*"}):
            raise refusal(406, f"The client does not accept {each}.", f"Send Accept: {', '.join(types)}.")


def check_is_json(request: HttpRequest) -> None:
    """
    Raises:
        HttpRefusal: 415.
    """
    if request.headers.get("content-type", "").lower().partition(";")[0].strip() != JSON:
        raise refusal(415, f"Expected a body of the type {JSON}.", f"Send Content-Type: {JSON}.")


def check_mirrored(headers: Mapping[str, str], request: Request, version: str | None) -> None:
    """The headers of MCP 2026-07-28 say the same as the body. A notification needs none of them.

    Args:
        version: that the body's `_meta` names.

    Raises:
        HeaderMismatch: one is missing or differs.
    """
    if request.id is msgspec.UNSET:
        return
    given = headers.get(VERSION)
    if given is None or (version is not None and given != version):
        raise _mismatch("MCP-Protocol-Version", given, version or MODERN)
    if headers.get("mcp-method") != request.method:
        raise _mismatch("Mcp-Method", headers.get("mcp-method"), request.method)
    field = _NAMED.get(request.method)
    if field is None:
        return
    name = _field_of(request, field)
    if name is not None and _plain(headers.get("mcp-name")) != name:
        raise _mismatch("Mcp-Name", headers.get("mcp-name"), name)


def _mismatch(header: str, given: str | None, wanted: str) -> HeaderMismatch:
    shown = "nothing" if given is None else repr(given[:ECHO_CHARS_MAX])
    return HeaderMismatch(
        f"The header {header} says {shown}, the body {wanted[:ECHO_CHARS_MAX]!r}.",
        hint=f"Send {header} with what the body says.",
    )


def _field_of(request: Request, field: str) -> str | None:
    """A parameter that is a string; None: there is none, which its handler refuses."""
    try:
        params = _PARAMS.decode(request.params)
    except (msgspec.MsgspecError, RecursionError):
        return None
    value = params.get(field)
    return value if isinstance(value, str) else None


_PARAMS: Final = msgspec.json.Decoder(dict[str, Any])


def _plain(value: str | None) -> str | None:
    """The value of a header, decoded if it is marked as base64; None: it cannot be."""
    begin, end = _BASE64
    if value is None or not (value.startswith(begin) and value.endswith(end)):
        return value
    try:
        return b64decode(value[len(begin) : -len(end)], validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None
