"""Publishers that do not wait for answers, and what the log holds afterwards."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from support.daemon import ANSWER_S
from workspaced_events.projections.workspace_state import to_json
from workspaced_events.replay.replay import replay


def look(note: str, name: str | None = None) -> dict[str, Any]:
    """An action; `name` is its id."""
    return {"type": "active_note_set", "data": {"note": note}} | ({} if name is None else {"id": name})


def selected(text: str, name: str) -> dict[str, Any]:
    """An action; `name` is its id. A long text is a blob of its own."""
    return {
        "type": "selection_changed",
        "data": {"note": "a.md", "startLine": 1, "endLine": 2, "text": text},
        "id": name,
    }


def publish(client: Any, action: dict[str, Any]) -> int:
    """Publishes without the client's own retry; the sequence."""
    seq: int = client.call("workspaced/publish", {"actions": [action]})["events"][0]["seq"]
    return seq


def large_batch(name: str, number: int) -> list[dict[str, Any]]:
    """Some 150 KB: many events for the log, or a few texts that become blobs."""
    if number % 2:
        note = "/".join(["d" * 250] * 3)
        return [look(f"{note}/{each}.md", f"{name}:{each}") for each in range(150)]
    text = f"{name} " * (36_000 // len(name))
    return [selected(f"{each} {text}", f"{name}:{each}") for each in range(4)]


def segment(running: Any) -> Path:
    """The file that the log writes to."""
    found: Path = max((running.data / "log").glob("*.wlog"))
    return found


def degraded(client: Any, holds: Callable[[list[str]], bool]) -> list[str]:
    """What `status` calls degraded, once it is as looked for: files are looked at, and written, beside serving."""
    deadline = time.monotonic() + ANSWER_S
    while not holds(found := client.call("workspaced/status")["degraded"]):
        assert time.monotonic() < deadline, found
        time.sleep(0.01)
    return list(found)


class Crowd:
    """Many bare connections that publish without waiting for answers, then read them all.

    Attributes:
        acknowledged: the sequence of each acknowledged id.
        kept: the names of the acknowledged batches.
        refused: the error of each refused batch, by its name: an id, or what stands before the colon of its ids.
    """

    def __init__(self, running: Any, clients: int) -> None:
        self.wires = [running.wire() for _ in range(clients)]
        self.acknowledged: dict[str, int] = {}
        self.kept: set[str] = set()
        self.refused: dict[str, dict[str, Any]] = {}
        self.worst_s = 0.0
        self._sent: list[tuple[Any, int, str, float]] = []
        for wire in self.wires:
            wire.ask("workspaced/hello", {"client": {"name": "crowd"}})

    def publish(self, each: int, stem: str, large: int = 0) -> None:
        """`each` publishes on every connection, nothing read in between; the first `large` send large batches."""
        for number, wire in enumerate(self.wires):
            for turn in range(each):
                name = f"{stem}-{number}-{turn}"
                actions = large_batch(name, turn) if number < large else [look(f"{name}.md", name)]
                sent = wire.request("workspaced/publish", {"actions": actions})
                self._sent.append((wire, sent, name, time.monotonic()))

    def collect(self) -> None:
        """Reads the answers to everything sent."""
        waiting = {(id(wire), sent): (name, at) for wire, sent, name, at in self._sent}
        counts: dict[int, int] = {}
        for wire, *_ in self._sent:
            counts[id(wire)] = counts.get(id(wire), 0) + 1
        self._sent.clear()
        for wire in self.wires:
            for _ in range(counts.get(id(wire), 0)):
                message = wire.line()
                assert message is not None, "the daemon closed the connection"
                name, at = waiting.pop((id(wire), message["id"]))
                if "error" in message:
                    self.refused[name] = message["error"]
                else:
                    self.worst_s = max(self.worst_s, time.monotonic() - at)
                    self.acknowledged |= {each["id"]: each["seq"] for each in message["result"]["events"]}
                    self.kept.add(name)
        assert not waiting

    def codes(self) -> set[str]:
        """The codes of all refusals."""
        return {error["data"]["code"] for error in self.refused.values()}

    def close(self) -> None:
        for wire in self.wires:
            wire.close()


def verified(running: Any, acknowledged: dict[str, int]) -> list[Any]:
    """The events of a running daemon.

    Raises:
        AssertionError: the log has a gap, folds to another state than the live one, or lacks an acknowledged id.
    """
    events: list[Any] = []
    with running.connect() as client:
        for _ in range(100):  # the records of tool calls may still be on their way
            before = client.call("workspaced/status")["seq"]
            events.clear()
            result = replay(running.data, each=events.extend)
            live = client.state()
            if before == events[-1].seq == client.call("workspaced/status")["seq"]:
                break
        else:
            raise AssertionError("the log does not come to rest")
    assert live == json.loads(msgspec.json.encode(to_json(result.state)))
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    by_id = {event.id: event.seq for event in events}
    assert len(by_id) == len(events), "an id was recorded twice"
    assert {name: by_id.get(name) for name in acknowledged} == acknowledged
    return events
