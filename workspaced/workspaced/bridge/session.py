"""What a bridge remembers of an agent's session, so that the next daemon can go on with it. No I/O.

What a session rests on: the choice of tools, `initialize` with the version that was agreed on, `initialized`, and
the subscriptions that the daemon has taken. The next daemon is told all of it, and the agent does not notice,
except that each subscribed resource is said to have changed. What was in flight is answered here: nobody knows how
far the daemon came with it, so nothing is asked twice.

Lines are whole, with their LF. Of a line of the daemon's only the id is read, with which its answers begin
(`ipc.jsonrpc`); of an agent's what is named above, and the id.

Imports only a small part of the standard library, because every agent has its own bridge process.
"""

import json
import math
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from workspaced_events.errors import WorkspacedError

from ..errors import McpError, NoDaemon, UnsupportedVersion, wire
from ..ipc.greeting import CHOICES, TOOLS_CHOSEN, chosen

Id = int | float | str
_BEGINNING: Final = b'{"id":'
_RESULT: Final = b',"result":'
_ERROR: Final = b',"error":'
_NOTIFICATION: Final = b'{"method":'
_CANCELLED: Final = "notifications/cancelled"
_INITIALIZED: Final = "notifications/initialized"
_VERSION: Final = "io.modelcontextprotocol/protocolVersion"
_SUBSCRIPTION: Final = "io.modelcontextprotocol/subscriptionId"
_OWN_ID: Final = "workspaced-bridge/subscribe/"
"""How the ids of a bridge's own requests begin; the URI follows."""


class _Listen(NamedTuple):
    """An open request `subscriptions/listen`."""

    line: bytes
    is_acknowledged: bool


