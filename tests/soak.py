"""Row 45 of the faults: a real daemon under everything at once for minutes. `make soak MINUTES=10`.

Prints one JSON line a minute and ends with 1 if the fold of the log ever differs from the live state, if anything
acknowledged is lost, or if memory, descriptors or threads grow after the first minute beyond the bounds below.
"""

import contextlib
import json
import os
import random
import sys
import threading
import time
from pathlib import Path
from typing import Any

import msgspec
from conftest import Daemon, Factory

from workspaced.errors import NoDaemon, RemoteError, TimedOut
from workspaced_events.replay import replay
from workspaced_events.state import to_json

NOTES = 400
PUBLISHERS = 2
PAUSE_S = 0.02
"""Between two steps of a worker: the soak is to last, not to be a benchmark."""
GROWTH_BYTES_MAX = 32 * 1024 * 1024
GROWTH_DESCRIPTORS_MAX = 8
GROWTH_THREADS_MAX = 4


class Soak:
    """The daemon, its workers, and what they may rely on."""

    def __init__(self, running: Daemon, seed: int) -> None:
        self.running = running
        self.ended = threading.Event()
        self.gate = threading.Event()
        """Closed while the daemon is examined or started anew."""
        self.gate.set()
        self.resting = threading.Semaphore(0)
        self.acknowledged: dict[str, int] = {}
        self.worst_publish_s = 0.0
        self.restarts = self.kills = self.subscribers = self.edits = 0
        self.failures: list[str] = []
        self._seed = seed

    def work(self, number: int, step: Any) -> None:
        """Steps until the end; between two it waits where the gate is closed."""
        chance = random.Random(self._seed + number)
        turn = 0
        while not self.ended.wait(PAUSE_S):
            if not self.gate.is_set():
                self.resting.release()
                self.gate.wait()
            try:
                step(chance, f"{number}-{turn}")
            except (NoDaemon, RemoteError, TimedOut, OSError) as error:
                self.failures.append(f"{type(error).__name__}: {error}")
            turn += 1
        self.resting.release()

    def publish(self, chance: random.Random, name: str) -> None:
        with contextlib.closing(self.running.connect()) as client:
            self.running._clients.remove(client)
            for each in range(chance.randrange(1, 30)):
                actions = [self._action(chance, f"{name}-{each}-{part}") for part in range(chance.randrange(1, 5))]
                before = time.monotonic()
                receipts = client.call("workspaced/publish", {"actions": actions})["events"]
                self.worst_publish_s = max(self.worst_publish_s, time.monotonic() - before)
                self.acknowledged.update((receipt["id"], receipt["seq"]) for receipt in receipts)
                client.tool("get_workspace_context" if each % 2 else "get_current_note")

    def _action(self, chance: random.Random, name: str) -> dict[str, Any]:
        kind = chance.choice(["active_note_set", "note_pinned", "note_unpinned", "temporary_tab_opened"])
        data = {"note": f"n{chance.randrange(NOTES)}.md"}
        if kind == "temporary_tab_opened":
            data["source"] = "search"
        return {"type": kind, "data": data, "id": f"{self.restarts}-{name}"}

    def edit(self, chance: random.Random, name: str) -> None:
        for _ in range(3):
            path = self.running.vault / f"n{chance.randrange(NOTES)}.md"
            match chance.randrange(4):
                case 0:
                    path.unlink(missing_ok=True)
                case 1:
                    aside = path.with_suffix(".tmp")
                    aside.write_text(f"# {name}\n\nSee [[n{chance.randrange(NOTES)}]].\n")
                    aside.replace(path)
                case _:
                    path.write_text(f"# {name}\n" + "text " * chance.randrange(2_000))
            self.edits += 1

    def subscribe(self, chance: random.Random, _name: str) -> None:
        wires = [self.running.wire() for _ in range(chance.randrange(1, 6))]
        for wire in wires:
            self.running._clients.remove(wire)
            wire.request("workspaced/subscribe", {"coalesce": chance.random() < 0.3})
            self.subscribers += 1
        self.ended.wait(chance.uniform(0, 0.3))
        for wire in wires:
            if chance.random() < 0.5:
                wire.line()
            elif chance.random() < 0.5:
                wire.send(b'{"jsonrpc":"2.0","id"')
            wire.close()

    # -- each minute --

    def rest(self, workers: int) -> None:
        """Waits until every worker stands still."""
        self.gate.clear()
        for _ in range(workers):
            self.resting.acquire()

    def examine(self) -> dict[str, Any]:
        """Log, fold and acknowledgements; then the process's figures."""
        events: list[Any] = []
        with contextlib.closing(self.running.connect()) as client:
            self.running._clients.remove(client)
            for _ in range(100):
                before = client.call("workspaced/status")["seq"]
                events.clear()
                result = replay(self.running.data, each=events.extend)
                live = client.state()
                status = client.call("workspaced/status")
                if before == events[-1].seq == status["seq"]:
                    break
            else:
                self.failures.append("the log does not come to rest")
        if live != json.loads(msgspec.json.encode(to_json(result.state))):
            self.failures.append(f"the fold differs from the state at {before}")
        by_id = {event.id: event.seq for event in events}
        lost = [name for name, seq in self.acknowledged.items() if by_id.get(name) != seq]
        if lost:
            self.failures.append(f"{len(lost)} acknowledged events are lost, e.g. {lost[0]}")
        if status["degraded"]:
            self.failures.append(f"degraded: {status['degraded']}")
        return {"seq": before, **self.figures()}

    def figures(self) -> dict[str, int]:
        """What must stay flat."""
        process = Path(f"/proc/{self.running.pid}")
        return {
            "rss_bytes": self.running.memory_bytes(),
            "descriptors": len(os.listdir(process / "fd")),
            "threads": len(os.listdir(process / "task")),
        }


