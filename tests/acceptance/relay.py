"""Puts a daemon's socket behind Streamable HTTP, as far as the conformance suite needs it. No part of the product.

Of 2026-07-28 each request has a connection of its own; its answer is JSON, or a stream where something is told
before it. A handshake opens a session, which is one connection; what the daemon tells unasked goes to its GET.
"""

import http.server
import json
import queue
import select
import socket
import threading
import uuid
from contextlib import suppress
from pathlib import Path
from typing import Any

WAIT_S = 20.0
MODERN = "2026-07-28"
STATUS = {-32601: 404, -32602: 400, -32022: 400, -32020: 400, -32700: 400, -32600: 400}
"""HTTP's word for errors, by the transport's rules of 2026-07-28; 200 for all others, and for all of a session."""
OURS = ("127.0.0.1", "localhost", "[::1]")
Message = dict[str, Any]


class Wire:
    """A connection to the daemon."""

    def __init__(self, path: Path) -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.connect(str(path))
        self._rest = b""

    def send(self, message: Any) -> None:
        self.socket.sendall(json.dumps(message).encode() + b"\n")

    def buffered(self) -> Message | None:
        """A message that has arrived whole."""
        line, found, rest = self._rest.partition(b"\n")
        if not found:
            return None
        self._rest = rest
        message: Message = json.loads(line)
        return message

    def receive(self) -> bool:
        """Waits for more; False at the end."""
        with suppress(OSError):
            if data := self.socket.recv(1 << 16):
                self._rest += data
                return True
        return False

    def close(self) -> None:
        with suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()


class Session:
    """A client that shook hands."""

    def __init__(self, path: Path) -> None:
        self._wire = Wire(path)
        self._answers: dict[Any, queue.Queue[Message]] = {}
        self.told: queue.Queue[Message | None] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        while True:
            while (message := self._wire.buffered()) is not None:
                waiting = self._answers.get(message.get("id"))
                (waiting or self.told).put(message)
            if not self._wire.receive():
                return self.told.put(None)

    def tell(self, message: Message) -> None:
        self._wire.send(message)

    def ask(self, message: Message) -> Message:
        waiting = self._answers[message["id"]] = queue.Queue()
        self._wire.send(message)
        answer = waiting.get(timeout=WAIT_S)
        del self._answers[message["id"]]
        return answer

    def close(self) -> None:
        self._wire.close()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: "Relay"

    def log_message(self, *_: object) -> None:
        """Nothing: the suite says what it asks."""

    # -- the three methods of the transport --

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if not self._is_local():
            return self._end(403)
        try:
            message = json.loads(body)
        except ValueError:
            return self._answer({"jsonrpc": "2.0", "error": {"code": -32700, "message": "Not JSON."}}, 400)
        known = self.headers.get("Mcp-Session-Id")
        if known is not None:
            return self._in_session(known, message)
        if message.get("method") == "initialize" and self.headers.get("MCP-Protocol-Version") != MODERN:
            return self._shake_hands(message)
        return self._alone(message)

    def do_GET(self) -> None:
        session = self.server.sessions.get(self.headers.get("Mcp-Session-Id", ""))
        if session is None or not self._is_local():
            self._end(405)
            return
        self._begin_stream()
        while not self._is_gone():
            with suppress(queue.Empty):
                if (message := session.told.get(timeout=0.2)) is None or not self._event(message):
                    return

    def do_DELETE(self) -> None:
        session = self.server.sessions.pop(self.headers.get("Mcp-Session-Id", ""), None)
        if session is None:
            return self._end(404)
        session.close()
        return self._end(204)

    # -- how a message gets to the daemon and back --

    def _shake_hands(self, message: Message) -> None:
        session, name = Session(self.server.daemon), uuid.uuid4().hex
        answer = session.ask(message)
        self.server.sessions[name] = session
        self._answer(answer, 200, name)

    def _in_session(self, name: str, message: Message) -> None:
        session = self.server.sessions.get(name)
        if session is None:
            return self._end(404)
        if "id" in message and "method" in message:
            return self._answer(session.ask(message), 200)
        session.tell(message)
        return self._end(202)

    def _alone(self, message: Message) -> None:
        wire = Wire(self.server.daemon)
        try:
            wire.send(message)
            if "id" not in message:
                return self._end(202)
            streaming = False
            while (said := self._next(wire)) is not None:
                if "id" in said and not streaming:
                    return self._answer(said, STATUS.get(said.get("error", {}).get("code", 0), 200))
                if not streaming:
                    self._begin_stream()
                    streaming = True
                if not self._event(said) or "id" in said:
                    return None
            return None if streaming else self._end(502)
        finally:
            wire.close()

    def _next(self, wire: Wire) -> Message | None:
        """What the daemon says next; None where it, or the client, has gone."""
        while (message := wire.buffered()) is None:
            ready, _, _ = select.select([wire.socket, self.connection], [], [])
            if wire.socket in ready:
                if not wire.receive():
                    return None
            elif self._is_gone():
                return None
        return message

    # -- HTTP --

    def _is_local(self) -> bool:
        """Whether it is asked by its own name; a page of another site is not."""
        host = self.headers.get("Host", "").rpartition(":")[0]
        origin = self.headers.get("Origin")
        return host in OURS and (origin is None or origin.partition("://")[2].rpartition(":")[0] in OURS)

    def _is_gone(self) -> bool:
        ready, _, _ = select.select([self.connection], [], [], 0)
        with suppress(OSError):
            return bool(ready) and not self.connection.recv(1, socket.MSG_PEEK)
        return True

    def _answer(self, message: Message, status: int, session: str = "") -> None:
        self._end(status, json.dumps(message).encode(), session)

    def _end(self, status: int, body: bytes = b"", session: str = "") -> None:
        self.send_response(status)
        if body:
            self.send_header("Content-Type", "application/json")
        if session:
            self.send_header("Mcp-Session-Id", session)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _begin_stream(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True

    def _event(self, message: Message) -> bool:
        try:
            self.wfile.write(b"event: message\ndata: " + json.dumps(message).encode() + b"\n\n")
            self.wfile.flush()
        except OSError:
            return False
        return True


class Relay(http.server.ThreadingHTTPServer):
    """Listens on a free port of this machine from `with` on; `url` is where."""

    daemon_threads = True

    def __init__(self, daemon: Path) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.daemon = daemon
        self.sessions: dict[str, Session] = {}
        self.url = f"http://127.0.0.1:{self.server_address[1]}/mcp"
        self._thread = threading.Thread(target=self.serve_forever)

    def __enter__(self) -> "Relay":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self._thread.join()
        for session in self.sessions.values():
            session.close()
        self.server_close()
