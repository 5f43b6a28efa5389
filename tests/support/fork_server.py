"""A process that has imported workspaced once, and forks a `workspaced` for whoever asks.

A daemon is up in a tenth of the time that a fresh interpreter takes. What a test sees of it is what it sees of a
process of its own: a pid, pipes, an exit code, signals. The pieces:

- `ForkServer` is the tests' side: `run(arguments, env=, ...)` gives a `Forked`, which is used like a `Popen`.
- `_serve` is the server. It has one thread, asks nothing of the disk, and holds nothing but its socket and a pidfd
  per child, so there is no lock that a child could inherit. It reaps every child at once, and tells the exit code
  on a pipe.
- The child leaves `_serve`, closes every descriptor but 0, 1 and 2, takes environment, directory, signals and time
  zone as a fresh process has them, and runs the module `workspaced` as `__main__`.
- A child that exits waits for its threads, calls what it registered for its end and flushes its streams. The
  interpreter is not torn down after that: it would write to, and so copy, all pages, which takes as long as a
  daemon's start. A child that raises anything else ends as interpreters do.

What differs from a fresh interpreter: hashes have the seed of the server, all modules are there, and objects that
are alive at the end are not finalized. Where that matters, or the start itself is tested (`PYTHONPATH`,
`sys.flags`, limits, a tracer), start a real process.

When the tests end, even by SIGKILL, the server reads the end of its socket, kills what is left and ends.
"""

import atexit
import gc
import importlib
import json
import os
import pkgutil
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

import anyio

PACKAGES = ("workspaced", "workspaced_tools", "workspaced_events")
REQUEST_BYTES_MAX = 1_048_576
DESCRIPTORS_MAX = 1_048_576
IS_AVAILABLE = hasattr(os, "pidfd_open") and sys.platform == "linux"
PYTHON_READS = ("PYTHON", "LD_", "LC_", "LANG", "MALLOC_", "GLIBC_")
"""Variables that are read when an interpreter starts: a daemon whose test sets one needs a start of its own."""


# -- the side of the tests --


class Forked:
    """A child of the server, used as a `subprocess.Popen` is."""

    def __init__(
        self, pid: int, pidfd: int, status: int, args: Sequence[str], pipes: Mapping[str, IO[bytes] | None]
    ) -> None:
        self.pid = pid
        self.args = list(args)
        self.returncode: int | None = None
        self.stdin = pipes.get("stdin")
        self.stdout = pipes.get("stdout")
        self.stderr = pipes.get("stderr")
        self._pidfd = pidfd
        self._status = status
        self._lock = threading.Lock()

    def _end(self, timeout_s: float | None) -> int | None:
        """The exit code, if it ends in time. Many threads may wait at once; none waits with the lock held."""
        if not _is_ready(self._pidfd, timeout_s):
            return None
        _is_ready(self._status, None)  # it has ended: the server is about to tell
        with self._lock:
            if self.returncode is None:
                said = os.read(self._status, 64)
                self.returncode = int(said) if said else -signal.SIGKILL  # the server died, its children with it
            return self.returncode

    def poll(self) -> int | None:
        return self._end(0.0)

    def wait(self, timeout: float | None = None) -> int:
        """The exit code.

        Raises:
            subprocess.TimeoutExpired: it still runs.
        """
        code = self._end(timeout)
        if code is None:
            assert timeout is not None
            raise subprocess.TimeoutExpired(self.args, timeout)
        return code

    def send_signal(self, number: int) -> None:
        """Sends a signal, unless it has ended; never to another process that got its pid."""
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._pidfd, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def communicate(self, input: bytes | None = None, timeout: float | None = None) -> tuple[bytes, bytes]:  # noqa: A002
        """What it wrote, once it has ended.

        Raises:
            subprocess.TimeoutExpired: it still runs.
        """
        read: dict[str, bytes] = {"stdout": b"", "stderr": b""}

        def drain(name: str, stream: IO[bytes]) -> None:
            with stream:
                read[name] = stream.read()

        streams = {"stdout": self.stdout, "stderr": self.stderr}
        threads = [threading.Thread(target=drain, args=(n, s), daemon=True) for n, s in streams.items() if s]
        for each in threads:
            each.start()
        if self.stdin is not None and not self.stdin.closed:
            with suppress(BrokenPipeError), self.stdin:
                self.stdin.write(input or b"")
        code_by = None if timeout is None else time.monotonic() + timeout
        self.wait(timeout)
        for each in threads:
            each.join(None if code_by is None else max(0.1, code_by - time.monotonic()))
        return read["stdout"], read["stderr"]

    def __del__(self) -> None:
        os.close(self._status)
        os.close(self._pidfd)


