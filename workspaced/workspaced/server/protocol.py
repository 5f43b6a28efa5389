"""The protocol of a connection, decided by its first request.

    workspaced/*                             native: all our methods, and MCP's tools and resources without a
    handshake
    initialize                               MCP with a handshake, 2024-11-05 to 2025-11-25
    a request with a version in its _meta    MCP 2026-07-28, without a handshake

A client probes a server with `server/discover`: if it is the only request so far, `initialize` may still follow.
It may also follow `ping` and a refused request.

Sources: MCP 2026-07-28, "Versioning and Compatibility" and "Overview"; for the handshake MCP 2025-11-25,
"Lifecycle".
"""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

import msgspec

from ..api.daemon import Hello, choose_tools, facts
from ..api.routes import METHODS
from ..errors import McpError, RequestError, UnsupportedVersion
from ..ipc.greeting import TOOLS_CHOSEN
from ..ipc.jsonrpc import NO_ANSWER, Request, RequestId
from ..mcp import handshake, prompts, resource_subscriptions, resources, tools
from ..mcp.handshake import MODERN, SERVER, SUPPORTED, Anything, Implementation, client_name
from ..service.session import Method, Session
from ..service.status import status

NATIVE_PREFIX: Final = "workspaced/"
_CANCEL: Final = "notifications/cancelled"
"""As in MCP, on all connections."""
_VERSION: Final = "io.modelcontextprotocol/protocolVersion"
_BATCHING: Final = "2025-03-26"
_LISTS_TTL_MS: Final = 300_000
"""Lists are constant while the daemon runs; a new version may have others."""
_LIST: Final = {"ttlMs": _LISTS_TTL_MS, "cacheScope": "public"}
_TOOL_LIST: Final = {"ttlMs": _LISTS_TTL_MS, "cacheScope": "private"}
"""Each client chooses the tools of its list."""
_READ: Final = {"ttlMs": 0, "cacheScope": "private"}
"""Not cached: the user's view may change at any moment."""


class _RequestMeta(msgspec.Struct, frozen=True):
    """A request's own description in MCP 2026-07-28."""

    version: str = msgspec.field(name=_VERSION)
    capabilities: dict[str, msgspec.Raw] = msgspec.field(name="io.modelcontextprotocol/clientCapabilities")
    client: Implementation | None = msgspec.field(name="io.modelcontextprotocol/clientInfo", default=None)


class _Carrier(msgspec.Struct, frozen=True):
    meta: _RequestMeta = msgspec.field(name="_meta")


class _Hint(msgspec.Struct, frozen=True):
    meta: dict[str, msgspec.Raw] = msgspec.field(name="_meta")


class _Cancelled(msgspec.Struct, frozen=True, rename="camel"):
    request_id: RequestId


_CARRIER: Final = msgspec.json.Decoder(_Carrier)
_HINT: Final = msgspec.json.Decoder(_Hint)
_INITIALIZE: Final = msgspec.json.Decoder(handshake.Initialize)
_CANCELLED: Final = msgspec.json.Decoder(_Cancelled)
_HELLO: Final = msgspec.json.Decoder(Hello)


class ProtocolVersion:
    """A protocol: its methods, the checks of a request and the form of a result."""

    is_mcp = False

    def __init__(
        self, methods: Mapping[str, Method], *, settled: bool = True, takes_batches: bool = False
    ) -> None:
        """`settled`: whether the connection keeps this protocol."""
        self.methods = methods
        self.settled = settled
        self.takes_batches = takes_batches

    def begin(self, session: Session, request: Request) -> Method | None:  # noqa: ARG002
        """The requested method; None for a notification that needs no more handling.

        Raises:
            RequestError: UNKNOWN_METHOD.
        """
        method = self.methods.get(request.method)
        if method is None:
            raise RequestError(
                "UNKNOWN_METHOD",
                f"There is no method {request.method[:100]!r}.",
                hint=", ".join(self.methods) + ".",
            )
        return method

    def decorate(self, method: Method, result: Any) -> Any:  # noqa: ARG002
        """The result in this protocol's form."""
        return result