def run(minutes: float, seed: int) -> int:
    factory = Factory()
    notes = {f"n{number}.md": f"# Note {number}\n\nSee [[n{number + 1}]].\n" for number in range(NOTES)}
    running = factory("--reconcile-s", "20", notes=notes)
    soak = Soak(running, seed)
    steps = [soak.publish] * PUBLISHERS + [soak.edit, soak.subscribe]
    threads = [threading.Thread(target=soak.work, args=each, daemon=True) for each in enumerate(steps)]
    for each in threads:
        each.start()
    chance = random.Random(seed)
    base: dict[str, int] = {}
    minute_s = min(60.0, minutes * 60)
    try:
        for minute in range(1, max(1, round(minutes)) + 1):
            soak.ended.wait(minute_s)
            soak.rest(len(threads))
            found = soak.examine()
            base = base or found
            check_growth(soak, base, found)
            say(minute, soak, found)
            # A restart sets the figures back, so a life must last some minutes for its growth to be seen.
            if minute % 4 == 2:
                base = restart(soak, chance)
            soak.gate.set()
    finally:
        soak.ended.set()
        soak.gate.set()
        for each in threads:
            each.join(20)
        factory.tear_down()
    return 1 if soak.failures else 0


def check_growth(soak: Soak, base: dict[str, int], found: dict[str, int]) -> None:
    """Notes what grew beyond its bound since `base`."""
    bounds = {
        "rss_bytes": GROWTH_BYTES_MAX,
        "descriptors": GROWTH_DESCRIPTORS_MAX,
        "threads": GROWTH_THREADS_MAX,
    }
    for name, bound in bounds.items():
        if found[name] - base[name] > bound:
            soak.failures.append(f"{name} grew from {base[name]} to {found[name]}")


def restart(soak: Soak, chance: random.Random) -> dict[str, int]:
    """Kills the daemon, or stops it, and starts it anew; what it found is compared at once."""
    if chance.random() < 0.5:
        soak.running.kill()
        soak.kills += 1
    else:
        soak.running.stop()
    soak.restarts += 1
    soak.running.start()
    soak.examine()
    return {}  # the first minute of the new life is its warm-up


def say(minute: int, soak: Soak, found: dict[str, int]) -> None:
    line = {
        "minute": minute,
        **found,
        "acknowledged": len(soak.acknowledged),
        "edits": soak.edits,
        "subscribers": soak.subscribers,
        "restarts": soak.restarts,
        "kills": soak.kills,
        "worst_publish_ms": round(soak.worst_publish_s * 1e3, 1),
        "failures": soak.failures[:5],
    }
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(run(float(os.environ.get("MINUTES", "10")), int(os.environ.get("SEED", "1"))))
