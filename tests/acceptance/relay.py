"""MCP's Streamable HTTP in front of `workspaced mcp`: the conformance suite speaks nothing else.

No part of the product, which speaks MCP in lines alone. A session has a bridge of its own, and so has a request
outside of sessions. Messages pass as they are: the relay reads what tells an answer from a message before it, and
the number of an error, which HTTP repeats as a status. It holds no header against the body.
"""

import json
import subprocess
import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import chain
from typing import IO, Any
from uuid import uuid4

SESSION = "Mcp-Session-Id"
STATUS = {-32601: 404, -32602: 400, -32022: 400, -32700: 400, -32600: 400}
"""Of an error outside of sessions."""


class Bridge:
    """A running `workspaced mcp`."""

    def __init__(self, command: list[str]) -> None:
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.process.stdin is not None and self.process.stdout is not None
        self.stdin: IO[bytes] = self.process.stdin
        self.stdout: IO[bytes] = self.process.stdout
        self.turn = threading.Lock()
        """Held from a request to its answer."""

    def close(self) -> None:
        self.process.terminate()
        self.process.wait()


class Handler(BaseHTTPRequestHandler):
    server: "Relay"
    protocol_version = "HTTP/1.1"

    def handle(self) -> None:
        with suppress(ConnectionError):  # a client may leave at any time
            super().handle()

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        message = json.loads(body)
        session = self.headers.get(SESSION)
        if session is None and message.get("method") == "initialize":
            session = uuid4().hex
        bridge = self.server.bridge(session or uuid4().hex)
        with bridge.turn:
            bridge.stdin.write(body.replace(b"\n", b" ") + b"\n")
            bridge.stdin.flush()
            self.answer(bridge if "id" in message else None, session)
        if session is None:
            bridge.close()

    def do_GET(self) -> None:
        """Neither a session's stream nor its end is served; MCP allows that."""
        self.begin(405, None, ("Allow", "POST"), ("Content-Length", "0"))

    do_DELETE = do_GET  # noqa: N815

    def answer(self, bridge: Bridge | None, session: str | None) -> None:
        """Sends an answer that comes first as JSON; otherwise all messages up to the answer as a stream."""
        if bridge is None:
            self.begin(202, session, ("Content-Length", "0"))
            return
        first = bridge.stdout.readline()
        message = json.loads(first)
        if is_answer(message):
            error = None if session else message.get("error", {}).get("code")
            length = ("Content-Length", str(len(first)))
            self.begin(STATUS.get(error, 200), session, ("Content-Type", "application/json"), length)
            self.wfile.write(first)
            return
        self.begin(200, session, ("Content-Type", "text/event-stream"), ("Connection", "close"))
        for line in chain([first], bridge.stdout):
            self.wfile.write(b"data: " + line + b"\n")
            if is_answer(json.loads(line)):
                return

    def begin(self, status: int, session: str | None, *headers: tuple[str, str]) -> None:
        self.send_response(status)
        for each in (*headers, *([(SESSION, session)] if session else [])):
            self.send_header(*each)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Nothing: the suite keeps an account of its own."""


def is_answer(message: dict[str, Any]) -> bool:
    return "method" not in message


class Relay(ThreadingHTTPServer):
    """Listens on a free port of this machine from `with` on; `url` is where."""

    daemon_threads = True

    def __init__(self, command: list[str]) -> None:
        """`command` starts a bridge."""
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}/mcp"
        self._command = command
        self._bridges: dict[str, Bridge] = {}
        self._thread = threading.Thread(target=self.serve_forever)

    def bridge(self, name: str) -> Bridge:
        """The bridge of this name, which starts where there is none."""
        if name not in self._bridges:
            self._bridges[name] = Bridge(self._command)
        return self._bridges[name]

    def __enter__(self) -> "Relay":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self._thread.join()
        self.server_close()
        for bridge in self._bridges.values():
            bridge.close()
