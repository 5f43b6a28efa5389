"""An agent that has started `workspaced mcp` as its runtime does, and a session whose daemon comes and goes."""

import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from support import short_limits
from support.daemon import Daemon, Factory
from support.patience import PATIENCE_S
from workspaced import connect
from workspaced.ipc.greeting import GREETING, SERVES

END_S = PATIENCE_S
CLIENT = {"name": "test", "version": "1"}
INITIALIZE = {
    "id": 0,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": CLIENT},
}
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": CLIENT,
}


def greet(connection: socket.socket, vaults: Sequence[str] = ("/notes",)) -> None:
    """Answers a bridge's greeting as a daemon does: a test holds the other end of the bridge's connection."""
    assert connection.recv(1 << 16) == GREETING
    served = {"workspace": "default", "vaults": vaults, "onDemand": False}
    answer = {"id": 0, "result": {"_meta": {SERVES: served}}, "jsonrpc": "2.0"}
    connection.sendall(json.dumps(answer, separators=(",", ":")).encode() + b"\n")


def eventually(holds: Callable[[], bool]) -> None:
    """Waits until it holds."""
    deadline = time.monotonic() + END_S
    while not holds():
        assert time.monotonic() < deadline
        os.sched_yield()


class Agent:
    """The agent's end of a bridge."""

    def __init__(
        self, arguments: Sequence[str], env: Mapping[str, str], cwd: Path, limits: Sequence[str] = ()
    ) -> None:
        command = [sys.executable, "-P", "-m", "workspaced", "mcp", *arguments]
        if limits:
            python = [sys.executable, short_limits.__file__, *limits, "--"]
            command = [*python, sys.executable, "-m", "workspaced", "mcp", *arguments]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env=env, cwd=cwd)
        assert self.process.stdin and self.process.stdout and self.process.stderr
        self.to, self.of, self.err = self.process.stdin, self.process.stdout, self.process.stderr
        self._ids = 0

    def write(self, data: bytes) -> None:
        """Writes bytes."""
        self.to.write(data)
        self.to.flush()

    def send(self, message: Mapping[str, Any]) -> None:
        """Writes one message."""
        self.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def hear(self) -> Any:
        """The next message."""
        return json.loads(self.line())

    def line(self) -> bytes:
        """The next line; a bridge that keeps its agent waiting for it is ended."""
        late = threading.Timer(END_S, self.process.kill)
        late.start()
        try:
            line = self.of.readline()
        finally:
            late.cancel()
        assert line.endswith(b"\n"), (line, self.process.poll())
        return line

    def ask(self, method: str, params: Any = None) -> Any:
        """The result of one request."""
        self._ids += 1
        self.send({"id": self._ids, "method": method, "params": params or {}})
        answer = self.hear()
        assert answer["id"] == self._ids
        return answer["result"]

    def is_read(self) -> bool:
        """Whether the bridge has read all that was written."""
        return fcntl.ioctl(self.to, termios.FIONREAD, bytes(4)) == bytes(4)

    def end(self) -> tuple[int, bytes, str]:
        """Closes its input where that is open: the exit code, what else it wrote, what it said."""
        out, err = self.process.communicate(timeout=END_S)
        assert b"Traceback" not in err and b"Exception" not in err, err
        return self.process.returncode, out, err.decode()

    def close(self) -> None:
        """Ends it whatever it does."""
        self.process.kill()
        self.process.wait(END_S)
        for stream in (self.to, self.of, self.err):
            with suppress(BrokenPipeError):
                stream.close()