class _Mcp(ProtocolVersion):
    """The common part of both generations of MCP."""

    is_mcp = True

    def begin(self, session: Session, request: Request) -> Method | None:
        if request.id is msgspec.UNSET:
            if request.method == _CANCEL:
                _cancel(session, request)
            elif request.method == TOOLS_CHOSEN:
                # A choice that does not exist is ignored.
                with suppress(msgspec.MsgspecError, RecursionError):
                    choose_tools(session, _HELLO.decode(request.params))
            return None
        if request.method.startswith(NATIVE_PREFIX) and request.method not in self.methods:
            problem = f"There is no method {request.method[:100]!r}, neither on an MCP connection nor on another."
            hint = f"Here: {', '.join(self.methods)}."
            if request.method in METHODS:
                problem = f"{request.method[:100]!r} does not work on an MCP connection."
                hint = "Open another connection to the daemon's socket and begin it with workspaced/hello."
            raise RequestError("UNKNOWN_METHOD", problem, hint=hint)
        return super().begin(session, request)


class _Modern(_Mcp):
    """MCP 2026-07-28: each request names its client and version."""

    def begin(self, session: Session, request: Request) -> Method | None:
        if request.method == "initialize":
            try:
                wanted = (_INITIALIZE.decode(request.params).protocol_version or "unknown")[:100]
            except (msgspec.MsgspecError, RecursionError):
                wanted = "unknown"
            raise UnsupportedVersion(
                f"This connection speaks MCP {MODERN}, which knows no handshake.",
                hint="Open another connection for it.",
                supported=[MODERN],
                requested=wanted,
            )
        if request.id is not msgspec.UNSET and not request.method.startswith(NATIVE_PREFIX):
            meta = _meta_of(request)
            if meta.version != MODERN:
                raise UnsupportedVersion(
                    "Unsupported protocol version.",
                    hint=f"Send {MODERN} in _meta, or begin a connection with initialize.",
                    supported=SUPPORTED,
                    requested=meta.version[:100],
                )
            session.client = client_name(meta.client)
        return super().begin(session, request)

    def decorate(self, method: Method, result: Any) -> Any:
        if result is not NO_ANSWER:
            result["resultType"] = "complete"
            result.setdefault("_meta", {})["io.modelcontextprotocol/serverInfo"] = SERVER
            if method.cache is not None:
                result.update(method.cache)
        return result


def _meta_of(request: Request) -> _RequestMeta:
    try:
        return _CARRIER.decode(request.params).meta
    except msgspec.ValidationError as error:
        raise McpError(
            f"A request of MCP {MODERN} names its version and capabilities in _meta: {error}.",
            hint=f"Give params._meta with {_VERSION} and io.modelcontextprotocol/clientCapabilities; or begin a "
            "connection with initialize, or with workspaced/hello.",
            code="META_MISSING",
        ) from None
    except (msgspec.DecodeError, RecursionError) as error:
        raise RequestError("INVALID_JSON", f"{request.method[:100]}: {error}.") from None


def _cancel(session: Session, request: Request) -> None:
    """Cancels the request that the notification names; ignores one that is not open."""
    try:
        wanted = _CANCELLED.decode(request.params).request_id
    except (msgspec.MsgspecError, RecursionError):
        return
    session.cancel(wanted)


def _greet(session: Session, _id: RequestId | None, params: Hello) -> Any:
    """`workspaced/hello` on an MCP connection; MCP has another place for the client's name."""
    choose_tools(session, params)
    return facts(session.service)


def _status(session: Session, _id: RequestId | None, _params: Any) -> Any:
    """`workspaced/status` with the fields that an agent may see."""
    return status(session.service, named=False)


