"""MCP clients of both eras over a bare wire, which hold every message against the specification's JSON Schema."""

import json
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from support import mcp_schema

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "modern", "version": "1"},
}
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "handshake", "version": "1"}}


class Peer:
    """An MCP client. `meta` goes into every request."""

    def __init__(self, wire: Any, revision: str, meta: dict[str, Any] | None = None) -> None:
        self.wire = wire
        self.revision = revision
        self.meta = meta
        self._notices: deque[dict[str, Any]] = deque()
        self._methods: dict[int, str] = {}

    def send(self, method: str, **params: Any) -> int:
        """Sends a request that must be a valid one; returns its id."""
        if self.meta is not None:
            params = {"_meta": self.meta, **params}
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        mcp_schema.check_request(self.revision, message)
        number: int = self.wire.request(method, params)
        self._methods[number] = method
        return number

    def tell(self, method: str, **params: Any) -> None:
        """Sends a notification."""
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        mcp_schema.check(self.revision, "ClientNotification", message)
        self.wire.send(json.dumps(message).encode() + b"\n")

    def answer(self, number: int) -> dict[str, Any]:
        """The valid message that answers a request; notifications before it are kept."""
        while True:
            message = self.line()
            if message.get("id") == number:
                return message
            assert "method" in message, message
            self._notices.append(message)

    def line(self) -> dict[str, Any]:
        """The next message, valid."""
        message: dict[str, Any] | None = self.wire.line()
        assert message is not None, "the daemon closed the connection"
        mcp_schema.check_from_server(self.revision, message, self._methods.get(message.get("id", 0), ""))
        return message

    def result(self, method: str, **params: Any) -> dict[str, Any]:
        message = self.answer(self.send(method, **params))
        assert "result" in message, message
        result: dict[str, Any] = message["result"]
        return result

    def error(self, method: str, **params: Any) -> dict[str, Any]:
        message = self.answer(self.send(method, **params))
        assert "error" in message, message
        error: dict[str, Any] = message["error"]
        return error

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        return self.result("tools/call", name=tool, arguments=arguments)

    def notice(self) -> dict[str, Any]:
        """The next notification."""
        return self._notices.popleft() if self._notices else self.line()

    def notices_before(self, method: str, **params: Any) -> list[dict[str, Any]]:
        """The notifications that came until a further request was answered."""
        self.result(method, **params)
        came = list(self._notices)
        self._notices.clear()
        return came


Peers = Callable[..., Peer]


@pytest.fixture
def modern() -> Peers:
    """Makes clients of MCP 2026-07-28: `modern(daemon)`, or with a name."""

    def made(daemon: Any, name: str = "modern") -> Peer:
        info = {"name": name, "version": "1"}
        return Peer(daemon.wire(), "2026-07-28", {**META, "io.modelcontextprotocol/clientInfo": info})

    return made


@pytest.fixture
def handshake() -> Peers:
    """Makes clients of MCP 2025-11-25 that have shaken hands: `handshake(daemon)`, or with a name."""

    def made(daemon: Any, name: str = "handshake") -> Peer:
        peer = Peer(daemon.wire(), "2025-11-25")
        peer.result("initialize", **{**HELLO, "clientInfo": {"name": name, "version": "1"}})
        peer.tell("notifications/initialized")
        return peer

    return made


@pytest.fixture(params=["modern", "handshake"])
def peer(request: pytest.FixtureRequest, shared: Any) -> Iterator[Peer]:
    """A client of either era on the shared daemon."""
    made: Peer = request.getfixturevalue(request.param)(shared)
    yield made
    made.wire.close()


@pytest.fixture(scope="module")
def two(module_daemon: Any) -> Any:
    """Two running daemons of one home, `first` and `second`; neither is the default one."""
    first = module_daemon("--workspace", "first")
    second = module_daemon("--workspace", "second", env={"HOME": first.env["HOME"]})
    return first, second
