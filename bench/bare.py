"""What ratios are taken to: a write that is synced, and an echo over a Unix socket, with nothing around them.

The echo is a process of its own: `python -m bench.bare SOCKET`. It blocks in `recv`, the quickest a Python process
can answer. A request begins with eight digits, how many bytes the answer is to have; both end with LF.
"""

import contextlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

RECEIVE_BYTES = 256 * 1024

# What the log uses: data and size reach the platter, the modification time may not.
sync = getattr(os, "fdatasync", os.fsync)


class BareLog:
    """A file that grows by synced writes."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)

    def append(self, data: bytes) -> None:
        """Returns once `data` is durable."""
        os.write(self._descriptor, data)
        sync(self._descriptor)

    def close(self) -> None:
        """Gives the descriptor back."""
        os.close(self._descriptor)


class Wire:
    """A blocking connection on which one line is asked and one answered."""

    def __init__(self, path: Path, *, timeout_s: float = 30.0) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(timeout_s)
        self._socket.connect(str(path))
        self._socket.settimeout(None)  # a timeout costs a poll before every call

    def send(self, line: bytes) -> None:
        """A line whose answer is not read."""
        self._socket.sendall(line)

    def ask(self, line: bytes) -> bytes:
        """The answer to `line`, both with their LF."""
        self._socket.sendall(line)
        answer = self._socket.recv(RECEIVE_BYTES)
        while not answer.endswith(b"\n"):
            more = self._socket.recv(RECEIVE_BYTES)
            if not more:
                raise ConnectionError("the other end closed the connection")
            answer += more
        return answer

    def read_lines(self, count: int) -> None:
        """Reads the answers to `count` lines that were sent ahead, and drops them."""
        while count > 0:
            data = self._socket.recv(RECEIVE_BYTES)
            if not data:
                raise ConnectionError("the other end closed the connection")
            count -= data.count(b"\n")

    def close(self) -> None:
        """Ends the connection."""
        self._socket.close()


def latencies_ms(times: int, act: Callable[[int], object]) -> list[float]:
    """How long each of `times` calls of `act` took; it is given the number of the call."""
    taken = []
    for number in range(times):
        started = time.perf_counter_ns()
        act(number)
        taken.append((time.perf_counter_ns() - started) / 1e6)
    return taken


@contextlib.contextmanager
def echo(sockets: Path) -> Iterator[Wire]:
    """A connection to an echo process."""
    path = sockets / "echo.sock"
    process = subprocess.Popen([sys.executable, "-m", "bench.bare", str(path)], stdout=subprocess.PIPE)
    assert process.stdout is not None
    try:
        process.stdout.readline()
        wire = Wire(path)
        try:
            yield wire
        finally:
            wire.close()
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()
        path.unlink(missing_ok=True)


def echo_request(request_bytes: int, answer_bytes: int) -> bytes:
    """A request of that many bytes which is answered with that many."""
    return (b"%08d" % answer_bytes).ljust(max(request_bytes, 9) - 1, b"x") + b"\n"


def _serve(path: str) -> None:
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listening.bind(path)
    listening.listen()
    print("ready", flush=True)
    while True:
        connection, _ = listening.accept()
        with connection:
            while data := connection.recv(RECEIVE_BYTES):
                while not data.endswith(b"\n"):
                    data += connection.recv(RECEIVE_BYTES)
                connection.sendall(bytes(int(data[:8]) - 1) + b"\n")


if __name__ == "__main__":
    _serve(sys.argv[1])
