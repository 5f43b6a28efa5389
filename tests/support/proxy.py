"""`workspaced proxy` in a process of its own, and a bare client of HTTP that hides nothing."""

import json
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPResponse
from typing import Any
from urllib.parse import urlsplit

from support.daemon import ANSWER_S, Daemon
from support.program import Program

Json = dict[str, Any]


class Proxy(Program):
    """On a port of its own."""

    def __init__(
        self, daemon: Daemon, upstream: str, *flags: str, env: Mapping[str, str] | None = None, program: Any = None
    ) -> None:
        command = (
            "proxy",
            "--upstream",
            upstream,
            "--port",
            "0",
            "--socket",
            str(daemon.socket),
            "--json",
            *flags,
        )
        super().__init__(*command, env={**daemon.env, "NO_PROXY": "*", **(env or {})}, program=program)
        self.url: str = self.started["url"]
        self.port: int = urlsplit(self.url).port or 0
        self.token = self.url.rpartition("/")[2]

    def request(
        self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None
    ) -> "Answer":
        """One request behind the token; `body` as bytes, or as JSON."""
        with self.begin(method, f"/t/{self.token}{path}", body, headers) as begun:
            return begun.whole()

    @contextmanager
    def connection(self) -> Iterator[HTTPConnection]:
        """A bare connection."""
        made = HTTPConnection("127.0.0.1", self.port, timeout=ANSWER_S)
        try:
            yield made
        finally:
            made.close()

    def raw(self, line: str, headers: str = "", body: bytes = b"") -> bytes:
        """All bytes that answer a request with that very line, up to the end of the connection."""
        head = f"{line} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\nConnection: close\r\n{headers}\r\n"
        with socket.create_connection(("127.0.0.1", self.port), ANSWER_S) as made:
            made.sendall(head.encode() + body)
            with made.makefile("rb") as file:
                return file.read()

    def begin(self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None) -> "Begun":
        """A request of that very path whose answer is still to be read."""
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        connection = HTTPConnection("127.0.0.1", self.port, timeout=ANSWER_S)
        connection.request(method, path, data, {"Accept-Encoding": "identity", **(headers or {})})
        return Begun(connection, connection.getresponse())


class Begun:
    """A request whose answer has begun."""

    def __init__(self, connection: HTTPConnection, response: HTTPResponse) -> None:
        self.connection = connection
        self.response = response

    def whole(self) -> "Answer":
        return Answer(self.response.status, dict(self.response.getheaders()), self.response.read())

    def __enter__(self) -> "Begun":
        return self

    def __exit__(self, *_: object) -> None:
        self.response.close()
        self.connection.close()


class Answer:
    """An answer, read to its end. `context` and `reason` are what the proxy says of the prompt."""

    def __init__(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        self.status = status
        self.headers = {name.lower(): value for name, value in headers.items()}
        self.body = body
        self.context = self.headers.get("x-workspaced-context", "")
        self.reason = self.headers.get("x-workspaced-reason", "")

    @property
    def code(self) -> str:
        """Of the proxy's own error."""
        error: Json = json.loads(self.body)["error"]
        assert error["type"] == "workspaced_error" and error["message"] and error["hint"]
        return str(error["code"])
