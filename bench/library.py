"""`workspaced.replay` on long logs: what it takes to open one, to fold it, to look at it, and to verify a call.

Beside it the way it was done before, which is the fastest rival: all events in memory, and a call verified by
folding them from the first on. Each way is measured in a process of its own, which prints JSON, so that its memory
is its own: `python -m bench.library WAY LOG`.
"""

import itertools
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any, Final

import msgspec

from workspaced import replay
from workspaced.client.wire import request_line
from workspaced_events.projections.visits import visits_from
from workspaced_events.projections.workspace_fold import apply
from workspaced_events.replay.log_slice import Slice
from workspaced_events.replay.open import open_source
from workspaced_events.schema.catalogue import Event, ToolCalled
from workspaced_tools.replay.call_replay import Notes
from workspaced_tools.replay.verify import Moments, Outcome, verify_call

from .daemon import Place, call_line, daemon
from .measure import Figure, at_most, interleaved, median, percentile, pooled, progress, seconds
from .recording import CALL_MIX
from .replay import EVENTS_A_LINE, append_all
from .session import checked_session
from .tools import usual_notes, workspace_of

LENGTHS: Final = (1, 5)
"""Logs of so many times the events of a replay."""
_PARTS: Final = 4
"""Calls are recorded at so many places of a log."""
_CALLS_A_PART: Final = 24
_BINS: Final = 1_000
_BINNED: Final = 20
_VERIFIED: Final = {"pages": 96, "whole": 6}
"""How many calls each way verifies in a round: one from memory takes seconds."""
_ROUNDS: Final = 3
"""Of whole processes."""
_MB_MAX: Final = {1: 130, 5: 250}


def figures(at: Place) -> Iterator[Figure]:
    """Both ways on each log, in turns."""
    for times in LENGTHS:
        count = times * at.sizes.replay_events
        progress(f"making a log of {count} events with calls")
        log = log_with_calls(at, count)
        pages, whole = interleaved(_ROUNDS, *(_measuring(way, log) for way in _VERIFIED))
        yield from _figures(f"replay.library.{count}_events", pages, whole, at.sizes.whole, _MB_MAX[times])


def _figures(
    name: str, pages: list[dict[str, Any]], whole: list[dict[str, Any]], goal: Callable[..., Any], mb_max: int
) -> Iterator[Figure]:
    fields = {"events": pages[0]["events"], "rounds": len(pages)}

    def figure(what: str, unit: str, key: str, bound: float | None = None) -> Figure:
        ours, theirs = (median([each[key] for each in ways]) for ways in (pages, whole))
        beside = {**fields, "in_memory": theirs, "x_in_memory": ours / theirs}
        return Figure(f"{name}.{what}", ours, unit, goal(at_most(bound)) if bound else None, fields=beside)

    yield figure("open", "s", "open_s")
    yield figure("fold", "s", "fold_s")
    yield figure("resident", "MB", "resident_mb", mb_max)
    ours, theirs = (pooled([each["verify_ms"] for each in ways]) for ways in (pages, whole))
    for share, limit in ((0.5, 100), (0.99, 100)):
        beside = {**fields, "calls": len(ours), "in_memory": percentile(theirs, share)}
        label = f"{name}.verify_a_call.p{share * 100:.0f}"
        yield Figure(label, percentile(ours, share), "ms", goal(at_most(limit)), fields=beside)
    taken = pooled([each["bins_ms"] for each in pages])
    yield Figure(f"{name}.bins", median(taken), "ms", goal(at_most(5)), fields={**fields, "bins": _BINS})


