"""Several machines: how soon an agent there sees what is published here, and what a link costs the machine itself.

A real NATS server is started on loopback (`make .venv/.nats`); without it the figures are left out. The rival is
to ask the other machine's daemon directly, through a forwarded socket: nothing is sooner, but it answers only
while that machine runs and is reached.
"""

import asyncio
import itertools
import json
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random
from typing import Any, Final

from workspaced.client.sync_client import SyncClient
from workspaced_events.ids import LinkedVaultId, NoteId, OriginId
from workspaced_events.peers.differences import apply_difference, view_of
from workspaced_events.peers.merging import merged_pins
from workspaced_events.schema.peer_events import NewPin, SharedPin, SharedVault, VaultDifference

from .daemon import Daemon, Place, daemon
from .measure import Figure, at_most, interleaved, median, percentile, progress

_LINKED_S: Final = 30.0
_PINS: Final = 100
_ORIGINS: Final = 5


def figures(at: Place) -> Iterator[Figure]:
    """Merging in process, then two daemons and a server."""
    yield from _merging(at)
    program = _server_program()
    if program is None:
        progress("no nats-server: `make .venv/.nats` installs it")
        return
    with ExitStack() as stack:
        url = stack.enter_context(_server(program, at.new("nats")))
        here, there, alone = (stack.enter_context(daemon(at, at.vault, name=name)) for name in ("a", "b", "c"))
        progress("linking two daemons")
        _link(here, there, url, at.vault)
        yield from _seen(here, there, at)
        yield from _publishing(here, alone, at)


# -- in process --


def _merging(at: Place) -> Iterator[Figure]:
    """One more message of a peer applied, and the pins of five machines merged."""
    vault = LinkedVaultId("v")
    pins = [SharedPin(NoteId(f"folder/note {number}.md"), number, number, 1) for number in range(_PINS)]
    random = Random(1)
    views = {
        OriginId(str(origin)): view_of([SharedVault(vault, pins=tuple(random.sample(pins, _PINS // 2)))])
        for origin in range(_ORIGINS)
    }
    changed = (VaultDifference(vault, pinned=(NewPin(0, NoteId("new.md"), 1, 1),)),)

    def merge() -> None:
        first = next(iter(views))
        now = {**views, first: apply_difference(views[first], changed, 2)}
        merged_pins({origin: view[vault] for origin, view in now.items()})

    times = [_timed(merge) * 1_000 for _ in range(at.sizes.calls)]
    yield Figure(
        "replication.merge",
        median(times),
        "ms",
        at_most(1.0),
        fields={"pins": _PINS, "machines": _ORIGINS, "p99_ms": percentile(times, 0.99)},
    )


# -- with a server --


def _seen(here: Daemon, there: Daemon, at: Place) -> Iterator[Figure]:
    """From publishing here until a tool call there, asked again and again, answers with it."""
    notes = itertools.cycle(sorted(path.name for path in at.vault.glob("*.md"))[:20] or _some_notes(at.vault))
    with here.client() as one, there.client() as other:
        linked, direct = [], []
        for _ in range(at.sizes.calls):
            linked.append(_until_seen(one, other, next(notes), "me"))
            direct.append(_until_seen(one, one, next(notes), "here"))
    yield Figure(
        "replication.seen",
        median(linked),
        "ms",
        at_most(50.0),
        fields={
            "p99_ms": percentile(linked, 0.99),
            "asking_that_machine_ms": median(direct),
            "rival": "the other machine's own daemon, asked through a forwarded socket",
        },
    )


def _some_notes(vault: Path) -> list[str]:
    return [path.relative_to(vault).as_posix() for path in itertools.islice(vault.rglob("*.md"), 20)]


def _until_seen(publisher: SyncClient, asker: SyncClient, note: str, of: str) -> float:
    """Milliseconds."""
    started = time.perf_counter()
    publisher.publish([{"type": "active_note_set", "data": {"note": note}}])
    while True:
        answer = asker.tool("get_current_note", {"of": of, "maxContentLength": 100})
        if answer["success"] and answer["data"]["id"] == note:
            return (time.perf_counter() - started) * 1_000


def _publishing(here: Daemon, alone: Daemon, at: Place) -> Iterator[Figure]:
    """Publishing on a linked machine, beside one that is not linked, in turns."""
    with here.client() as linked, alone.client() as bare:
        counter = itertools.count()

        def publish(client: SyncClient) -> None:
            client.publish([{"type": "active_note_set", "data": {"note": f"n{next(counter) % 9}.md"}}])

        def times(client: SyncClient) -> list[float]:
            return [_timed(lambda: publish(client)) for _ in range(at.sizes.calls)]

        with_link, without = interleaved(
            at.sizes.rounds, lambda: median(times(linked)), lambda: median(times(bare))
        )
    ratio = median([one / other for one, other in zip(with_link, without, strict=True)])
    fields = {"linked_ms": median(with_link) * 1_000, "alone_ms": median(without) * 1_000}
    fields |= {"linked_rss_mb": here.resident_mb(), "alone_rss_mb": alone.resident_mb()}
    yield Figure("replication.publish", ratio, "x", at_most(1.05), fields=fields)


def _timed(does: Callable[[], None]) -> float:
    started = time.perf_counter()
    does()
    return time.perf_counter() - started


# -- a link --


def _link(here: Daemon, there: Daemon, url: str, vault: Path) -> None:
    with here.client() as one, there.client() as other:
        made = one.call("workspaced/link/new", {"servers": [url], "person": "ann", "autoApprove": True})
        one.call("workspaced/link/map", {"folder": str(vault), "name": "notes"})
        other.call("workspaced/link/join", {"code": made["code"], "servers": [url], "machine": "there"})
        ends = time.monotonic() + _LINKED_S
        while len(_status(other)["members"]) < 2 or _status(other)["state"] != "connected":
            assert time.monotonic() < ends, _status(other)
            time.sleep(0.05)
        other.call("workspaced/link/map", {"folder": str(vault), "name": "notes"})


def _status(client: SyncClient) -> dict[str, Any]:
    found: dict[str, Any] = client.call("workspaced/link/status")["link"]
    return found


def _server_program() -> str | None:
    beside = Path(sys.executable).parent / "nats-server"
    return str(beside) if beside.exists() else shutil.which("nats-server")


@contextmanager
def _server(program: str, folder: Path) -> Iterator[str]:
    """A server with the stream; gives its URL."""
    folder.mkdir()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [program, "-a", "127.0.0.1", "-p", str(port), "-js", "-sd", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            url = f"nats://127.0.0.1:{port}"
            asyncio.run(_make_stream(url))
            yield url
        finally:
            process.terminate()


async def _make_stream(url: str) -> None:
    import nats
    import nats.errors

    from workspaced.peers.carrying.server_config import stream_config

    ends = time.monotonic() + _LINKED_S
    while True:
        try:
            client = await nats.connect(url, allow_reconnect=False, error_cb=_ignore)
            break
        except (OSError, nats.errors.Error):
            assert time.monotonic() < ends, "the server does not listen"
            await asyncio.sleep(0.05)
    await client.request("$JS.API.STREAM.CREATE.WORKSPACED", json.dumps(stream_config()).encode(), timeout=10)
    await client.close()


async def _ignore(_error: Exception) -> None:
    """Not there yet."""