def _is_ready(descriptor: int, timeout_s: float | None) -> bool:
    waiting = select.poll()
    waiting.register(descriptor, select.POLLIN | select.POLLHUP)
    return bool(waiting.poll(None if timeout_s is None else max(0.0, timeout_s * 1_000)))


class ForkServer:
    """Starts the server's process when it is first asked for something."""

    def __init__(self) -> None:
        self._socket: socket.socket | None = None
        self._lock = threading.Lock()

    def _connected(self) -> socket.socket:
        if self._socket is None:
            ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            ours.settimeout(60.0)
            dropped = ("WORKSPACED_", "XDG_", "LISTEN_")
            env = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
            with theirs:
                command = [sys.executable, "-P", str(Path(__file__).resolve()), str(theirs.fileno())]
                # It forks itself away at once: tests that look for children of theirs find none.
                subprocess.run(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    env=env,
                    pass_fds=[theirs.fileno()],
                    cwd="/",
                    check=True,
                )
            self._socket = ours
        return self._socket

    def run(
        self,
        arguments: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: Path | str | None = None,
        stdin: int | None = subprocess.DEVNULL,
        stdout: int | None = subprocess.DEVNULL,
        stderr: int | None = subprocess.PIPE,
        start_new_session: bool = False,
    ) -> Forked:
        """Starts `python -m workspaced *arguments`. Streams are PIPE, DEVNULL, a descriptor, or None: as here.

        Raises:
            AssertionError: the server is gone.
        """
        ours: dict[str, IO[bytes] | None] = {}
        theirs: list[int] = []
        opened: list[int] = []
        for name, wanted, mode in (("stdin", stdin, "rb"), ("stdout", stdout, "wb"), ("stderr", stderr, "wb")):
            if wanted == subprocess.PIPE:
                reading, writing = os.pipe()
                mine, other = (writing, reading) if mode == "rb" else (reading, writing)
                ours[name] = os.fdopen(mine, "wb" if mode == "rb" else "rb")
                theirs.append(other)
                opened.append(other)
            elif wanted == subprocess.DEVNULL:
                opened.append(os.open(os.devnull, os.O_RDWR))
                theirs.append(opened[-1])
            elif wanted == subprocess.STDOUT:
                theirs.append(theirs[1])
            else:
                theirs.append({"stdin": 0, "stdout": 1, "stderr": 2}[name] if wanted is None else wanted)
        status, telling = os.pipe()
        opened.append(telling)
        request = {
            "arguments": [str(each) for each in arguments],
            "env": dict(env),
            "cwd": str(cwd or Path.cwd()),
            "start_new_session": start_new_session,
        }
        data = json.dumps(request).encode("utf-8", "surrogateescape")
        try:
            with self._lock:
                connection = self._connected()
                socket.send_fds(connection, [data], [*theirs, telling])
                answer, fds, _flags, _ = socket.recv_fds(connection, 64, 1)
        except BaseException:
            os.close(status)
            raise
        finally:
            for each in opened:
                os.close(each)
        assert answer and fds, "the fork server ended"
        return Forked(int(answer), fds[0], status, ["workspaced", *map(str, arguments)], ours)

    def close(self) -> None:
        """Ends the server, and with it every child that is left."""
        if self._socket is not None:
            with self._socket:
                self._socket.shutdown(socket.SHUT_WR)
                self._socket.recv(1)  # the end, once it has ended
            self._socket = None