class Session:
    """One agent's session, whichever daemon it is with."""

    def __init__(self, tools: str | None = None) -> None:
        self.is_native = False
        """Whether it speaks our own methods, whose state only the client itself can make anew."""
        self._is_mcp = False
        self._tools = tools
        self._initialize: dict[str, Any] | None = None
        """The request that was granted last."""
        self._agreed = ""
        """The version of MCP that its answer named."""
        self._initialized = b""
        self._watched: dict[str, None] = {}
        """The URIs of `resources/subscribe`."""
        self._listens: dict[Id, _Listen] = {}
        self._in_flight: dict[Id, list[dict[str, Any]]] = {}
        """Requests without an answer, by their ids; two of one id are answered in their order."""

    # -- while a daemon is there --

    def forward(self, line: bytes) -> None:
        """Notes a line of the agent's that goes to the daemon."""
        if self.is_native:
            return
        for message in messages(line):
            if (request_id := id_of(message)) is not None:
                self._ask(request_id, message)
            else:
                self.note(message)

    def _ask(self, request_id: Id, request: dict[str, Any]) -> None:
        if request["method"] == "subscriptions/listen":
            self._listens.setdefault(request_id, _Listen(_line(request), is_acknowledged=False))
        else:
            self._in_flight.setdefault(request_id, []).append(request)

    def note(self, notification: dict[str, Any]) -> Id | None:
        """Notes a notification of the agent's, whether or not a daemon gets it; returns the id that it cancels."""
        method, params = notification.get("method"), _params(notification)
        if method == _INITIALIZED:
            self._initialized = _line(notification)
        elif method == TOOLS_CHOSEN:
            self._choose(params)
        elif method == _CANCELLED:
            if (cancelled := _id_in(params.get("requestId"))) is not None:
                self._in_flight.pop(cancelled, None)
                self._listens.pop(cancelled, None)
            return cancelled
        return None

    def _choose(self, params: dict[str, Any]) -> None:
        tools = params.get("tools")
        if isinstance(tools, str) and tools in CHOICES:
            self._tools = tools

    def answer(self, line: bytes) -> bytes:
        """What the agent is to see of a line of the daemon's: mostly the line itself."""
        if line.startswith(_NOTIFICATION + b'"notifications/subscriptions/acknowledged"'):
            return self._acknowledged(line)
        if line.startswith(b"["):  # the answers to a batch
            for each in messages(line):
                self._answered(each.get("id"), each, is_granted="result" in each)
            return line
        if (found := _answered_in(line)) is None:
            return line
        request_id, is_granted = found
        if isinstance(request_id, str) and request_id.startswith(_OWN_ID):
            return updated(request_id.removeprefix(_OWN_ID))
        if request_id not in self._in_flight and request_id in self._listens:
            # A daemon that ends grants it, whose place the next one takes.
            if is_granted:
                return b""
            del self._listens[request_id]
            return line
        self._answered(request_id, line, is_granted=is_granted)
        return line

    def _answered(self, request_id: Any, answer: bytes | dict[str, Any], *, is_granted: bool) -> None:
        requests = self._in_flight.get(request_id)
        if not requests:
            return
        request = requests.pop(0)
        if not requests:
            del self._in_flight[request_id]
        if is_granted:
            self._granted(request, answer)

    def _granted(self, request: dict[str, Any], answer: bytes | dict[str, Any]) -> None:
        method, params = request["method"], _params(request)
        if method == "initialize":
            self._is_mcp = True
            self._initialize = request
            self._agreed = _agreed_in(answer)
        elif method.startswith("workspaced/"):
            self.is_native = not self._is_mcp
            self._choose(params)
        elif method == "resources/subscribe":
            self._watched[str(params.get("uri"))] = None
        elif method == "resources/unsubscribe":
            self._watched.pop(str(params.get("uri")), None)
        elif _is_modern(request):
            self._is_mcp = True

    def _acknowledged(self, line: bytes) -> bytes:
        """The first acknowledgement of a subscription; in the place of a later one, that its resources changed."""
        params = json.loads(line)["params"]
        request_id = params["_meta"][_SUBSCRIPTION]
        listen = self._listens.get(request_id)
        self._is_mcp = True
        if listen is None or not listen.is_acknowledged:
            if listen is not None:
                self._listens[request_id] = listen._replace(is_acknowledged=True)
            return line
        uris = params["notifications"].get("resourceSubscriptions", ())
        return b"".join(updated(uri, {_SUBSCRIPTION: request_id}) for uri in uris)

    # -- from one daemon to the next --

    def lost(self) -> tuple[bytes, list[bytes]]:
        """The answers for what is in flight, and lines that the next daemon is to get before any other.

        These are an `initialize` that was not answered, without which there is no session.
        """
        answers, again = [], []
        for request_id, requests in self._in_flight.items():
            for request in requests:
                if request["method"] == "initialize":
                    again.append(_line(request))
                else:
                    answers.append(failed(request_id, request, _ended_with(request)))
        self._in_flight.clear()
        return b"".join(answers), again

    def choice(self) -> bytes:
        """The line that tells a daemon which tools the agent's list shows; empty if none were chosen."""
        return chosen(self._tools) if self._tools is not None else b""

    def initialize(self) -> bytes:
        """The agent's `initialize` once more; empty if no daemon has answered one."""
        return _line(self._initialize) if self._initialize is not None else b""

    def check_version(self, answer: bytes) -> None:
        """Compares the answer to the second `initialize` with the first one.

        Raises:
            UnsupportedVersion: it names another version of MCP.
            NoDaemon: the daemon refused it.
        """
        decoded = json.loads(answer)
        if "result" not in decoded:
            raise NoDaemon(
                f"The daemon that runs now refuses this session: {decoded['error']['message']}",
                hint="Reconnect this MCP server.",
                retryable=False,
            )
        if (version := _agreed_in(decoded)) != self._agreed:
            raise UnsupportedVersion(
                f"This session speaks MCP {self._agreed}, and the daemon that runs now {version}.",
                hint="Reconnect this MCP server.",
                supported=[version],
                requested=self._agreed,
                retryable=False,
            )

    def resume(self) -> bytes:
        """What the next daemon is told after its answer to `initialize`: `initialized`, and the subscriptions."""
        watches = [
            _line({"jsonrpc": "2.0", "id": _OWN_ID + uri, "method": "resources/subscribe", "params": {"uri": uri}})
            for uri in self._watched
        ]
        initialized = self._initialized if self._initialize is not None else b""
        return b"".join([initialized, *watches, *(each.line for each in self._listens.values())])


# -- messages --


def messages(line: bytes) -> list[dict[str, Any]]:
    """The messages of a line, of which a batch has several; none if it cannot be read. Takes characters as the
    daemon does (`ipc.jsonrpc.mended`)."""
    try:
        decoded = json.loads(line.decode(errors="replace").removeprefix("\ufeff"))
    except (ValueError, RecursionError):
        return []
    return [each for each in (decoded if isinstance(decoded, list) else [decoded]) if isinstance(each, dict)]


def id_of(message: dict[str, Any]) -> Id | None:
    """The id of a request; None for all else."""
    return _id_in(message.get("id")) if isinstance(message.get("method"), str) else None


