"""Recording what agents are shown: what it costs a call, how much is kept, how fast it is verified."""

import itertools
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any, Final

from workspaced.client.wire import request_line
from workspaced_events.replay.open import open_source
from workspaced_events.replay.replay import replay
from workspaced_tools.replay.verify import Outcome, Verified, verify

from .bare import Wire, latencies_ms
from .daemon import Daemon, Place, call_line, daemon
from .measure import Figure, at_least, at_most, interleaved, median, p50s, percentile, pooled, seconds
from .session import session
from .tools import usual_notes, workspace_of

HOUR: Final = {"navigation": 240, "edits": 60, "calls": 60}
"""What a person with a busy agent does in an hour."""
CALL_MIX: Final[tuple[tuple[str, dict[str, Any]], ...]] = (
    ("get_workspace_context", {}),
    ("get_workspace_context", {"includeContent": True}),
    ("get_current_note", {}),
    ("get_current_note", {"includeLinks": True, "includeOutline": True}),
    ("get_workspace_context", {}),
    ("search_workspace", {"query": "the"}),
    ("get_related_notes", {}),
    ("get_navigation_history", {}),
)


def overhead(at: Place) -> Iterator[Figure]:
    """The same calls of a daemon that records and of one that does not, in turns."""
    notes = usual_notes(at.vault, 7)
    with (
        daemon(at, at.vault, name="on") as on,
        daemon(at, at.vault, name="off", settings={"WORKSPACED_RECORD": "none"}) as off,
    ):
        for running in (on, off):
            running.wait_for_index()
            with running.client() as client:
                client.publish(workspace_of(notes))
        whole = call_line("get_workspace_context", includeContent=True)
        yield from _compared(at, on, off, "context.7_notes", itertools.repeat(call_line("get_workspace_context")))
        yield from _compared(at, on, off, "context.content.7_notes", itertools.repeat(whole))
        pages = itertools.cycle(
            call_line("get_note_by_reference", reference=note, maxContentLength=limit)
            for limit in range(100, 1_000)
            for note in notes
        )
        yield from _compared(at, on, off, "never_the_same", pages)


def _compared(at: Place, on: Daemon, off: Daemon, name: str, lines: Iterator[bytes]) -> Iterator[Figure]:
    wires = on.wire(), off.wire()
    ours, theirs = itertools.tee(lines)
    with_it, without = interleaved(
        at.sizes.rounds, _asking(wires[0], ours, at.sizes.calls), _asking(wires[1], theirs, at.sizes.calls)
    )
    for wire in wires:
        wire.close()
    fields = {
        "rounds": at.sizes.rounds,
        "calls": at.sizes.rounds * at.sizes.calls,
        "on_p50_ms": median(pooled(with_it)),
        "off_p50_ms": median(pooled(without)),
        "on_p99_ms": percentile(pooled(with_it), 0.99),
        "off_p99_ms": percentile(pooled(without), 0.99),
    }
    ratio = median([a / b for a, b in zip(p50s(with_it), p50s(without), strict=True)])
    yield Figure(f"recording.overhead.{name}.p50", ratio, "x without recording", at_most(1.1), None, fields)


def _asking(wire: Wire, lines: Iterator[bytes], calls: int) -> Callable[[], list[float]]:
    return lambda: latencies_ms(calls, lambda _: wire.ask(next(lines)))


def hour(at: Place) -> Iterator[Figure]:
    """An hour of a typical session, done at once: how much of it is kept, and how fast it is verified."""
    notes = usual_notes(at.vault, 40)
    with daemon(at, at.vault) as running:
        running.wait_for_index()
        _spend_an_hour(at.vault, running, notes)
    kept = [path.stat().st_size for path in (running.data / "served").rglob("*") if path.is_file()]
    fields: dict[str, Any] = {**HOUR, "blobs": len(kept), "log_kib": running.log_bytes() / 1024}
    yield Figure("recording.hour.kept", sum(kept) / 1024, "KiB of blobs", None, None, fields)
    yield from _verified(at, running.data)


def _spend_an_hour(vault: Path, running: Daemon, notes: list[str]) -> None:
    random = Random(1)
    calls = itertools.cycle(CALL_MIX)
    with running.client() as client:
        wire = running.wire()
        client.publish(workspace_of(notes[:7]))
        todo = [kind for kind, count in HOUR.items() for _ in range(count)]
        random.shuffle(todo)
        looking = session(HOUR["navigation"])
        active = notes[0]
        for kind in todo:
            if kind == "navigation":
                active = notes[hash_of(next(looking)) % len(notes)]
                client.publish([{"type": "active_note_set", "data": {"note": active}}])
            elif kind == "edits":
                with open(vault / active, "a") as file:
                    file.write("\nOne more thought about this.\n")
                os.utime(vault / active)
            else:
                tool, arguments = next(calls)
                wire.ask(call_line(tool, **arguments))
        # The last calls are in the log once they are listed.
        wire.ask(request_line(1, "workspaced/calls", {}))
        wire.close()


def hash_of(action: dict[str, Any]) -> int:
    """A number that depends on the action alone."""
    return sum(map(ord, str(action)))


def _verified(at: Place, data: Path) -> Iterator[Figure]:
    outcomes: list[Verified] = []

    def run() -> None:
        outcomes.clear()
        with open_source(data) as source:
            verify(source, outcomes.append)

    [taken] = interleaved(at.sizes.rounds, lambda: seconds(run))
    different = [each.seq for each in outcomes if each.outcome is not Outcome.SAME]
    assert not different, different
    fields = {"calls": len(outcomes), "events": replay(data).events, "rounds": at.sizes.rounds}
    yield Figure("recording.hour.verify", len(outcomes) / median(taken), "calls/s", at_least(500), None, fields)