# -- the server --


def _serve(connection: socket.socket) -> dict[str, Any]:
    """Serves until the tests leave, then exits. Returns only in a child: the request that it is to become."""
    children: dict[int, tuple[int, int]] = {}  # pidfd -> pid, where its exit code is told
    polling = select.poll()
    polling.register(connection, select.POLLIN)
    while True:
        for ready, _event in polling.poll():
            if ready in children:
                _reap(ready, *children.pop(ready))
                polling.unregister(ready)
                os.close(ready)
                continue
            data, fds, _flags, _ = socket.recv_fds(connection, REQUEST_BYTES_MAX, 4)
            if not data:
                for pidfd, (pid, telling) in children.items():
                    signal.pidfd_send_signal(pidfd, signal.SIGKILL)
                    _reap(pidfd, pid, telling)
                os._exit(0)
            pid = os.fork()
            if pid == 0:
                for number, fd in enumerate(fds[:3]):
                    os.dup2(fd, number)
                request: dict[str, Any] = json.loads(data.decode("utf-8", "surrogateescape"))
                return request
            for fd in fds[:3]:
                os.close(fd)
            pidfd = os.pidfd_open(pid)
            children[pidfd] = (pid, fds[3])
            polling.register(pidfd, select.POLLIN)
            socket.send_fds(connection, [str(pid).encode()], [pidfd])


def _reap(_pidfd: int, pid: int, telling: int) -> None:
    """Takes the exit code of a child that has ended, and tells it."""
    _, status = os.waitpid(pid, 0)
    with suppress(BrokenPipeError):  # nobody waits for it any more
        os.write(telling, str(os.waitstatus_to_exitcode(status)).encode())
    os.close(telling)


def _become(request: dict[str, Any]) -> None:
    """What a fresh process has: descriptors, environment, directory, signals, time zone, arguments."""
    os.closerange(3, DESCRIPTORS_MAX)
    if request["start_new_session"]:
        os.setsid()
    os.environ.clear()
    os.environ.update(request["env"])
    time.tzset()
    os.chdir(request["cwd"])
    tempfile.tempdir = None
    signal.signal(signal.SIGINT, signal.default_int_handler)
    arguments: list[str] = request["arguments"]
    sys.path.insert(0, request["cwd"])
    sys.argv = ["workspaced", *arguments]


def _warm() -> None:
    """Imports all that a daemon and the command line import, and has them make what they make once."""
    for package in map(importlib.import_module, PACKAGES):
        for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
            # Neither a daemon nor the command line imports an adapter; its framework may not be installed.
            if not module.name.endswith("__main__") and not module.name.startswith("workspaced.adapters."):
                importlib.import_module(module.name)
    for name in dir(anyio):
        getattr(anyio, name)  # imports what it comes from
    anyio.run(anyio.sleep, 0)  # and this the loop's backend
    from workspaced.cli import cli

    for name in cli.list_commands(None):  # type: ignore[arg-type]
        cli.get_command(None, name)  # type: ignore[arg-type]
    gc.collect()
    gc.freeze()  # or the collector of every child writes to, and so copies, all pages
    tasks = Path("/proc/self/task")
    assert threading.active_count() == 1 and len(list(tasks.iterdir())) == 1, "a thread would not survive a fork"


def _end(code: object) -> None:
    """Ends a child without the interpreter's teardown; returns where that has something to say."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    try:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
    except (OSError, ValueError):
        return
    if code is None or isinstance(code, int):
        os._exit((code or 0) & 0xFF)


if __name__ == "__main__":
    if os.fork():
        os._exit(0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the tests; they leave, and then so do we
    _warm()
    with socket.socket(fileno=int(sys.argv[1])) as _connection:
        _request = _serve(_connection)
        _connection.detach()  # _become closes it
    _become(_request)
    del _connection, _request
    import runpy

    try:
        runpy.run_module("workspaced", run_name="__main__", alter_sys=True)
    except SystemExit as ended:
        _end(ended.code)
        raise
