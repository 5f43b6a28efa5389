"""HTTP over a daemon's socket, by the standard library's client: a second opinion on what the daemon writes."""

import json
import socket
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import Any

from support.patience import PATIENCE_S

ANSWER_S = PATIENCE_S
MODERN = "2026-07-28"
META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "modern-http", "version": "1"},
}
JSON = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


def message(method: str, params: dict[str, Any] | None = None, number: int | None = 1) -> dict[str, Any]:
    """A request, or a notification if `number` is None."""
    made = {"jsonrpc": "2.0", "method": method, "params": params or {}}
    return made if number is None else {**made, "id": number}


def modern(method: str, number: int = 1, **params: Any) -> tuple[dict[str, Any], dict[str, str]]:
    """A request of 2026-07-28, and its headers."""
    headers = {**JSON, "MCP-Protocol-Version": MODERN, "Mcp-Method": method}
    if name := params.get("name", params.get("uri")):
        headers["Mcp-Name"] = name
    return message(method, {"_meta": META, **params}, number), headers


class HttpWire(HTTPConnection):
    """A connection to the socket. Close it at the end."""

    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=ANSWER_S)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self._path))

    def ask(self, verb: str, body: Any = None, headers: dict[str, str] | None = None) -> HTTPResponse:
        """Sends a request to `/mcp`; the body goes as JSON."""
        data = None if body is None else json.dumps(body).encode()
        self.request(verb, "/mcp", data, headers if headers is not None else JSON)
        return self.getresponse()

    def modern(self, method: str, **params: Any) -> tuple[int, Any]:
        """The status and the JSON that answer a request of 2026-07-28."""
        return read(self.ask("POST", *modern(method, **params)))


def read(response: HTTPResponse) -> tuple[int, Any]:
    """The status and the JSON of a response; None without a body."""
    body = response.read()
    return response.status, json.loads(body) if body else None


def event(response: HTTPResponse) -> Any:
    """The next message of a stream; None at its end."""
    while line := response.readline():
        if line.startswith(b"data: "):
            return json.loads(line.removeprefix(b"data: "))
    return None


def post(body: bytes, *headers: str, version: str = "1.1") -> bytes:
    """The bytes of a POST."""
    heads = (f"POST /mcp HTTP/{version}", "Host: localhost", *(f"{name}: {text}" for name, text in JSON.items()))
    return "\r\n".join((*heads, *headers, f"Content-Length: {len(body)}", "", "")).encode() + body


def modern_post(method: str, *headers: str, number: int = 1, **params: Any) -> bytes:
    """The bytes of a request of 2026-07-28."""
    body, mirrored = modern(method, number, **params)
    more = (f"{name}: {text}" for name, text in mirrored.items() if name not in JSON)
    return post(json.dumps(body).encode(), *more, *headers)
