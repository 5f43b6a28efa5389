"""Gives a daemon's socket a port of this machine, byte for byte: the conformance suite knows no Unix sockets.

No part of the product, which has no listener on the network.
"""

import socket
import socketserver
import threading
from contextlib import suppress
from pathlib import Path

CHUNK_BYTES = 65_536


class Handler(socketserver.BaseRequestHandler):
    server: "Relay"

    def handle(self) -> None:
        with socket.socket(socket.AF_UNIX) as daemon:
            daemon.connect(str(self.server.daemon))
            answers = threading.Thread(target=copy, args=(daemon, self.request))
            answers.start()
            copy(self.request, daemon)
            answers.join()


def copy(source: socket.socket, target: socket.socket) -> None:
    """Copies until the source ends; then nothing more goes either way."""
    with suppress(OSError):
        while data := source.recv(CHUNK_BYTES):
            target.sendall(data)
    for each in (source, target):
        with suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)


class Relay(socketserver.ThreadingTCPServer):
    """Listens on a free port of this machine from `with` on; `url` is where."""

    daemon_threads = True

    def __init__(self, daemon: Path) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.daemon = daemon
        self.url = f"http://127.0.0.1:{self.server_address[1]}/mcp"
        self._thread = threading.Thread(target=self.serve_forever)

    def __enter__(self) -> "Relay":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self._thread.join()
        self.server_close()
