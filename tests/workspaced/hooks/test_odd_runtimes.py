"""`workspaced hook` and runtimes that are odd: their streams, their signals, and other daemons of the machine."""

import fcntl
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

SENT = {"hook_event_name": "UserPromptSubmit", "session_id": "s-1", "prompt": "What is this?", "cwd": "/"}
STDIN = json.dumps(SENT).encode()
PAGE_BYTES = 4096
SET_PIPE_SIZE = 1031
"""F_SETPIPE_SZ, which only Linux has."""
SOON_S = 60.0
"""Far more than the half second after which a hook gives up, on the busiest machine."""
linux = pytest.mark.skipif(sys.platform != "linux", reason="pipes of a chosen size")


class Answering:
    """Listens like a daemon and answers each request with what `answer` makes of its method."""

    def __init__(self, path: Path, answer: Callable[[str], bytes]) -> None:
        self.path = path
        self.asked: list[str] = []
        self.some = threading.Event()
        self._answer = answer
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen()
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        with self._listener:
            connection, _ = self._listener.accept()
        with connection, connection.makefile("rb") as lines, suppress(OSError):
            for line in lines:
                self.asked.append(json.loads(line).get("method", ""))
                self.some.set()
                connection.sendall(self._answer(self.asked[-1]))

    def close(self) -> None:
        with suppress(OSError), socket.socket(socket.AF_UNIX) as last:
            last.connect(str(self.path))  # wakes `accept` if no hook came
        self._thread.join(SOON_S)


def long_text(method: str) -> bytes:
    result = {"text": "x" * 5_900, "token": "t"}
    answer = json.dumps({"jsonrpc": "2.0", "id": 1, "result": result}).encode() + b"\n"
    return answer if method == "workspaced/volunteer" else b""


@pytest.fixture
def answering(tmp_path: Path) -> Iterator[Callable[..., Answering]]:
    made: list[Answering] = []

    def make(answer: Callable[[str], bytes]) -> Answering:
        made.append(Answering(Path(os.path.relpath(tmp_path / "s")), answer))
        return made[-1]

    yield make
    for each in made:
        each.close()


def start(daemon: Answering, *options: str, **streams: Any) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", "workspaced", "hook", "claude", "--socket", str(daemon.path), *options]
    return subprocess.Popen(command, stdin=subprocess.PIPE, **{"stdout": subprocess.PIPE, **streams})


def end(process: "subprocess.Popen[bytes]") -> tuple[bytes, bytes]:
    """What the hook wrote, once it has ended; it gets its input and is killed if it does not end soon."""
    try:
        out, err = process.communicate(STDIN, SOON_S)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
    return out or b"", err or b""


def test_a_hook_without_standard_output_does_not_say_that_the_agent_was_told(answering: Any) -> None:
    daemon = answering(long_text)
    command = [sys.executable, "-m", "workspaced", "hook", "claude", "--socket", str(daemon.path)]
    closing = ["/bin/sh", "-c", 'exec "$@" >&-', "sh", *command]
    subprocess.run(closing, input=STDIN, timeout=SOON_S, check=True)
    daemon.close()
    assert "workspaced/volunteer/confirm" not in daemon.asked


@linux
def test_a_pipe_that_does_not_block_gets_all_of_the_answer_or_nothing(answering: Any) -> None:
    inner, outer = os.pipe()
    fcntl.fcntl(outer, SET_PIPE_SIZE, PAGE_BYTES)
    os.set_blocking(outer, False)
    process = start(answering(long_text), stdout=outer)
    os.close(outer)
    came: list[bytes] = []

    def read() -> None:
        process.wait(SOON_S)
        while part := os.read(inner, PAGE_BYTES):
            came.append(part)

    reader = threading.Thread(target=read)
    reader.start()
    end(process)
    reader.join(SOON_S)
    os.close(inner)
    assert not came or json.loads(b"".join(came))


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a socket away")
def test_a_hook_connects_to_no_socket_of_another_user(daemon: Any) -> None:
    world = daemon()
    path, records = world.root / "h", world.root / "home/.local/state/workspaced/daemons"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        listener.setblocking(False)
        os.chown(path, 12_345, 12_345)
        wire = json.loads(next(records.glob("*.json")).read_text())
        other = records / "aaa-0123456789abcdef.json"
        other.write_text(json.dumps({**wire, "workspace": "aaa", "socket": str(path), "vaults": ["/elsewhere"]}))
        other.chmod(0o600)
        sent = json.dumps({**SENT, "cwd": str(world.vault)}).encode()
        done = world.cli("hook", "claude", "--timeout", "30", stdin=sent, env={"WORKSPACED_SOCKET": ""})
        assert (done.returncode, done.stderr) == (0, "")
        with pytest.raises(BlockingIOError):
            listener.accept()
