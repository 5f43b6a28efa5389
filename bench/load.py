"""A load generator, a process of its own: `python -m bench.load SOCKET PID CLIENTS IN_FLIGHT ACTIONS SECONDS`.

Raw non-blocking sockets and lines made beforehand, so that it needs far less CPU than the daemon it drives; what
it needs is printed with the result. Every action has an id of its own, as those of the clients have.
"""

import os
import selectors
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from workspaced.client.wire import hello_params, request_line

from .measure import cpu_seconds
from .session import session

WARM_S: Final = 0.2
EVENTS_PER_S_MAX: Final = 250_000
"""Lines are made for this many."""


class Load(msgspec.Struct, frozen=True):
    """What one run of the generator came to. CPU as shares of one core."""

    events_per_s: float
    publishes: int
    daemon_cpu: float
    generator_cpu: float


def drive(path: Path, pid: int, *, clients: int, in_flight: int, actions: int, seconds: float) -> Load:
    """Lets a generator in its own process publish to the daemon `pid` on `path`.

    Raises:
        RuntimeError: the daemon refused something, or lines ran out.
    """
    numbers = [str(each) for each in (pid, clients, in_flight, actions, seconds)]
    done = subprocess.run(
        [sys.executable, "-m", "bench.load", str(path), *numbers], stdout=subprocess.PIPE, check=False
    )
    if done.returncode:
        raise RuntimeError("the load generator failed")
    return msgspec.json.decode(done.stdout, type=Load)


def publish_lines(count: int, actions: int) -> Iterator[bytes]:
    """Publish requests of `actions` actions each, all ids distinct."""
    prefix = os.urandom(6).hex()
    bodies = [msgspec.json.encode(each)[1:-1].replace(b"%", b"%%") for each in session(actions * 64)]
    templates = [
        b'{"jsonrpc":"2.0","id":%%d,"method":"workspaced/publish","params":{"actions":[%s]}}\n'
        % b",".join(b'{%s,"id":"%s-%%024d"}' % (body, prefix.encode()) for body in bodies[at : at + actions])
        for at in range(0, len(bodies), actions)
    ]
    for number in range(count):
        first = number * actions
        yield templates[number % len(templates)] % (number, *range(first, first + actions))


class _Client:
    """One connection of the generator."""

    def __init__(self, path: str) -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.connect(path)
        self.socket.sendall(request_line(0, "workspaced/hello", hello_params("bench-load")))
        while not self.socket.recv(65_536).endswith(b"\n"):
            pass
        self.socket.setblocking(False)
        self.unsent = b""

    def send(self, data: bytes) -> None:
        """Sends what the socket takes; the rest with the next lines."""
        data = self.unsent + data
        try:
            sent = self.socket.send(data)
        except BlockingIOError:
            sent = 0
        self.unsent = data[sent:]


def _run(path: str, pid: int, clients: int, in_flight: int, actions: int, seconds: float) -> Load:
    count = int(EVENTS_PER_S_MAX * (seconds + WARM_S) / actions)
    lines = iter(list(publish_lines(count, actions)))
    selector = selectors.DefaultSelector()
    connected = [_Client(path) for _ in range(clients)]
    for client in connected:
        selector.register(client.socket, selectors.EVENT_READ, client)
        client.send(b"".join(next(lines) for _ in range(in_flight)))
    _pump(selector, lines, time.perf_counter() + WARM_S)
    ours, theirs, started = time.process_time(), cpu_seconds(pid), time.perf_counter()
    answered = _pump(selector, lines, started + seconds)
    took = time.perf_counter() - started
    for client in connected:
        client.socket.close()
    return Load(
        answered * actions / took,
        answered,
        (cpu_seconds(pid) - theirs) / took,
        (time.process_time() - ours) / took,
    )


def _pump(selector: selectors.BaseSelector, lines: Iterator[bytes], until: float) -> int:
    """Sends a line for every answer until the time is over; how many answers came."""
    answered = 0
    while time.perf_counter() < until:
        for key, _ in selector.select(0.1):
            client: _Client = key.data
            data = client.socket.recv(262_144)
            if not data or b'"error"' in data:
                raise RuntimeError(f"the daemon refused: {data[:500]!r}")
            got = data.count(b"\n")
            answered += got
            client.send(b"".join(next(lines) for _ in range(got)))
    return answered


if __name__ == "__main__":
    _path, *_counts, _seconds = sys.argv[1:]
    _pid, _clients, _in_flight, _actions = map(int, _counts)
    _load = _run(_path, _pid, _clients, _in_flight, _actions, float(_seconds))
    sys.stdout.buffer.write(msgspec.json.encode(_load))
