"""A client sends a publish again if the connection ends before the answer; the daemon records it once."""

import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from workspaced import Client, connect

LIMIT_S = 60
LOOKED_AT = {"type": "active_note_set", "data": {"note": "a.md"}}


def relay(listener: socket.socket, daemon: Path) -> None:
    """Serves two connections, one after the other. The first ends when the daemon has answered a publish, without
    the answer."""
    for is_first in (True, False):
        client, _ = listener.accept()
        upstream = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        upstream.connect(str(daemon))
        with client, upstream, client.makefile("rb") as requests, upstream.makefile("rb") as answers:
            for request in requests:
                upstream.sendall(request)
                answer = answers.readline()
                if is_first and b"workspaced/publish" in request:
                    break
                client.sendall(answer)


@pytest.fixture
def relayed(daemon: Any) -> Iterator[tuple[Any, Path]]:
    """A daemon, and a socket that loses the answer of the first publish."""
    running = daemon()
    place = running.root / "relay"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(place))
        listener.listen()
        listener.settimeout(LIMIT_S)
        thread = threading.Thread(target=relay, args=(listener, running.socket))
        thread.start()
        yield running, place
        thread.join(LIMIT_S)
        assert not thread.is_alive()


def assert_recorded_once(running: Any, receipt: dict[str, Any]) -> None:
    assert [event["seq"] for event in running.events("active_note_set")] == [receipt["seq"]]
    assert receipt["duplicate"]


def test_a_publish_whose_answer_is_lost_is_recorded_once(relayed: tuple[Any, Path]) -> None:
    running, place = relayed
    with connect(place, timeout_s=LIMIT_S) as client:
        (receipt,) = client.publish([LOOKED_AT])
    assert_recorded_once(running, receipt)


async def test_the_async_client_records_it_once_too(relayed: tuple[Any, Path]) -> None:
    running, place = relayed
    with anyio.fail_after(LIMIT_S):
        async with Client.open(place, name="async") as client:
            (receipt,) = await client.publish([LOOKED_AT])
    assert_recorded_once(running, receipt)
