"""Running servers, each behind the same few calls however it is spoken to; and what the system says of them."""

import contextlib
import json
import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

import msgspec

from workspaced.client.wire import request_line

from .bare import latencies_ms
from .daemon import Daemon, Place, call_line, daemon
from .measure import cpu_seconds
from .peer_install import Skip, reason_in
from .peer_list import HERE, Ask, Peer, Spot

STOP_S: Final = 20.0
QUIET_WINDOW_S: Final = 0.5
QUIET_WINDOWS: Final = 4
QUIET_SHARE: Final = 0.05
"""Quiet is who uses less of a CPU than this in each of so many windows in a row."""


class Answered(NamedTuple):
    """Latencies of a question asked some times, and the last answer."""

    ms: list[float]
    text: str


class Row(Protocol):
    """A running server.

    All but `pids` raise `Skip` if the server fails, ends, or does not answer in time.
    """

    def ask(self, ask: Ask, times: int, timeout_s: float) -> Answered: ...

    def tools(self, timeout_s: float) -> tuple[list[str], int]:
        """Names of its tools, and bytes of the list as JSON."""
        ...

    def pids(self) -> list[int]:
        """Its processes, with all their children."""
        ...


# -- over the official client --


class Client:
    """A process of the official client. It lives as long as the context it is opened in."""

    def __init__(self, python: Path, log: Path, script: str = "peer_client.py") -> None:
        command = [str(python), str(HERE / script)]
        with open(log, "wb") as stderr:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr, bufsize=0
            )
        self._rest = b""

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        left = [pid for pid in tree([self._process.pid]) if pid != self._process.pid]
        assert self._process.stdin is not None and self._process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            kill(left)
        self._process.stdout.close()

    def children(self) -> set[int]:
        """The servers it runs now."""
        return {pid for pid, parent, _ in processes() if parent == self._process.pid}

    def request(self, op: str, timeout_s: float, **more: Any) -> dict[str, Any]:
        """What it answered; `Skip` if that is an error or does not come."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps({"op": op, "timeout_s": timeout_s, **more}).encode() + b"\n")
            answer: dict[str, Any] = json.loads(self._line(timeout_s + STOP_S))
        except (OSError, ValueError) as error:
            raise Skip(f"the official client ended: {error}") from None
        if "error" in answer:
            raise Skip(answer["error"])
        return answer

    def _line(self, timeout_s: float) -> bytes:
        assert self._process.stdout is not None
        until = time.monotonic() + timeout_s
        while b"\n" not in self._rest:
            ready, _, _ = select.select([self._process.stdout], [], [], max(0.0, until - time.monotonic()))
            if not ready:
                raise Skip(f"the official client did not answer within {timeout_s:.0f} s")
            if not (data := os.read(self._process.stdout.fileno(), 1 << 20)):
                raise ValueError("no more output")
            self._rest += data
        line, _, self._rest = self._rest.partition(b"\n")
        return line


class ByClient:
    """A server that the official client has started."""

    def __init__(self, client: Client, name: str, pids: set[int]) -> None:
        self._client = client
        self._name = name
        self._pids = pids

    def ask(self, ask: Ask, times: int, timeout_s: float) -> Answered:
        done = self._client.request(
            "call", timeout_s, name=self._name, tool=ask.tool, arguments=ask.arguments, times=times
        )
        if done["failed"]:
            raise Skip(f"{ask.tool} answers with an error: {reason_in(done['answer'])}")
        return Answered(done["ms"], done["answer"])

    def tools(self, timeout_s: float) -> tuple[list[str], int]:
        done = self._client.request("tools", timeout_s, name=self._name)
        return done["names"], done["bytes"]

    def pids(self) -> list[int]:
        return tree(self._pids)


@contextlib.contextmanager
def _by_client(client: Client, peer: Peer, spot: Spot, log: Path, timeout_s: float) -> Iterator[Row]:
    env = {**os.environ, "HOME": str(spot.home), "PATH": f"{spot.commands}{os.pathsep}{os.environ['PATH']}"}
    env.update(peer.env(spot))
    before = client.children()
    started: dict[str, Any] = {
        "command": peer.command(spot),
        "env": env,
        "cwd": str(spot.home),
        "stderr": str(log),
    }
    own: set[int] = set()
    try:
        try:
            client.request("start", timeout_s, name=peer.name, **started)
        except Skip as skip:
            output = log.read_text(errors="replace") if log.exists() else ""
            raise Skip(
                f"it did not start: {skip}" + (f"; {reason_in(output)}" if output.strip() else "")
            ) from None
        finally:
            own = client.children() - before  # now, for later ones are other servers
        yield ByClient(client, peer.name, own)
    finally:
        left = tree(own)
        with contextlib.suppress(Skip):
            client.request("stop", STOP_S, name=peer.name)
        kill(left)


# -- over our own socket --


class Socket:
    """Our daemon, spoken to in its own protocol."""

    def __init__(self, running: Daemon) -> None:
        self._running = running
        self._wire = running.wire()
        self._in_view = ""

    def ask(self, ask: Ask, times: int, timeout_s: float) -> Answered:
        del timeout_s  # a daemon that hangs is a fault to be seen
        lines = [call_line(ask.tool, **arguments) for arguments in ask.arguments]
        answers: list[bytes] = [b""]

        def once(number: int) -> None:
            answers[0] = self._wire.ask(lines[number % len(lines)])

        try:
            self._show(ask.in_view)
            taken = latencies_ms(times, once)
        except OSError as error:
            raise Skip(f"the daemon does not answer: {error}") from None
        reply = msgspec.json.decode(answers[0])
        if "result" not in reply or reply["result"].get("isError"):
            raise Skip(f"{ask.tool} answers with an error: {reason_in(answers[0].decode())}")
        return Answered(taken, answers[0].decode())

    def tools(self, timeout_s: float) -> tuple[list[str], int]:
        del timeout_s
        result = msgspec.json.decode(self._wire.ask(request_line(1, "tools/list", {})))["result"]
        return [tool["name"] for tool in result["tools"]], len(msgspec.json.encode(result))

    def pids(self) -> list[int]:
        return tree([self._running.pid])

    def _show(self, note: str) -> None:
        if note and note != self._in_view:
            with self._running.client() as client:
                client.publish([{"type": "active_note_set", "data": {"note": note}}])
            self._in_view = note

    def close(self) -> None:
        self._wire.close()


@contextlib.contextmanager
def _by_socket(at: Place, spot: Spot) -> Iterator[Row]:
    try:
        with daemon(at, spot.vault, spot.home / "data") as running:
            row = Socket(running)
            try:
                yield row
            finally:
                row.close()
    except (RuntimeError, OSError) as error:
        raise Skip(f"the daemon: {error}") from error


# -- bare lines on a pipe --


class Pipe:
    """The bare loop, asked line by line."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self._process = process

    def ask(self, ask: Ask, times: int, timeout_s: float) -> Answered:
        del timeout_s
        lines = [request_line(1, "tools/call", {"name": ask.tool, "arguments": each}) for each in ask.arguments]
        answers: list[bytes] = [b""]

        def once(number: int) -> None:
            answers[0] = self._answer(lines[number % len(lines)])

        return Answered(latencies_ms(times, once), answers[0].decode())

    def _answer(self, line: bytes) -> bytes:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(line)
        self._process.stdin.flush()
        return self._process.stdout.readline()

    def tools(self, timeout_s: float) -> tuple[list[str], int]:
        del timeout_s
        result = msgspec.json.decode(self._answer(request_line(1, "tools/list", {})))["result"]
        return [tool["name"] for tool in result["tools"]], len(msgspec.json.encode(result))

    def pids(self) -> list[int]:
        return [self._process.pid]


