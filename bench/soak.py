"""Row 45 of the faults: a real daemon under everything at once for minutes. `make soak MINUTES=10 RATE=100`.

One life without a restart, at RATE calls of tools a second beside publishers, an editor of files and subscribers.
What is bounded in a daemon is filled before the first minute; after the second one memory may not grow by more
than GROWTH_BYTES_MAX, nor may descriptors and threads beyond their bounds. `make soak KILLS=1` is the other run:
the daemon is killed or stopped every minute, and only what it acknowledged and the fold are looked at.

Prints one JSON line a minute, and ends with 1 if a bound is broken, if the fold of the log ever differs from the
live state, if anything acknowledged is lost, or if far fewer calls were made than RATE says.
"""

import contextlib
import json
import os
import random
import statistics
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from workspaced.errors import NoDaemon, RemoteError, TimedOut
from workspaced.limits import CALL_RECORDER_WAITING_MAX
from workspaced_events.limits import BATCH_ACTIONS_MAX, HISTORY_EVENTS_MAX, HISTORY_SLACK_EVENTS, ID_WINDOW_EVENTS
from workspaced_events.projections.workspace_state import to_json
from workspaced_events.replay.replay import replay

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support.daemon import Factory  # the daemon of the tests, whose log they look at

NOTES: Final = 400
PINNED_NOTES: Final = 8
NOTE_WORDS: Final = 1_000
"""At most; all notes take more than CACHE_BYTES."""
CACHE_BYTES: Final = 1024 * 1024
CALLERS: Final = 4
PUBLISHERS: Final = 2
PAUSE_S: Final = 0.2
"""Between two steps of a worker that calls no tools."""
SAMPLE_S: Final = 0.25
GROWTH_BYTES_MAX: Final = 3 * 1024 * 1024
GROWTH_DESCRIPTORS_MAX: Final = 8
GROWTH_THREADS_MAX: Final = 4
WARM_MINUTES: Final = 2
"""What the figures are compared with is found in the last of these."""
RATE_SHARE_MIN: Final = 0.8
"""Of the calls that RATE asks for; with fewer, the run has not shown what it is to show."""
FILL_EVENTS: Final = HISTORY_EVENTS_MAX + HISTORY_SLACK_EVENTS + 2 * ID_WINDOW_EVENTS
FILL_CALLS: Final = 30_000
"""Each of its own, which leaves two blobs: more than the store of what was served keeps the names of."""

FILL_PAST: Final = 80
"""Questions about as many moments: more than the log keeps states of. One reads more recordings than are kept."""
FILL_EDITS: Final = 2 * NOTES
"""So that the caches of the index hold all of it."""


class Load(NamedTuple):
    """How long, how much, and what is filled before."""

    minutes: int = 10
    minute_s: float = 60.0
    rate: float = 100.0
    """Calls of tools a second."""
    seed: int = 1
    fill_events: int = FILL_EVENTS
    fill_calls: int = FILL_CALLS
    fill_edits: int = FILL_EDITS
    fill_past: int = FILL_PAST
    past_share: float = 0.0
    """Of the calls, that look back. With 0.001 memory goes up by some 20 MB in the first minutes and stays there:
    what one such question needs for a moment is not given back whole."""
    kills: bool = False
    growth_bytes_max: int = GROWTH_BYTES_MAX
    rate_share_min: float = RATE_SHARE_MIN


class Figures(NamedTuple):
    """What must stay flat, over one minute."""

    rss_bytes: int
    """The median, so that what an answer or a snapshot of the log takes for a moment does not count."""
    descriptors: int
    threads: int


