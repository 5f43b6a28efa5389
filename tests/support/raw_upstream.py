"""A provider that does what a test's function does, byte by byte: `with RawUpstream(serve) as url`."""

import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import NamedTuple

from support.daemon import ANSWER_S

OK = b"HTTP/1.1 200 OK\r\n"


class Request(NamedTuple):
    """A request as it came."""

    line: str
    headers: list[tuple[str, str]]
    body: bytes

    def header(self, name: str) -> str | None:
        return dict(self.headers).get(name)

    @property
    def target(self) -> str:
        return self.line.split(" ")[1]


class Connection:
    """One connection of a client."""

    def __init__(self, made: socket.socket) -> None:
        self.socket = made
        made.settimeout(ANSWER_S)
        self._file = made.makefile("rb")

    def request(self) -> Request | None:
        """The next request; None at the end of the connection."""
        line = self._file.readline().decode().strip()
        if not line:
            return None
        headers = []
        while head := self._file.readline().decode().strip():
            name, _, value = head.partition(": ")
            headers.append((name.lower(), value))
        return Request(line, headers, self._body(dict(headers)))

    def _body(self, headers: dict[str, str]) -> bytes:
        if headers.get("transfer-encoding") == "chunked":
            parts = []
            while size := int(self._file.readline(), 16):
                parts.append(self._file.read(size))
                self._file.readline()
            self._file.readline()
            return b"".join(parts)
        return self._file.read(int(headers.get("content-length", "0")))

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def answer(self, body: bytes, content_type: str = "application/json", status: str = "200 OK") -> None:
        """A whole answer."""
        head = f"HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {len(body)}\r\n\r\n"
        self.send(head.encode() + body)

    def chunk(self, data: bytes) -> None:
        self.send(b"%x\r\n%b\r\n" % (len(data), data))

    def wait_until_closed(self) -> bool:
        """True once the client has closed the connection."""
        try:
            return self._file.read(1) == b""
        except ConnectionResetError:
            return True

    def close(self) -> None:
        """Ends the connection at once."""
        with suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
        self._file.close()
        self.socket.close()


class RawUpstream:
    """Gives each connection to `serve`, on a thread; a failure there fails the test."""

    def __init__(self, serve: Callable[[Connection], None]) -> None:
        self._serve = serve
        self._threads: list[threading.Thread] = []
        self._connections: list[Connection] = []
        self.failures: list[BaseException] = []

    def __enter__(self) -> str:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._threads.append(threading.Thread(target=self._accept))
        self._threads[0].start()
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def _accept(self) -> None:
        while True:
            try:
                made, _ = self._listener.accept()
            except OSError:
                return
            connection = Connection(made)
            self._connections.append(connection)
            self._threads.append(threading.Thread(target=self._run, args=(connection,)))
            self._threads[-1].start()

    def _run(self, connection: Connection) -> None:
        try:
            self._serve(connection)
        except OSError:
            pass  # the proxy closed the connection when the test ended
        except BaseException as failure:
            self.failures.append(failure)
        finally:
            connection.close()

    def __exit__(
        self, _kind: type[BaseException] | None, error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for connection in self._connections:
            with suppress(OSError):
                connection.socket.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(ANSWER_S)
        if error is None and self.failures:
            raise self.failures[0]


class Recorder:
    """A `serve` that keeps all requests and answers each with the same body."""

    def __init__(self, body: bytes = b"{}", content_type: str = "application/json") -> None:
        self.requests: list[Request] = []
        self._body = body
        self._type = content_type

    def __call__(self, connection: Connection) -> None:
        while (request := connection.request()) is not None:
            self.requests.append(request)
            connection.answer(self._body, self._type)
