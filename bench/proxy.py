"""What the proxy costs a runtime: time until the first byte of an answer, CPU, time of each chunk, memory.

Beside each request through the proxy, with context and without, stands the same one to the provider itself. The
provider answers at once, so all of the difference is ours.
"""

import contextlib
import json
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from .daemon import Daemon, Place, daemon
from .measure import Figure, at_most, cpu_seconds, interleaved, median, p50s, percentile, pooled

CPU_MS_MAX: Final = {3: 0.5, 40: 1.0, 200: 4.0, 1_000: 20.0}
"""By the turns of a chat: what context may add to the CPU of a request, in the proxy and the daemon."""
CHUNKS: Final = 2_000
REQUESTS: Final = 10_000
WITH_CONTEXT: Final = 10
"""Of so many requests of the memory's figure one has context: the others are the proxy's own matter."""
OVERHEAD_MS_MAX: Final = 3.0
OVERHEAD_TURNS_MAX: Final = 200
"""In longer chats the time until the first byte has no goal beside that of CPU."""
LONG_BODY_BYTES: Final = 10_000_000
LONG_BODY_MS_MAX: Final = 40.0
STREAM_RATIO_MAX: Final = 1.01
GROWTH_MB_MAX: Final = 4
_ANSWER: Final = "The oven is fired in the morning, and the loaves go in when the stones are white. " * 7
_NOTE: Final = "# Oven\n\n" + "Rye needs a falling heat, and the door stays shut for half an hour.\n" * 45
_PATH: Final = "/v1/chat/completions"


def figures(at: Place) -> Iterator[Figure]:
    """All of them."""
    vault = at.new("notes")
    vault.mkdir()
    (vault / "oven.md").write_text(_NOTE)
    with (
        daemon(at, vault, name="proxy") as running,
        _provider() as direct,
        _proxy(at, running, direct) as (url, pid),
    ):
        running.wait_for_index()
        with running.client() as client:
            client.publish([{"type": "active_note_set", "data": {"note": "oven.md"}}])
            for turns in CPU_MS_MAX:
                yield from _first_bytes(at, direct, url, turns)
                yield _cpu(at, url, (pid, running.pid), turns)
            yield _long_body(at, url, (pid, running.pid))
        yield from _chunks(at, direct, url, pid)
        yield _memory(at, url, pid)


# -- until the first byte --