class Soak:
    """The daemon, its workers, and what they may rely on."""

    def __init__(self, running: Any, load: Load) -> None:
        self.running = running
        self.load = load
        self.ended = threading.Event()
        self.gate = threading.Event()
        """Closed while the daemon is examined or started anew."""
        self.gate.set()
        self.resting = threading.Semaphore(0)
        self.acknowledged: dict[str, int] = {}
        self.worst_publish_s = 0.0
        self.restarts = self.kills = self.subscribers = self.edits = 0
        self.calls = [0] * CALLERS
        self.failures: list[str] = []

    def work(self, number: int, step: Callable[[random.Random, str], object]) -> None:
        """Steps until the end; between two it waits where the gate is closed."""
        chance = random.Random(self.load.seed + number)
        turn = 0
        while not self.ended.wait(PAUSE_S):
            self.pass_gate()
            try:
                step(chance, f"{number}-{turn}")
            except (NoDaemon, RemoteError, TimedOut, OSError) as error:
                self.failures.append(f"{type(error).__name__}: {error}")
            turn += 1
        self.resting.release()

    def pass_gate(self) -> bool:
        """Whether it had to wait at the gate."""
        if self.gate.is_set():
            return False
        self.resting.release()
        self.gate.wait()
        return True

    # -- what the workers do --

    def call(self, number: int) -> None:
        """Calls of tools on one connection, evenly over time; what it is late by for a second is made up for."""
        chance = random.Random(self.load.seed + 100 + number)
        every_s = CALLERS / self.load.rate
        client, due = self.connect(), time.monotonic()
        while not self.ended.wait(max(0.0, due - time.monotonic())):
            if self.pass_gate():
                client.close()
                client, due = self.connect(), time.monotonic()
            try:
                client.call("tools/call", some_call(chance, self.load.past_share))
            except (NoDaemon, RemoteError, TimedOut, OSError) as error:
                self.failures.append(f"{type(error).__name__}: {error}")
            self.calls[number] += 1
            due = max(due + every_s, time.monotonic() - 1)
        client.close()
        self.resting.release()

    def connect(self) -> Any:
        """A client that is closed by whoever asked for it."""
        client = self.running.connect("soak", timeout_s=60.0)
        self.running._clients.remove(client)
        return client

    def publish(self, chance: random.Random, name: str) -> None:
        with contextlib.closing(self.connect()) as client:
            for each in range(chance.randrange(1, 5)):
                self.publish_batch(client, chance, f"{name}-{each}", chance.randrange(1, 5))

    def publish_batch(self, client: Any, chance: random.Random, name: str, actions: int) -> None:
        before = time.monotonic()
        raw = [self._action(chance, f"{name}-{part}") for part in range(actions)]
        receipts = client.call("workspaced/publish", {"actions": raw})["events"]
        self.worst_publish_s = max(self.worst_publish_s, time.monotonic() - before)
        self.acknowledged.update((receipt["id"], receipt["seq"]) for receipt in receipts)

    def _action(self, chance: random.Random, name: str) -> dict[str, Any]:
        kind = chance.choice(["active_note_set", "note_pinned", "note_unpinned", "temporary_tab_opened"])
        data = {"note": f"n{chance.randrange(PINNED_NOTES if 'pinned' in kind else NOTES)}.md"}
        if kind == "temporary_tab_opened":
            data["source"] = "search"
        return {"type": kind, "data": data, "id": f"{self.restarts}-{name}"}

    def edit(self, chance: random.Random, name: str) -> None:
        path = self.running.vault / f"n{chance.randrange(NOTES)}.md"
        match chance.randrange(4):
            case 0:
                path.unlink(missing_ok=True)
            case 1:
                aside = path.with_suffix(".tmp")
                aside.write_text(a_note(chance, name))
                aside.replace(path)
            case _:
                path.write_text(a_note(chance, name))
        self.edits += 1

    def subscribe(self, chance: random.Random, _name: str) -> None:
        wires = [self.running.wire() for _ in range(chance.randrange(1, 6))]
        for wire in wires:
            self.running._clients.remove(wire)
            wire.request("workspaced/subscribe", {})
            self.subscribers += 1
        self.ended.wait(chance.uniform(0, 0.3))
        for wire in wires:
            if chance.random() < 0.5:
                wire.line()
            elif chance.random() < 0.5:
                wire.send(b'{"jsonrpc":"2.0","id"')
            wire.close()

    # -- before the first minute --

    def fill(self) -> None:
        """Fills what is bounded: the windows of events, visits and ids, the caches, what is known of blobs."""
        chance = random.Random(self.load.seed)
        with contextlib.closing(self.connect()) as client:
            for number in range(0, self.load.fill_events, BATCH_ACTIONS_MAX):
                self.publish_batch(client, chance, f"fill-{number}", BATCH_ACTIONS_MAX)
            for number in range(self.load.fill_calls):
                if number % (CALL_RECORDER_WAITING_MAX // 4) == 0:
                    client.call("workspaced/calls", {"limit": 1})  # all so far is recorded
                client.tool("get_note_by_reference", {"reference": f"nothing of that name {number}"})
            for number in range(self.load.fill_edits):
                self.edit(chance, f"fill-{number}")
                if number % 20 == 0:
                    client.call("workspaced/reconcile")
        self._side_by_side(self._fill_caches)
        self._side_by_side(self._fill_past)  # last: it reads what the calls before it recorded

    def _side_by_side(self, fill: Callable[[int], None]) -> None:
        ways = [threading.Thread(target=fill, args=(each,)) for each in range(CALLERS)]
        for each in ways:
            each.start()
        for each in ways:
            each.join()

    def _fill_past(self, number: int) -> None:
        chance = random.Random(number)
        with contextlib.closing(self.connect()) as client:
            for _ in range(self.load.fill_past // CALLERS):
                client.call("tools/call", chance.choice(asked_of_the_past(chance)))

    def _fill_caches(self, number: int) -> None:
        """Every thread of the daemon has an index's connection with a cache of its own: several ask at once."""
        chance = random.Random(number)
        with contextlib.closing(self.connect()) as client:
            for _ in range(self.load.fill_edits):
                client.call("tools/call", chance.choice(seldom_called(chance)))
                for _ in range(OFTEN // 2):
                    client.call("tools/call", chance.choice(often_called(chance)))

    # -- each minute --

    def rest(self, workers: int) -> None:
        """Waits until every worker stands still."""
        self.gate.clear()
        for _ in range(workers):
            self.resting.acquire()

    def measure(self) -> Figures:
        """The figures over a minute, which this waits for."""
        until = time.monotonic() + self.load.minute_s
        found = [self.figures()]
        while (left := until - time.monotonic()) > 0 and not self.ended.wait(min(SAMPLE_S, left)):
            found.append(self.figures())
        return Figures(*(round(statistics.median(each)) for each in zip(*found, strict=True)))

    def figures(self) -> Figures:
        process = Path(f"/proc/{self.running.pid}")
        descriptors, threads = (len(os.listdir(process / each)) for each in ("fd", "task"))
        return Figures(self.running.memory_bytes(), descriptors, threads)

    def examine(self) -> int:
        """Log, fold and acknowledgements; returns the log's sequence."""
        events: list[Any] = []
        with contextlib.closing(self.connect()) as client:
            for _ in range(100):
                before: int = client.call("workspaced/status")["seq"]
                events.clear()
                result = replay(self.running.data, each=lambda some: events.extend((e.id, e.seq) for e in some))
                live = client.state()
                status = client.call("workspaced/status")
                if before == events[-1][1] == status["seq"]:
                    break
            else:
                self.failures.append("the log does not come to rest")
        if live != json.loads(msgspec.json.encode(to_json(result.state))):
            self.failures.append(f"the fold differs from the state at {before}")
        by_id = dict(events)
        lost = [name for name, seq in self.acknowledged.items() if by_id.get(name) != seq]
        if lost:
            self.failures.append(f"{len(lost)} acknowledged events are lost, e.g. {lost[0]}")
        if status["degraded"]:
            self.failures.append(f"degraded: {status['degraded']}")
        return before


OFTEN: Final = 20
"""So many times as often as the others these are called, which cost a tenth of them."""


def often_called(chance: random.Random) -> list[dict[str, Any]]:
    """The parameters of cheap calls of tools."""
    note = f"n{chance.randrange(NOTES)}"
    return [
        {"name": "get_current_note", "arguments": {"includeLinks": True, "includeOutline": True}},
        {"name": "get_note_by_reference", "arguments": {"reference": note}},
        {"name": "get_note_by_reference", "arguments": {"reference": f"{note}.md", "includeMetadata": True}},
        {"name": "get_note_by_reference", "arguments": {"reference": f"none {chance.random()}"}},
        {"name": "get_navigation_history", "arguments": {}},
        {"name": "get_context_manifest", "arguments": {}},
    ]


def seldom_called(chance: random.Random) -> list[dict[str, Any]]:
    """The parameters of dear ones."""
    return [
        {"name": "get_workspace_context", "arguments": {}},
        {"name": "get_workspace_context", "arguments": {"includeContent": True}},
        {"name": "search_workspace", "arguments": {"query": f"word{chance.randrange(1_000)}"}},
        {"name": "get_related_notes", "arguments": {"reference": f"n{chance.randrange(NOTES)}"}},
        {"name": "get_workspace_summary", "arguments": {}},
    ]


def asked_of_the_past(chance: random.Random) -> list[dict[str, Any]]:
    """The parameters of calls that look back: each may take more than a second."""
    note, at = f"n{chance.randrange(NOTES)}", chance.randrange(1, FILL_EVENTS)
    return [
        {"name": "get_note_diff", "arguments": {"reference": note}},
        {"name": "get_note_by_reference", "arguments": {"reference": note, "at": at}},
    ]


def some_call(chance: random.Random, past_share: float) -> dict[str, Any]:
    """The parameters of some call of a tool; `past_share` of the calls look back."""
    if chance.random() < past_share:
        return chance.choice(asked_of_the_past(chance))
    return chance.choice(often_called(chance) * OFTEN + seldom_called(chance))


def a_note(chance: random.Random, title: str) -> str:
    """A note's text, with links and tags."""
    words = " ".join(f"word{chance.randrange(1_000)}" for _ in range(chance.randrange(NOTE_WORDS)))
    links = " ".join(f"[[n{chance.randrange(NOTES)}]]" for _ in range(3))
    return f"# {title}\n\nSee {links} #tag{chance.randrange(50)}\n\n{words}\n"


def grown(base: Figures, found: Figures, bytes_max: int = GROWTH_BYTES_MAX) -> list[str]:
    """What grew beyond its bound since `base`."""
    bounds = Figures(bytes_max, GROWTH_DESCRIPTORS_MAX, GROWTH_THREADS_MAX)
    return [
        f"{name} grew from {before} to {now}, by more than {bound}"
        for name, before, now, bound in zip(Figures._fields, base, found, bounds, strict=True)
        if now - before > bound
    ]


def run(factory: Any, load: Load, *, say: Callable[[dict[str, Any]], object]) -> list[str]:
    """One run against a daemon that `factory` starts; what failed. `say` is given a line a minute."""
    chance = random.Random(load.seed)
    notes = {f"n{number}.md": a_note(chance, f"Note {number}") for number in range(NOTES)}
    env = {"WORKSPACED_CACHE_BYTES": str(CACHE_BYTES)}
    soak = Soak(factory("--reconcile-s", "20", notes=notes, env=env), load)
    soak.fill()
    steps = [soak.publish] * PUBLISHERS + [soak.edit, soak.subscribe]
    threads = [threading.Thread(target=soak.work, args=each, daemon=True) for each in enumerate(steps)]
    threads += [threading.Thread(target=soak.call, args=(each,), daemon=True) for each in range(CALLERS)]
    for each in threads:
        each.start()
    try:
        watch(soak, len(threads), chance, say)
    finally:
        soak.ended.set()
        soak.gate.set()
        for each in threads:
            each.join(60)
    return soak.failures


def watch(soak: Soak, workers: int, chance: random.Random, say: Callable[[dict[str, Any]], object]) -> None:
    """The minutes of a run."""
    base: Figures | None = None
    for minute in range(1, soak.load.minutes + 1):
        calls, begun = sum(soak.calls), time.monotonic()
        found = soak.measure()
        rate = (sum(soak.calls) - calls) / (time.monotonic() - begun)
        soak.rest(workers)
        seq = soak.examine()
        if base is not None and not soak.load.kills:
            soak.failures += grown(base, found, soak.load.growth_bytes_max)
        if minute == WARM_MINUTES:
            base = found
        if rate < soak.load.rate_share_min * soak.load.rate:
            soak.failures.append(f"only {rate:.0f} of {soak.load.rate:g} calls a second were made")
        say(line_of(minute, soak, found, seq, rate))
        if soak.load.kills:
            restart(soak, chance)
        soak.gate.set()


def restart(soak: Soak, chance: random.Random) -> None:
    """Kills the daemon, or stops it, and starts it anew; what it found is compared at once."""
    if chance.random() < 0.5:
        soak.running.kill()
        soak.kills += 1
    else:
        soak.running.stop()
    soak.restarts += 1
    soak.running.start()
    soak.examine()


def line_of(minute: int, soak: Soak, found: Figures, seq: int, rate: float) -> dict[str, Any]:
    return {
        "minute": minute,
        **found._asdict(),
        "calls_s": round(rate, 1),
        "seq": seq,
        "acknowledged": len(soak.acknowledged),
        "edits": soak.edits,
        "subscribers": soak.subscribers,
        "restarts": soak.restarts,
        "kills": soak.kills,
        "worst_publish_ms": round(soak.worst_publish_s * 1e3, 1),
        "failures": soak.failures[:5],
    }


def main() -> int:
    def say(line: dict[str, Any]) -> None:
        sys.stdout.write(json.dumps(line) + "\n")
        sys.stdout.flush()

    load = Load(
        minutes=int(os.environ.get("MINUTES", "10")),
        rate=float(os.environ.get("RATE", "100")),
        seed=int(os.environ.get("SEED", "1")),
        past_share=float(os.environ.get("PAST", "0")),
        kills=bool(os.environ.get("KILLS")),
    )
    factory = Factory()
    try:
        failures = run(factory, load, say=say)
    finally:
        factory.tear_down()
    for each in failures:
        sys.stderr.write(f"{each}\n")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