def _id_in(value: Any) -> Id | None:
    if isinstance(value, str):  # as the daemon reads it: U+FFFD for halves of surrogate pairs
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    is_id = math.isfinite(value) if isinstance(value, float) else isinstance(value, int)
    return value if is_id and not isinstance(value, bool) else None


def _answered_in(line: bytes) -> tuple[Any, bool] | None:
    """The id of an answer and whether it is a result; None for all else. Reads no more of our daemon's lines."""
    if not line.startswith(_BEGINNING):
        return None if line.startswith(_NOTIFICATION) else _decoded_answer(line)
    begin = len(_BEGINNING)
    end = line.find(b",", begin)
    if line.startswith(b'"', begin):  # within a string every quote has a backslash before it
        ends = [found + 1 for mark in (_RESULT, _ERROR) if (found := line.find(b'"' + mark, begin)) > 0]
        end = min(ends, default=-1)
    if not line.startswith((_RESULT, _ERROR), end):
        return _decoded_answer(line)
    try:
        return json.loads(line[begin:end]), line.startswith(_RESULT, end)
    except ValueError:  # a number that is too long for Python
        return None


def _decoded_answer(line: bytes) -> tuple[Any, bool] | None:
    found = messages(line)
    return (found[0].get("id"), "result" in found[0]) if found and "method" not in found[0] else None


def _params(message: dict[str, Any]) -> dict[str, Any]:
    params = message.get("params")
    return params if isinstance(params, dict) else {}


def _is_modern(request: dict[str, Any]) -> bool:
    meta = _params(request).get("_meta")
    return isinstance(meta, dict) and _VERSION in meta


def _agreed_in(answer: bytes | dict[str, Any]) -> str:
    decoded = answer if isinstance(answer, dict) else json.loads(answer)
    return str(decoded["result"].get("protocolVersion"))


def _line(message: dict[str, Any]) -> bytes:
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"


def updated(uri: str, meta: dict[str, Any] | None = None) -> bytes:
    """The notification that a resource has changed."""
    params: dict[str, Any] = {"uri": uri} | ({"_meta": meta} if meta else {})
    return _line({"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": params})


# -- answers of the bridge's own --


def failures(line: bytes, error: WorkspacedError) -> Iterator[bytes]:
    """The error as the answer to each request of a line that no daemon has got."""
    requests = [(request_id, each) for each in messages(line) if (request_id := id_of(each)) is not None]
    for request_id, request in requests:
        yield failed(request_id, request, error)
    if not requests:
        yield refused(None, error)


def failed(request_id: Id, request: dict[str, Any], error: WorkspacedError) -> bytes:
    """The error as the answer to a request.

    Of a tool it is a result, which runtimes give to their model; a JSON-RPC error ends the whole turn in many.
    """
    if request["method"] == "ping":
        return pong(request_id)
    if request["method"] != "tools/call":
        return refused(request_id, error)
    content = {"success": False, "error": error.message, "code": error.code, "message": error.hint}
    text = json.dumps(content | {"retryable": error.details.get("retryable", False)})
    result: dict[str, Any] = {"content": [{"type": "text", "text": text}], "isError": True}
    if _is_modern(request):
        result["resultType"] = "complete"
    return _line({"jsonrpc": "2.0", "id": request_id, "result": result})


def pong(request_id: Id) -> bytes:
    """The answer to a `ping`, which asks for the connection and not for the daemon."""
    return _line({"jsonrpc": "2.0", "id": request_id, "result": {}})


def refused(request_id: Id | None, error: WorkspacedError) -> bytes:
    """The error as JSON-RPC has it; without an id where that is unknown, as MCP wants it."""
    number = error.jsonrpc if isinstance(error, McpError) else wire(error.code).jsonrpc
    body = {
        "code": number,
        "message": error.message,
        "data": {"code": error.code, "hint": error.hint, **error.details},
    }
    named = {} if request_id is None else {"id": request_id}
    return _line({"jsonrpc": "2.0", **named, "error": body})


def _ended_with(request: dict[str, Any]) -> WorkspacedError:
    """The error of a request with which the daemon ended."""
    params = _params(request)
    if request["method"] == "tools/call" and params.get("name") == "memory":
        arguments = params.get("arguments")
        if not (isinstance(arguments, dict) and arguments.get("command") == "view"):
            return WorkspacedError(
                "The connection to the daemon ended during this write; whether it was carried out is not known.",
                hint="View the memory before you write again.",
                retryable=False,
                code="OUTCOME_UNKNOWN",
            )
    return NoDaemon("The connection to the daemon ended before it answered.", hint="Ask again.", retryable=True)