def _first_bytes(at: Place, direct: str, url: str, turns: int) -> Iterator[Figure]:
    calls = 3 if at.sizes.quick else max(20, min(40, 8_000 // turns))
    chats = {
        "direct": _Chat(direct, turns, {}),
        "off": _Chat(url, turns, {"x-workspaced": "off"}),
        "context": _Chat(url, turns, {}),
    }
    taken = interleaved(at.sizes.rounds, *(partial(_asked, chat, calls) for chat in chats.values()))
    by_name = dict(zip(chats, taken, strict=True))
    base = median(p50s(by_name["direct"]))
    for name in ("off", "context"):
        samples = by_name[name]
        p50 = median(p50s(samples))
        fields = {
            "p50": p50,
            "p99": percentile(pooled(samples), 0.99),
            "direct_p50": base,
            "direct_p99": percentile(pooled(by_name["direct"]), 0.99),
            "turns": turns,
            "body_bytes": chats[name].body_bytes,
        }
        goal = at.sizes.whole(at_most(OVERHEAD_MS_MAX)) if turns <= OVERHEAD_TURNS_MAX else None
        yield Figure(f"proxy.first_byte.{name}.{turns}_turns", p50 - base, "ms", goal, None, fields)


def _asked(chat: "_Chat", calls: int) -> list[float]:
    return [chat.ask() for _ in range(calls)]


def _cpu(at: Place, url: str, pids: tuple[int, int], turns: int) -> Figure:
    calls = 3 if at.sizes.quick else max(20, min(200, 8_000 // turns))
    off, context = _Chat(url, turns, {"x-workspaced": "off"}), _Chat(url, turns, {})
    sides = (partial(_cpu_of, each, calls, pids) for each in (off, context))
    return _cpu_figure(at, f"proxy.cpu.{turns}_turns", CPU_MS_MAX[turns], *interleaved(at.sizes.rounds, *sides))


def _long_body(at: Place, url: str, pids: tuple[int, int]) -> Figure:
    calls = 2 if at.sizes.quick else 10
    off, context = _LongChat(url, {"x-workspaced": "off"}), _LongChat(url, {})
    sides = (partial(_cpu_of, each, calls, pids) for each in (off, context))
    return _cpu_figure(at, "proxy.cpu.10_mb", LONG_BODY_MS_MAX, *interleaved(min(3, at.sizes.rounds), *sides))


def _cpu_figure(
    at: Place, name: str, goal_ms: float, off: list[list[float]], context: list[list[float]]
) -> Figure:
    """What context adds to the CPU of a request, each side given as the proxy's and the daemon's milliseconds."""
    medians = [[median([each[which] for each in taken]) for which in (0, 1)] for taken in (off, context)]
    fields = {"proxy_off_ms": medians[0][0], "proxy_ms": medians[1][0], "daemon_ms": medians[1][1]}
    return Figure(name, sum(medians[1]) - sum(medians[0]), "ms", at.sizes.whole(at_most(goal_ms)), None, fields)


def _cpu_of(chat: "_Chat", calls: int, pids: tuple[int, int]) -> list[float]:
    """Milliseconds that a request takes of each process."""
    chat.ask()  # a new chat may begin
    used, asked = [0.0, 0.0], 0
    while asked < calls:
        if chat.is_over:
            chat.ask()
        before = [cpu_seconds(pid) for pid in pids]
        while asked < calls and not chat.is_over:
            chat.ask()
            asked += 1
        used = [one + cpu_seconds(pid) - each for one, each, pid in zip(used, before, pids, strict=True)]
    return [each / calls * 1e3 for each in used]


class _Chat:
    """A runtime that keeps the history, and asks the next question each time; after a while it begins anew."""

    def __init__(self, url: str, turns: int, headers: dict[str, str]) -> None:
        self._connection = _Connection(url, headers)
        self._turns = turns
        self._number = 0
        self._messages: list[dict[str, str]] = []
        self._left = 0
        self.body_bytes = 0

    @property
    def is_over(self) -> bool:
        """Whether the next question begins another chat."""
        return self._left == 0

    def ask(self) -> float:
        """Milliseconds until the first byte of the answer to the next question."""
        if self._left == 0:
            self._begin()
        self._left -= 1
        self._question()
        taken = self._send()
        self._answer()
        return taken

    def _begin(self) -> None:
        """With all turns but the last, the history as it would be from another program's file; unmeasured."""
        self._number += 1
        self._messages = [{"role": "system", "content": f"You bake. This is chat {self._number} of {id(self)}."}]
        for _ in range(self._turns - 1):
            self._question()
            self._answer()
        self._messages.pop()
        self._send()
        self._answer()
        self._left = max(3, self._turns // 4)

    def _question(self) -> None:
        self._messages.append(
            {"role": "user", "content": f"Question {len(self._messages)}: how long does it bake?"}
        )

    def _answer(self) -> None:
        self._messages.append({"role": "assistant", "content": f"{len(self._messages)}. {_ANSWER}"})

    def _send(self) -> float:
        body = json.dumps({"model": "any", "messages": self._messages}).encode()
        self.body_bytes = len(body)
        started = time.perf_counter()
        first = self._connection.begin(body)
        assert (b"x-workspaced-context: unchanged" not in first) and first.startswith(b"HTTP/1.1 200"), first[:500]
        taken = (time.perf_counter() - started) * 1e3
        self._connection.finish(first)
        return taken


class _LongChat(_Chat):
    """One whose first question is very long."""

    def __init__(self, url: str, headers: dict[str, str]) -> None:
        super().__init__(url, 3, headers)

    def _begin(self) -> None:
        super()._begin()
        self._messages[1]["content"] = f"{id(self)} {self._number}. " + "x" * LONG_BODY_BYTES


class _Connection:
    """One connection that is kept open, as cheap for the measuring side as can be."""

    def __init__(self, url: str, headers: dict[str, str]) -> None:
        parts = urlsplit(url)
        assert parts.port is not None
        self.socket = socket.create_connection(("127.0.0.1", parts.port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        more = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        self._head = f"POST {parts.path}{_PATH} HTTP/1.1\r\nHost: 127.0.0.1:{parts.port}\r\n{more}".encode()

    def begin(self, body: bytes) -> bytes:
        """Sends a request; returns what the first read of its answer gives."""
        self.socket.sendall(self._head + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        return self.socket.recv(65_536)

    def finish(self, data: bytes) -> None:
        """Reads the rest of an answer with a length."""
        while b"\r\n\r\n" not in data:
            data += self.socket.recv(65_536)
        head, _, rest = data.partition(b"\r\n\r\n")
        length = int(re.search(rb"(?i)content-length: (\d+)", head)[1])  # type: ignore[index]
        while len(rest) < length:
            rest += self.socket.recv(65_536)


# -- chunks --


def _chunks(at: Place, direct: str, url: str, pid: int) -> Iterator[Figure]:
    count = CHUNKS // 20 if at.sizes.quick else CHUNKS
    body = b'{"model":"any","stream":true,"chunks":%d,"messages":[{"role":"user","content":"Bake?"}]}' % count
    used = list[float]()

    def through() -> tuple[float, list[float]]:
        before = cpu_seconds(pid)
        streamed = _streamed(url, body)
        used.append(cpu_seconds(pid) - before)
        return streamed

    rounds = min(3, at.sizes.rounds)
    plain, proxied = interleaved(rounds, lambda: _streamed(direct, body), through)
    whole = [median([each[0] for each in taken]) for taken in (plain, proxied)]
    late = [[sample for each in taken for sample in each[1]] for taken in (plain, proxied)]
    fields = {
        "chunks": count,
        "direct_s": whole[0],
        "proxy_s": whole[1],
        "chunk_later_p50_ms": median(late[1]) - median(late[0]),
        "chunk_later_p99_ms": percentile(late[1], 0.99) - percentile(late[0], 0.99),
        "cpu_us_per_chunk": median(used) / count * 1e6,
    }
    goal = at.sizes.whole(at_most(STREAM_RATIO_MAX))
    yield Figure("proxy.stream", whole[1] / whole[0], "x", goal, None, fields)


_SENT: Final = re.compile(rb'"sent":([\d.]+)')


def _streamed(url: str, body: bytes) -> tuple[float, list[float]]:
    """Seconds from the first byte to the last; how many milliseconds after its sending each chunk was there."""
    connection = _Connection(url, {})
    data, late, rest = connection.begin(body), list[float](), b""
    started = time.perf_counter()
    while True:
        now = time.monotonic()
        *lines, rest = (rest + data).split(b"\n")
        late += [(now - float(found[1])) * 1e3 for line in lines if (found := _SENT.search(line))]
        if data.endswith(b"0\r\n\r\n"):
            break
        data = connection.socket.recv(65_536)
    connection.socket.close()
    return time.perf_counter() - started, late


# -- memory --


def _memory(at: Place, url: str, pid: int) -> Figure:
    """The growth of the proxy's memory from the first tenth of the requests to the last."""
    count = REQUESTS // 50 if at.sizes.quick else REQUESTS
    with_context, plain = _Chat(url, 3, {}), _Chat(url, 3, {"x-workspaced": "off"})
    first = 0.0
    for number in range(1, count + 1):
        (plain if number % WITH_CONTEXT else with_context).ask()
        if number == count // 10:
            first = _resident_mb(pid)
    last = _resident_mb(pid)
    fields = {"requests": count, "with_context": count // WITH_CONTEXT, "resident_mb": round(last, 1)}
    return Figure("proxy.memory", last - first, "MB", at.sizes.whole(at_most(GROWTH_MB_MAX)), None, fields)


def _resident_mb(pid: int) -> float:
    done = subprocess.run(["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, check=True, text=True)
    return int(done.stdout) / 1024


# -- processes --


@contextlib.contextmanager
def _provider() -> Iterator[str]:
    with _first_line([sys.executable, "-m", "bench.provider"], Path.cwd()) as (line, _pid):
        yield f"http://127.0.0.1:{line}"


@contextlib.contextmanager
def _proxy(at: Place, running: Daemon, upstream: str) -> Iterator[tuple[str, int]]:
    command = [sys.executable, "-m", "workspaced", "proxy", "--upstream", upstream, "--port", "0", "--json"]
    command += ["--socket", str(running.socket), "--token-file", str(at.new("token"))]
    with _first_line(command, at.root) as (line, pid):
        started: dict[str, Any] = json.loads(line)
        yield started["url"], pid


@contextlib.contextmanager
def _first_line(command: list[str], folder: Path) -> Iterator[tuple[str, int]]:
    """Runs a command that prints one line when it is ready."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, cwd=folder)
    assert process.stdout is not None
    try:
        yield process.stdout.readline().decode().strip(), process.pid
    finally:
        process.terminate()
        process.stdout.close()
        process.wait()
