"""Fault 1: SIGKILL at any moment of publishing. What was acknowledged is there, in a log without a hole."""

import json
import random
import threading
from contextlib import suppress
from typing import Any

import msgspec
import pytest

from workspaced.errors import NoDaemon, RemoteError
from workspaced_events.projections.workspace_state import to_json
from workspaced_events.replay.replay import replay

ROUNDS = 20
PUBLISHERS = 3


class Publishers:
    """Clients that publish until the daemon is gone, noting what was acknowledged."""

    def __init__(self, running: Any, round_number: int) -> None:
        self.acknowledged: dict[str, int] = {}
        self._kill_at = random.Random(round_number).randrange(1, 120)
        self.reached = threading.Event()
        self._threads = [
            threading.Thread(target=self._publish, args=(running.connect(), f"{round_number}-{number}"))
            for number in range(PUBLISHERS)
        ]
        for each in self._threads:
            each.start()

    def _publish(self, client: Any, name: str) -> None:
        with client, suppress(NoDaemon, RemoteError):
            for number in range(1_000_000):
                actions = [
                    {
                        "type": "active_note_set" if each % 2 else "temporary_tab_opened",
                        "data": {"note": f"{name}-{number % 40}.md"} | ({} if each % 2 else {"source": "search"}),
                        "id": f"{name}-{number}-{each}",
                    }
                    for each in range(number % 3 + 1)
                ]
                # call, not publish: a retry would hide what the first answer would have been
                for receipt in client.call("workspaced/publish", {"actions": actions})["events"]:
                    self.acknowledged[receipt["id"]] = receipt["seq"]
                if len(self.acknowledged) >= self._kill_at:
                    self.reached.set()

    def join(self) -> None:
        for each in self._threads:
            each.join()


@pytest.mark.fault(row=1)
@pytest.mark.thorough
def test_twenty_kills_lose_nothing_that_was_acknowledged(daemon: Any) -> None:
    running = daemon("--no-watch")
    acknowledged: dict[str, int] = {}
    for number in range(ROUNDS):
        publishers = Publishers(running, number)
        assert publishers.reached.wait(60)
        running.kill()
        publishers.join()
        acknowledged |= publishers.acknowledged
        running.start()
        with running.connect() as client:
            live = client.state()
        events: list[Any] = []
        result = replay(running.data, each=events.extend)
        assert live == json.loads(msgspec.json.encode(to_json(result.state)))
        assert [event.seq for event in events] == list(range(1, len(events) + 1))
        by_id = {event.id: event.seq for event in events}
        lost = {each: seq for each, seq in acknowledged.items() if by_id.get(each) != seq}
        assert not lost, f"round {number}"
    assert len(acknowledged) > ROUNDS
