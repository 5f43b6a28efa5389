"""A real daemon in a process of its own, on a real socket, for tests of the process floor.

`Factory` makes daemons: `daemon(notes=...)` starts one and returns it; `tear_down` ends them. Every daemon that
still runs gets SIGTERM and must end with code 0, without a traceback, and without leaving
its socket behind.

Daemons and commands are forked from a process that has imported workspaced (support/process.py). `real=True` is
for tests of the start itself, or of what a whole process holds; a `wrapper` starts a real one, too.
"""

import atexit
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from support import answers, process
from support.patience import PATIENCE_S
from workspaced import SyncClient, connect
from workspaced.errors import RemoteError
from workspaced_tools.limits import SETTLE_S

START_S = 60.0
STOP_S = ANSWER_S = PATIENCE_S
NOTES_SETTLE_S = SETTLE_S + 0.05

NOTES = {
    "a.md": "# Alpha\n\nThe first note, see [[b]].\n",
    "b.md": "---\ntags: [two]\n---\n# Beta\n\nThe second note.\n",
    "c.md": "# Gamma\n\nThe third note.\n",
    "work/plan.md": "# Plan\n\n## Steps\n\n1. begin\n2. end\n",
}


CLOCKED = Path(__file__).with_name("clocked_daemon.py")