class BridgedSession:
    """An agent, its bridge, and a daemon that is killed, stopped and started under it."""

    def __init__(self, factory: Factory, *, on_demand: bool = False, limits: Sequence[str] = ()) -> None:
        self.running: Daemon = factory(start=not on_demand)
        self._is_on_demand = on_demand
        named = ["--vault", str(self.running.vault)] if on_demand else ["--socket", str(self.running.socket)]
        self.agent = Agent(named, self.running.env, self.running.root, limits)
        self._rest: bytes | None = None

    # -- the agent --

    def write(self, data: bytes) -> None:
        """The agent writes bytes."""
        self.agent.write(data)

    def ask(self, request: Mapping[str, Any], filled_to: int = 0) -> None:
        """The agent sends a request, in a line of at least so many bytes."""
        line = json.dumps({"jsonrpc": "2.0", **request})
        self.write(line.replace('"params": {', '"params": {' + " " * (filled_to - len(line)), 1).encode() + b"\n")

    def tell(self, notification: Mapping[str, Any]) -> None:
        """The agent sends a notification."""
        self.agent.send(notification)

    def hear(self) -> Any:
        """The next message that the agent reads."""
        if self._rest is None:
            return self.agent.hear()
        line, _, self._rest = self._rest.partition(b"\n")
        return json.loads(line)

    def end(self) -> int:
        """The agent closes its end; returns the bridge's exit code."""
        if self._rest is None:
            _, self._rest, _ = self.agent.end()
        return self.agent.process.returncode or 0

    def rest(self) -> bytes:
        """What the agent has not read, after the end."""
        assert self._rest is not None
        return self._rest

    # -- the daemon --

    def daemon(self, happening: str) -> None:
        """Lets something happen to the daemon: see tests/world/test_bridge.py."""
        happenings = {
            "killed": self._kill,
            "hangs": self._hang,
            "started": self._start,
            "stopped by its user": self._stop_by_command,
            "stopped by a signal": self._stop_by_signal,
            "is none": self._assert_none,
        }
        happenings[happening]()

    def open_note(self, note: str) -> None:
        """The user opens a note."""
        with connect(self._record()["socket"], name="editor", timeout_s=END_S) as editor:
            editor.publish([{"type": "active_note_set", "data": {"note": note}}])

    def _kill(self) -> None:
        eventually(self.agent.is_read)
        kill(self._record())
        if not self._is_on_demand:
            self.running.wait()

    def _hang(self) -> None:
        pid = self._record()["pid"]
        os.kill(pid, signal.SIGSTOP)
        eventually(lambda: state_of(pid) == "T")

    def _start(self) -> None:
        if not self._is_on_demand:
            self.running.start()
            return
        other = Agent(["--vault", str(self.running.vault)], self.running.env, self.running.root)
        other.ask("ping")
        other.end()

    def _stop_by_command(self) -> None:
        done = self.running.cli("stop", env={"WORKSPACED_SOCKET": self._record()["socket"]})
        assert done.returncode == 0, done.stderr

    def _stop_by_signal(self) -> None:
        assert self.running.stop() == 0

    def _assert_none(self) -> None:
        pid = self._record()["pid"] if self._records() else None
        assert pid is None or is_gone(pid)

    def _records(self) -> list[Path]:
        return list((self.running.root / "home").glob("**/daemons/*.json"))

    def _record(self) -> dict[str, Any]:
        (path,) = self._records()
        record: dict[str, Any] = json.loads(path.read_text())
        return record

    def close(self) -> None:
        """Ends whatever runs."""
        self.agent.close()
        if self._is_on_demand:
            for path in self._records():
                with suppress(ProcessLookupError):
                    os.kill(json.loads(path.read_text())["pid"], signal.SIGKILL)


def kill(record: Mapping[str, Any]) -> None:
    """Kills the daemon of this record, and waits until all its threads, and so its connections, have ended."""
    if state_of(record["pid"]) != "T":
        with connect(record["socket"], name="test", timeout_s=END_S) as client:
            client.call("workspaced/reconcile")  # a process that it was about to start would hold its connections
    os.kill(record["pid"], signal.SIGKILL)
    eventually(lambda: is_gone(record["pid"]))


def is_gone(pid: int) -> bool:
    """Whether a process has ended, whether or not anybody has taken note of it."""
    try:
        return state_of(pid) == "Z" and len(os.listdir(f"/proc/{pid}/task")) == 1
    except (FileNotFoundError, ProcessLookupError):
        return True


def state_of(pid: int) -> str:
    """The state of a process's first thread as the kernel has it: `T` stopped, `Z` ended.

    Raises:
        FileNotFoundError, ProcessLookupError: there is none.
    """
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
