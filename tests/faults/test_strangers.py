"""What listens on the socket may be another user's: no client of ours says a word to it. Row 55 of the table."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from support import TESTS

from workspaced import connect
from workspaced.client.async_client import Client
from workspaced.errors import NoDaemon

NOBODY = 65_534
ACTION = {"type": "active_note_set", "data": {"note": "a.md"}}
pytestmark = pytest.mark.skipif(os.getuid() != 0, reason="needs root to become another user")


class Stranger:
    """Another user's program on a socket; `given_away`: the file of its socket belongs to us."""

    def __init__(self, path: Path, *, given_away: bool) -> None:
        program = TESTS / "support" / "stranger.py"
        self.path = path
        self._process = subprocess.Popen(
            [sys.executable, str(program), str(path), str(NOBODY)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == b"listening\n"
        if given_away:
            os.chown(path, os.getuid(), os.getgid())

    def received(self) -> int:
        """How many bytes it was sent in its life, which this ends."""
        out, _ = self._process.communicate(timeout=60)
        return int(out)

    def end(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.communicate()


@pytest.fixture(params=[False, True], ids=["the file its own", "the file ours"])
def stranger(request: pytest.FixtureRequest, daemon: Any) -> Iterator[Stranger]:
    root = daemon.root()
    os.chmod(root, 0o777)
    made = Stranger(root / "s", given_away=request.param)
    yield made
    made.end()


def by_sync_client(stranger: Stranger, _elsewhere: Any) -> tuple[str, str]:
    with pytest.raises(NoDaemon) as raised, connect(stranger.path) as client:
        client.publish([ACTION])
    return f"NO_DAEMON {raised.value.message} {raised.value.hint}", ""


def by_async_client(stranger: Stranger, _elsewhere: Any) -> tuple[str, str]:
    async def publish() -> None:
        async with Client.open(stranger.path) as client:
            await client.publish([ACTION])

    with pytest.raises(NoDaemon) as raised:
        anyio.run(publish)
    return f"NO_DAEMON {raised.value.message} {raised.value.hint}", ""


def by_command(*command: str) -> Callable[[Stranger, Any], tuple[str, str]]:
    def ask(stranger: Stranger, elsewhere: Any) -> tuple[str, str]:
        done = elsewhere.cli(*command, env={"WORKSPACED_SOCKET": str(stranger.path)})
        assert done.returncode == 3, done.stderr
        return done.stderr, done.stdout

    return ask


def by_bridge(stranger: Stranger, elsewhere: Any) -> tuple[str, str]:
    line = b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}\n'
    done = elsewhere.cli("mcp", "--socket", str(stranger.path), stdin=line)
    assert done.returncode == 3, done.stderr
    return done.stderr, done.stdout


SPEAKERS = {
    "the synchronous client": by_sync_client,
    "the asynchronous client": by_async_client,
    "publish": by_command("publish", "active_note_set", "note=a.md"),
    "status": by_command("status"),
    "state": by_command("state"),
    "the bridge": by_bridge,
}


@pytest.mark.fault(row=55)
@pytest.mark.parametrize("who", SPEAKERS)
def test_row_55_who_connects_refuses_it_before_the_first_byte(daemon: Any, stranger: Stranger, who: str) -> None:
    refusal, said = SPEAKERS[who](stranger, daemon(start=False))
    assert "NO_DAEMON" in refusal and said == ""
    assert ("another user" if who == "the bridge" else str(NOBODY)) in refusal
    assert stranger.received() == 0


@pytest.mark.fault(row=55)
def test_row_55_and_one_that_connects_again_finds_a_stranger_there(daemon: Any) -> None:
    running = daemon("--no-watch")
    os.chmod(running.root, 0o777)
    client = running.connect()
    running.stop()
    stranger = Stranger(running.socket, given_away=True)
    try:
        for _ in range(2):
            with pytest.raises(NoDaemon):
                client.publish([ACTION])
        assert stranger.received() == 0
    finally:
        stranger.end()
        running.socket.unlink()