def log_with_calls(at: Place, count: int) -> Path:
    """A log of about so many events, with calls of every kind at several places."""
    data, notes = at.new("data"), usual_notes(at.vault, 7)
    actions = checked_session(count)
    part = -(-count // _PARTS)
    for number in range(_PARTS):
        with daemon(at, at.vault, data) as running:
            running.wait_for_index()
            with running.client() as client:
                client.publish(workspace_of(notes))
            wire = running.wire()
            for tool, arguments in itertools.islice(itertools.cycle(CALL_MIX), _CALLS_A_PART):
                wire.ask(call_line(tool, **arguments))
            wire.ask(request_line(1, "workspaced/calls", {}))  # the last calls are in the log once they are listed
            wire.close()
        append_all(data, actions[number * part : (number + 1) * part], EVENTS_A_LINE)
    with daemon(at, at.vault, data) as running:
        running.wait_for_index()
        wire = running.wire()
        for tool, arguments in CALL_MIX:
            wire.ask(call_line(tool, **arguments))
        wire.close()
    return data


def _measuring(way: str, log: Path) -> Callable[[], dict[str, Any]]:
    def measured() -> dict[str, Any]:
        command = [sys.executable, "-m", "bench.library", way, str(log)]
        done = subprocess.run(command, check=True, capture_output=True)
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    return measured


# -- in a process of its own --


def _resident_mb() -> float:
    done = subprocess.run(["ps", "-o", "rss=", "-p", str(os.getpid())], capture_output=True, check=True, text=True)
    return int(done.stdout) * 1024 / 1e6


def _lane(type_: str) -> str:
    return type_.partition("_")[0]


def _of_pages(path: Path) -> dict[str, Any]:
    """What the library does."""
    started = time.perf_counter()
    with replay.open(path) as log:
        found: dict[str, Any] = {"open_s": time.perf_counter() - started}
        found["fold_s"] = seconds(lambda: _fold_all(log))
        found |= {"resident_mb": _resident_mb(), "events": len(log.events())}
        span = log.span_us()
        assert span is not None
        found["bins_ms"] = [
            1_000 * seconds(lambda: log.bins(span[0], span[1] + 1, _BINS, _lane)) for _ in range(_BINNED)
        ]
        calls = [call.seq for call in log.calls()]
        chosen = Random(1).sample(calls, min(len(calls), _VERIFIED["pages"]))
        found["verify_ms"] = [1_000 * seconds(lambda seq=seq: _same(log.call(seq).verify())) for seq in chosen]
    return found


def _fold_all(log: replay.Log) -> None:
    folded, events = 0, 1
    while folded < events:
        folded, events = log.fold_some()


def _in_memory(path: Path) -> dict[str, Any]:
    """What it did before: all events and a state for each 1,000 of them."""
    started = time.perf_counter()
    events: list[Event] = []
    with open_source(path) as source:
        source.feed(events.extend)
        part = Slice(source.log_id, source.start, msgspec.json.encode(visits_from(0)), events, source.blob)
        found: dict[str, Any] = {"open_s": time.perf_counter() - started, "events": len(events)}
        states = [part.start]

        def fold() -> None:
            state = part.start
            for at, event in enumerate(events, start=1):
                state = apply(state, event)
                if at % 1_000 == 0:
                    states.append(state)

        found["fold_s"] = seconds(fold)
        found["resident_mb"] = _resident_mb()
        calls = [event for event in events if isinstance(event.data, ToolCalled)]
        chosen = Random(1).sample(calls, min(len(calls), _VERIFIED["whole"]))
        found["verify_ms"] = [1_000 * seconds(lambda call=call: _same(_verified(part, call))) for call in chosen]
    return found


def _verified(part: Slice, call: Event) -> replay.Verified:
    then = Moments(part)
    for event in itertools.takewhile(lambda event: event.seq <= call.data.tail, part.events):
        then.take(event)
    return verify_call(part, Notes(part.blob), then, call)


def _same(verified: replay.Verified) -> None:
    assert verified.outcome is Outcome.SAME, verified


if __name__ == "__main__":
    way, log = sys.argv[1:]
    print(json.dumps((_of_pages if way == "pages" else _in_memory)(Path(log))))