class Wire:
    """A bare connection: bytes out, lines in. For clients that do not behave."""

    def __init__(self, path: Path) -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(ANSWER_S)
        self.socket.connect(str(path))
        self._buffer = bytearray()
        self._ids = 0
        self._calls: dict[int, str] = {}
        """The tool of each `tools/call`, by the request's id."""

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def request(self, method: str, params: Any = None, **more: Any) -> int:
        """Sends one request; returns its id."""
        self._ids += 1
        if method == "tools/call" and isinstance(params, dict):
            self._calls[self._ids] = params.get("name", "")
        message = {"jsonrpc": "2.0", "id": self._ids, "method": method, "params": params or {}, **more}
        self.send(json.dumps(message).encode() + b"\n")
        return self._ids

    def line(self) -> dict[str, Any] | None:
        """The next message, or None at the end of the stream."""
        while (end := self._buffer.find(b"\n")) < 0:
            try:
                data = self.socket.recv(65_536)
            except ConnectionResetError:
                return None
            if not data:
                return None
            self._buffer += data
        message: dict[str, Any] = json.loads(self._buffer[:end])
        del self._buffer[: end + 1]
        if isinstance(request_id := message.get("id"), int) and request_id in self._calls:
            answers.check_message(self._calls[request_id], message)
        return message

    def ask(self, method: str, params: Any = None) -> dict[str, Any]:
        """The whole answer to a request; notifications in between are dropped."""
        wanted = self.request(method, params)
        while (message := self.line()) is not None:
            if message.get("id") == wanted:
                return message
        raise AssertionError("the daemon closed the connection")

    def refused(self, data: bytes) -> str:
        """Sends `data` and returns the code of the error that answers it."""
        self.send(data)
        message = self.line()
        assert message is not None, "the daemon closed the connection without a word"
        code: str = message["error"]["data"]["code"]
        return code

    def at_end(self) -> bool:
        """Reads until the daemon closes; True once it has."""
        while self.line() is not None:
            pass
        return True

    def close(self) -> None:
        self.socket.close()

    def __enter__(self) -> "Wire":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Daemon:
    """A daemon's process, and where it lives. Socket paths are short, so its root lies in /tmp."""

    def __init__(self, root: Path, vault: Path, flags: tuple[str, ...], env: Mapping[str, str]) -> None:
        self.root = root
        self.vault = vault
        self.data = root / "data"
        self.socket = root / "s"
        self.flags = flags
        self.env = {**clean_environment(root), **env}
        self.stderr: list[str] = []
        self.exit_expected = 0
        self.listened = False
        """Whether the process that was started last came to listen."""
        self.wrapper: tuple[str, ...] = ()
        """A command that ends by becoming the daemon, e.g. to set a limit first."""
        self.real = False
        """Whether the process is to be one that was never anything else."""
        self._process: process.Process | None = None
        self._listening = threading.Event()
        self._reader: threading.Thread | None = None
        self._clients: list[SyncClient | Wire] = []

    # -- life --

    def set_ahead(self, seconds: int, uptime_s: int | None = None) -> None:
        """Sets the daemon's clocks, both unless `uptime_s` is given, so far ahead of the real ones. Once before it
        is started.
        """
        clocks = self.root / "clocks"
        new = clocks.with_suffix(".new")
        new.write_text(f"{seconds} {seconds if uptime_s is None else uptime_s}")
        new.replace(clocks)
        self.wrapper = (sys.executable, str(CLOCKED), str(clocks))

    def start(self) -> "Daemon":
        """Starts the process and waits until it listens.

        Raises:
            AssertionError: it ended, or did not listen in time.
        """
        self.spawn()
        assert self._listening.wait(START_S), f"the daemon did not listen: {self.stderr}"
        assert self.listened, f"the daemon ended: {self.stderr}"
        return self

    def served(self) -> list[str]:
        """The options that say what it serves."""
        return ["--vault", str(self.vault), "--data-dir", str(self.data)]

    def spawn(self) -> None:
        """Starts the process without waiting."""
        arguments = ["serve", *self.served(), "--socket", str(self.socket), *self.flags]
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
        self._listening = threading.Event()
        self.listened = False
        if self.wrapper:
            command = [*self.wrapper, sys.executable, "-m", "workspaced", *arguments]
            self._process = subprocess.Popen(command, env=self.env, **streams)
        else:
            self._let_notes_settle()
            self._process = process.spawn(*arguments, env=self.env, real=self.real, **streams)
        self._reader = threading.Thread(target=self._read_stderr, args=(self._process, self._listening))
        self._reader.start()

    def _let_notes_settle(self) -> None:
        """A note that was written just now is not shown yet; an interpreter takes longer to start than that."""
        newest = 0.0
        for folder in (self.vault, *(Path(flag) for flag in self.flags if flag.startswith("/"))):
            for place, _folders, names in os.walk(folder):
                found = (os.lstat(os.path.join(place, name)).st_ctime for name in names)
                newest = max(newest, max(found, default=0.0))
        time.sleep(min(NOTES_SETTLE_S, max(0.0, newest + NOTES_SETTLE_S - time.time())))

    def _read_stderr(self, started: process.Process, listening: threading.Event) -> None:
        assert started.stderr is not None
        with started.stderr:
            for line in started.stderr:
                self.stderr.append(line.decode(errors="replace").rstrip("\n"))
                if b"listening on" in line:
                    self.listened = True
                    listening.set()
        listening.set()  # nobody shall wait for one that has ended

    @property
    def process(self) -> process.Process:
        assert self._process is not None
        return self._process

    @property
    def pid(self) -> int:
        return self.process.pid

    def send_signal(self, number: int) -> None:
        self.process.send_signal(number)

    def wait(self, timeout_s: float = STOP_S) -> int:
        """The exit code, once it has ended."""
        code = self.process.wait(timeout_s)
        assert self._reader is not None
        self._reader.join(timeout_s)
        return code

    def kill(self) -> None:
        """SIGKILL, and wait for it."""
        self.send_signal(signal.SIGKILL)
        self.wait()

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Asks it to end and returns its exit code; it must be gone in time, socket and all."""
        self.send_signal(number)
        code = self.wait()
        assert not self.socket.exists()
        return code

    def restart(self) -> "Daemon":
        """A new process on the same data."""
        if self.process.poll() is None:
            assert self.stop() == self.exit_expected
        return self.start()

    def tear_down(self) -> None:
        """Ends it in good order and checks what every daemon owes."""
        for client in self._clients:
            client.close()
        if self._process is not None and self.process.poll() is None:
            try:
                assert self.stop() == self.exit_expected, self.stderr
            finally:
                if self.process.poll() is None:
                    self.kill()
        said = "\n".join(self.stderr)
        assert "Traceback" not in said and "Logging error" not in said, said

    # -- talking to it --

    def connect(self, name: str = "test", timeout_s: float = ANSWER_S) -> SyncClient:
        """A client, closed when the daemon is torn down."""
        made = connect(self.socket, name=name, timeout_s=timeout_s)
        self._clients.append(made)
        return made

    def wire(self) -> Wire:
        """A bare connection."""
        made = Wire(self.socket)
        self._clients.append(made)
        return made

    def cli(
        self, *arguments: str, stdin: bytes | None = None, env: Mapping[str, str] | None = None
    ) -> "subprocess.CompletedProcess[str]":
        """Runs `workspaced` with this daemon's socket in the environment; never leaves a traceback."""
        done = process.run(
            *arguments,
            input=stdin,
            env={**self.env, "WORKSPACED_SOCKET": str(self.socket), **(env or {})},
            timeout_s=ANSWER_S,
            cwd=self.root,
        )
        out, err = done.stdout.decode(), done.stderr.decode()
        assert "Traceback" not in err and "Exception ignored" not in err, err
        answers.check_printed(arguments, out)
        return subprocess.CompletedProcess(done.args, done.returncode, out, err)

    def add(self, notes: Mapping[str, str]) -> None:
        """Writes notes, and waits until the daemon has seen them and they have settled."""
        write_vault(self.vault, notes)
        self.reconcile()

    def publish(self, kind: str, **data: Any) -> None:
        """An editor publishes one action."""
        with connect(self.socket, name="editor", timeout_s=ANSWER_S) as client:
            client.publish([{"type": kind, "data": data}])

    def call(self, method: str, params: Any = None) -> Any:
        """What a person is answered, by one of our methods."""
        with connect(self.socket, name="person", timeout_s=ANSWER_S) as client:
            return client.call(method, params)

    def events(self, *types: str) -> list[dict[str, Any]]:
        """The events of these types, or of all; those of what was asked before are among them."""
        self.call("workspaced/calls")  # waits until all is recorded
        asked = {"limit": 10_000, **({"types": types} if types else {})}
        events: list[dict[str, Any]] = self.call("workspaced/log", asked)["events"]
        return events

    def ask(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """What an agent is answered."""
        with connect(self.socket, name="agent", timeout_s=ANSWER_S) as client:
            return client.tool(tool, arguments)

    def reconcile(self) -> None:
        """Waits until the daemon has seen all of its vaults."""
        self.call("workspaced/reconcile")

    def memory_bytes(self) -> int:
        """Resident memory of the process."""
        pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGESIZE")


def clean_environment(root: Path) -> dict[str, str]:
    """The environment without anything that points at the user's own daemons and files."""
    dropped = ("WORKSPACED_", "XDG_", "LISTEN_", "COLUMNS")  # xdist sets COLUMNS
    kept = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
    return {**kept, "HOME": str(root / "home"), "TMPDIR": str(root), "NO_COLOR": "1"}


def write_vault(directory: Path, notes: Mapping[str, str] = NOTES) -> Path:
    """A folder of notes."""
    for name, text in notes.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return directory


class SettledVaults:
    """Folders of `NOTES` made ahead: a daemon that takes one need not wait until its notes have settled."""

    AHEAD = 3

    def __init__(self) -> None:
        self._ready: deque[Path] = deque()
        self._place: Path | None = None
        self._made = 0

    def move_one(self, to: Path) -> Path:
        """Moves one to that path; a move leaves the times of the notes as they are."""
        if self._place is None:
            self._place = Path(tempfile.mkdtemp(prefix="wsd-ahead-", dir="/tmp"))
            atexit.register(shutil.rmtree, self._place, ignore_errors=True)
        while len(self._ready) <= self.AHEAD:
            self._ready.append(write_vault(self._place / str(self._made)))
            self._made += 1
        return self._ready.popleft().rename(to)


_settled_vaults = SettledVaults()


class Factory:
    """Makes daemons; see the module's docstring."""

    def __init__(self, *, indexed: bool = False) -> None:
        """`indexed`: a daemon that is started here has indexed its vault, so that its answers change no more."""
        self._indexed = indexed
        self._made: list[Daemon] = []
        self._roots: list[Path] = []

    def root(self) -> Path:
        """A fresh, private directory with a short path."""
        made = Path(tempfile.mkdtemp(prefix="wsd-", dir="/tmp"))
        (made / "home").mkdir()
        self._roots.append(made)
        return made

    def __call__(
        self,
        *flags: str,
        notes: Mapping[str, str] = NOTES,
        env: Mapping[str, str] | None = None,
        start: bool = True,
        real: bool = False,
        clocked: bool = False,
    ) -> Daemon:
        """`clocked`: one whose clocks can be set (`set_ahead`)."""
        root = self.root()
        vault = root / "vault"
        vault = _settled_vaults.move_one(vault) if notes is NOTES else write_vault(vault, notes)
        made = Daemon(root, vault, flags, env or {})
        made.real = real
        if clocked:
            made.set_ahead(0)
        (root / "vault").mkdir(exist_ok=True)
        self._made.append(made)
        if start:
            made.start()
        if start and self._indexed:
            made.reconcile()
        return made

    def beside(self, other: Daemon, *flags: str) -> Daemon:
        """A second daemon for the same data and socket, not started."""
        made = Daemon(other.root, other.vault, flags, {})
        self._made.append(made)
        return made

    def tear_down(self) -> None:
        failures: list[AssertionError | subprocess.TimeoutExpired] = []
        for made in self._made:
            try:
                made.tear_down()
            except (AssertionError, subprocess.TimeoutExpired) as failure:
                failures.append(failure)
        for root in self._roots:
            with suppress(OSError):
                shutil.rmtree(root)
        if failures:
            raise failures[0]


def refusal(function: Callable[..., Any], *arguments: Any, **named: Any) -> RemoteError:
    """The error of the daemon that `function` raises. Whoever is refused is told the next step: it has a hint."""
    with pytest.raises(RemoteError) as raised:
        function(*arguments, **named)
    assert raised.value.hint, raised.value.message
    return raised.value