@contextlib.contextmanager
def _by_pipe(peer: Peer, spot: Spot) -> Iterator[Row]:
    process = subprocess.Popen(peer.command(spot), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None and process.stdout is not None
    try:
        row = Pipe(process)
        yield row
    finally:
        process.stdin.close()
        process.wait()
        process.stdout.close()


@contextlib.contextmanager
def run(at: Place, client: Client, peer: Peer, spot: Spot, timeout_s: float) -> Iterator[Row]:
    """`peer` running at `spot`, from nothing; ended with all its processes afterwards.

    Raises:
        Skip: it does not start.
    """
    if peer.via == "socket":
        way = _by_socket(at, spot)
    elif peer.via == "pipe":
        way = _by_pipe(peer, spot)
    else:
        way = _by_client(client, peer, spot, at.new(f"{peer.name}.stderr"), timeout_s)
    with way as row:
        yield row


# -- what the system says --


def processes() -> list[tuple[int, int, int]]:
    """(process, parent, resident KiB) of all."""
    listed = subprocess.run(["ps", "-A", "-o", "pid=,ppid=,rss="], capture_output=True, check=True, text=True)
    return [(int(pid), int(parent), int(size)) for pid, parent, size in map(str.split, listed.stdout.splitlines())]


def tree(roots: "set[int] | list[int]", among: list[tuple[int, int, int]] | None = None) -> list[int]:
    """Those of `roots` that live, with all that descend from them."""
    among = processes() if among is None else among
    found = {pid for pid, _, _ in among if pid in roots}
    while more := {pid for pid, parent, _ in among if parent in found} - found:
        found |= more
    return sorted(found)


def resident_mb(pids: list[int]) -> float:
    """Resident memory of all, 2**20 bytes each; pages they share count for each."""
    return sum(size for pid, _, size in processes() if pid in pids) / 1024


def used_s(row: Row) -> float:
    """CPU seconds its living processes have used so far."""
    return sum(map(cpu_seconds, row.pids()))


def until_quiet(used: Callable[[], float], deadline: float, pause: Callable[[float], None] = time.sleep) -> float:
    """CPU seconds used when it has come to rest; `Skip` if it has not by `deadline`, of `time.monotonic`."""
    quiet, last = 0, used()
    while quiet < QUIET_WINDOWS:
        if time.monotonic() > deadline:
            raise Skip(f"not quiet in the time it had, {last:.0f} s of CPU used until then")
        pause(QUIET_WINDOW_S)
        now = used()
        quiet = quiet + 1 if now - last <= QUIET_SHARE * QUIET_WINDOW_S else 0
        last = now
    return last


def kill(pids: list[int]) -> None:
    """Ends what a server has left behind."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