_SHARED: Final = {
    "tools/list": Method(tools.Page, tools.list_tools, _TOOL_LIST, works_paused=True),
    "tools/call": METHODS["tools/call"],
    "resources/list": Method(tools.Page, resources.list_resources, _LIST, works_paused=True),
    "resources/templates/list": Method(tools.Page, resources.list_templates, _LIST, works_paused=True),
    "resources/read": Method(resources.Uri, resources.read_resource, _READ),
    "prompts/list": Method(tools.Page, prompts.list_prompts, _LIST, works_paused=True),
    "prompts/get": Method(tools.CallTool, prompts.get_prompt),
}
_WATCHING: Final = {
    "resources/subscribe": Method(resources.Uri, resource_subscriptions.subscribe, works_paused=True),
    "resources/unsubscribe": Method(resources.Uri, resource_subscriptions.unsubscribe, works_paused=True),
}
_OURS: Final = {
    "workspaced/hello": Method(Hello, _greet, works_paused=True),
    "workspaced/status": Method(Anything, _status, works_paused=True),
}
_PING: Final = {"ping": Method(Anything, handshake.ping, works_paused=True)}
_OF_MODERN: Final = {
    "server/discover": Method(Anything, handshake.discover, _LIST, works_paused=True),
    **_SHARED,
    "subscriptions/listen": Method(
        resource_subscriptions.Listen, resource_subscriptions.listen, works_paused=True
    ),
    **_OURS,
}

_NATIVE: Final = ProtocolVersion({**METHODS, **_SHARED, **_WATCHING})
_OF_HANDSHAKE: Final = {
    "initialize": Method(handshake.Initialize, handshake.initialize, works_paused=True),
    "notifications/initialized": _PING["ping"],  # as a request: some clients give it an id
    **_PING,
    **_SHARED,
    **_WATCHING,
    **_OURS,
}
_HANDSHAKE_MCP: Final = _Mcp(_OF_HANDSHAKE)
_MCP_WITH_BATCHES: Final = _Mcp(_OF_HANDSHAKE, takes_batches=True)
"""MCP 2025-03-26, the only version that has them."""
_MODERN_MCP: Final = _Modern(_OF_MODERN)
_DISCOVERING: Final = _Modern(_OF_MODERN, settled=False)
"""Probably MCP 2026-07-28, but `server/discover` was the only request so far."""
_FIRST_PING: Final = {"ping": Method(handshake.FirstPing, handshake.greet, works_paused=True)}
_UNDECIDED: Final = _Mcp(_FIRST_PING, settled=False)
"""No request so far has decided the protocol."""


def decide(request: Request, before: ProtocolVersion | None) -> ProtocolVersion:
    """The protocol of an undecided connection, by its next request.

    Raises:
        McpError: META_MISSING: the request does not decide it.
    """
    if request.method == "initialize":
        try:
            version = handshake.spoken(_INITIALIZE.decode(request.params))
        except msgspec.MsgspecError:
            return _HANDSHAKE_MCP
        return _MCP_WITH_BATCHES if version == _BATCHING else _HANDSHAKE_MCP
    if request.method.startswith(NATIVE_PREFIX):
        return _NATIVE if before is not _DISCOVERING else _MODERN_MCP
    if request.id is msgspec.UNSET:
        return before or _UNDECIDED
    if request.method == "ping" and before is not _DISCOVERING and not _is_modern(request):
        return _UNDECIDED
    if before is _DISCOVERING or _is_modern(request):
        return _DISCOVERING if request.method == "server/discover" else _MODERN_MCP
    raise McpError(
        "The first request on a connection tells what it speaks; this one does not.",
        hint=f"Begin with initialize, with params._meta that names {_VERSION}, or with workspaced/hello.",
        code="META_MISSING",
    )


def _is_modern(request: Request) -> bool:
    """Whether the request names its version; an incomplete `_meta` counts."""
    try:
        return _VERSION in _HINT.decode(request.params).meta
    except (msgspec.MsgspecError, RecursionError):
        return False
