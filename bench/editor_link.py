"""Claude Code's link: how soon a session is told what is selected, and what it costs after many selections."""

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from websockets.sync.client import ClientConnection, connect

from workspaced.limits import LINK_LISTENS_S, LINK_PAUSE_S, LINK_REPEAT_S

from .daemon import Daemon, Place, daemon, resident_mb
from .measure import Figure, at_most, median, percentile

SELECTIONS: Final = 10_000
NOTE: Final = "note.md"
_WAIT_S: Final = 30.0


def figures(at: Place) -> Iterator[Figure]:
    """All figures about the link."""
    vault = at.new("notes")
    vault.mkdir()
    (vault / NOTE).write_text("# Note\n\n" + "line\n" * 1_000)
    with daemon(at, vault, name="link") as running, _link(at, running, vault) as link, _session(link) as session:
        running.wait_for_index()
        yield from _told(at, running, session)
        yield from _many(at, running, link, session)


class Link:
    """A running `workspaced ide`."""

    def __init__(self, process: "subprocess.Popen[str]", lock: dict[str, Any]) -> None:
        self.pid = process.pid
        self.port: int = lock["port"]
        self.token: str = json.loads(Path(lock["lock"]).read_text())["authToken"]

    def resident_mb(self) -> float:
        """As the function."""
        return resident_mb(self.pid)


@contextlib.contextmanager
def _link(at: Place, running: Daemon, vault: Path) -> Iterator[Link]:
    command = [sys.executable, "-m", "workspaced", "ide", "--json", "--socket", str(running.socket)]
    environment = {**os.environ, "HOME": str(at.root)}
    process = subprocess.Popen(
        [*command, "--vault", str(vault)], stdout=subprocess.PIPE, env=environment, text=True
    )
    assert process.stdout is not None
    with process.stdout:
        try:
            yield Link(process, json.loads(process.stdout.readline()))
        finally:
            process.terminate()
            process.wait()


@contextlib.contextmanager
def _session(link: Link) -> Iterator[ClientConnection]:
    """A session that is told nothing of its beginning any more."""
    headers = {"x-claude-code-ide-authorization": link.token}
    address = f"ws://127.0.0.1:{link.port}"
    with connect(address, additional_headers=headers, compression=None, proxy=None) as session:
        session.send('{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}')
        session.recv(_WAIT_S)
        session.send('{"jsonrpc":"2.0","method":"notifications/initialized"}')
        time.sleep(LINK_LISTENS_S + LINK_REPEAT_S + 2 * LINK_PAUSE_S)
        yield session


def _select(client: Any, number: int) -> None:
    data = {"note": NOTE, "startLine": 3, "endLine": 3, "text": f"selection {number}"}
    client.publish([{"type": "selection_changed", "data": data}])


def _until(session: ClientConnection, number: int) -> int:
    """Reads until that selection is told; returns how many messages came."""
    wanted = f"selection {number}"
    count = 1
    while json.loads(session.recv(_WAIT_S))["params"]["text"] != wanted:
        count += 1
    return count


def _told(at: Place, running: Daemon, session: ClientConnection) -> Iterator[Figure]:
    """From the publish of one selection to its message, and to the daemon's answer."""
    told, answered = list[float](), list[float]()
    with running.client() as client:
        client.publish([{"type": "active_note_set", "data": {"note": NOTE}}])
        session.recv(_WAIT_S)
        for number in range(20 if at.sizes.quick else 200):
            time.sleep(2 * LINK_PAUSE_S)
            started = time.perf_counter()
            _select(client, number)
            answered.append((time.perf_counter() - started) * 1000)
            _until(session, number)
            told.append((time.perf_counter() - started) * 1000)
    beside = {"selections": len(told), "published_ms": median(answered)}
    yield Figure("ide.told.p50", median(told), "ms", at_most(50), at_most(10), beside)
    yield Figure("ide.told.p99", percentile(told, 0.99), "ms", at_most(200))


def _many(at: Place, running: Daemon, link: Link, session: ClientConnection) -> Iterator[Figure]:
    """Memory of the link and the daemon after many selections, one after another."""
    count = SELECTIONS // 20 if at.sizes.quick else SELECTIONS
    with running.client() as client:
        for number in range(count // 5):
            _select(client, number)
        _until(session, count // 5 - 1)
        before_mb, daemon_before_mb = link.resident_mb(), running.resident_mb()
        for number in range(count):
            _select(client, count + number)
        messages = _until(session, 2 * count - 1)
        grown_mb, daemon_grown_mb = link.resident_mb() - before_mb, running.resident_mb() - daemon_before_mb
    beside = {"before_mb": before_mb, "messages": messages, "daemon_grown_mb": daemon_grown_mb}
    yield Figure("ide.memory", grown_mb, f"MB after {count} selections", at.sizes.whole(at_most(5)), fields=beside)
