"""How costs grow with the notes of a vault and with the events of a log: a curve for each, and its exponent.

A value is the slope of the least squares line through the points of a curve on logarithmic axes: 0 for a cost that
does not grow, 1 for a linear one; n log n has 1.11 between 1,000 and 300,000.
"""

import math
import statistics
import time
from collections import defaultdict
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

from workspaced.client.wire import request_line
from workspaced_events.ids import VaultId
from workspaced_events.journal.actions import Action
from workspaced_events.journal.opening import open_journal
from workspaced_events.log.disk import RealDisk
from workspaced_events.replay.replay import replay
from workspaced_events.schema import catalogue as c

from . import scale
from .bare import Wire, latencies_ms
from .daemon import Place, call_line, daemon, structured
from .measure import Figure, at_most, median, progress, seconds, significant
from .replay import EVENTS_A_LINE, append_all
from .session import NOTES, checked_session

N_LOG_N: Final = 1.11
FAR: Final = 1_000_000
"""Notes that each curve is drawn out to."""
PART_EVENTS: Final = 100_000
"""Of a log; more at once would need gigabytes."""

Curves = dict[tuple[str, str], dict[int, float]]
"""By name and unit: values by size."""


def figures(at: Place) -> Iterator[Figure]:
    """All curves."""
    yield from by_notes(at)
    yield from by_events(at)


def by_notes(at: Place) -> Iterator[Figure]:
    """Indexing, opening, calls, search, publishing and memory, by the number of notes."""
    curves: Curves = defaultdict(dict)
    for notes in at.sizes.growth_notes:
        for figure in scale.of_size(at, notes):
            progress(figure.line())
            name = figure.bench.removeprefix(f"scale.{notes}_notes.")
            if name == "cold":
                for part, unit in (("names_s", "s"), ("text_s", "s"), ("cpu_s", "s"), ("index_mb", "MB")):
                    curves[f"cold.{part.partition('_')[0]}", unit][notes] = figure.fields[part]
            else:
                curves[name, figure.unit][notes] = figure.value
    yield from _figures("growth.notes", curves, FAR)


def by_events(at: Place) -> Iterator[Figure]:
    """Opening, calls, questions about the past, publishing, replay and memory, by the number of events."""
    curves: Curves = defaultdict(dict)
    vault = at.new("vault")
    for note in NOTES:
        (vault / note).parent.mkdir(parents=True, exist_ok=True)
        (vault / note).write_text(f"# {note}\n")
    for events in at.sizes.growth_events:
        progress(f"making a log of {events} events")
        data = at.new("data")
        append_all(data, [Action(c.VaultOpened(VaultId("bench"), "bench", str(vault.resolve())))], 1)
        for done in range(1, events, PART_EVENTS):
            append_all(data, checked_session(min(PART_EVENTS, events - done)), EVENTS_A_LINE)
        for (name, unit), value in _of_log(at, vault, data, events):
            curves[name, unit][events] = value
    yield from _figures("growth.events", curves, None)


def _of_log(at: Place, vault: Path, data: Path, events: int) -> Iterator[tuple[tuple[str, str], float]]:
    yield ("replay", "s"), seconds(lambda: replay(data))
    yield ("open_journal", "ms"), median([1_000 * seconds(partial(_open, data)) for _ in range(at.sizes.restarts)])
    openings: list[float] = []
    firsts: list[float] = []
    for _ in range(at.sizes.restarts):
        begun = time.perf_counter()
        with daemon(at, vault, data) as running:
            openings.append(1_000 * (time.perf_counter() - begun))
            wire = running.wire()
            firsts += latencies_ms(1, lambda _, wire=wire: _ask(wire))
            wire.close()
    yield ("start", "ms"), median(openings)
    yield ("first_call", "ms"), median(firsts)
    with daemon(at, vault, data) as running:
        yield ("resident.started", "MB"), running.resident_mb()
        wire = running.wire()
        for name in ("past", "past.again"):
            yield (name, "ms"), latencies_ms(1, lambda _: _ask(wire, at=events // 2))[0]
        yield ("call", "ms"), median(latencies_ms(at.sizes.calls, lambda _: _ask(wire)))
        yield ("visits", "ms"), median(latencies_ms(at.sizes.calls, lambda _: _history(wire)))
        yield ("publish", "ms"), median(latencies_ms(at.sizes.calls, lambda number: _publish(wire, number)))
        yield ("resident.used", "MB"), running.resident_mb()
        wire.close()


def _open(data: Path) -> None:
    open_journal(RealDisk(data), version="bench").writer.close()


def _ask(wire: Wire, **arguments: Any) -> dict[str, Any]:
    return structured(wire.ask(call_line("get_workspace_context", **arguments)))


def _history(wire: Wire) -> dict[str, Any]:
    return structured(wire.ask(call_line("get_navigation_history")))


def _publish(wire: Wire, number: int) -> bytes:
    action = {"type": "active_note_set", "data": {"note": NOTES[number % len(NOTES)]}}
    return wire.ask(request_line(1, "workspaced/publish", {"actions": [action]}))


def _figures(group: str, curves: Curves, far: int | None) -> Iterator[Figure]:
    for (name, unit), points in curves.items():
        if len(points) < 2:
            continue
        fields: dict[str, Any] = {"points": {str(size): significant(value) for size, value in points.items()}}
        fields["points_unit"] = unit
        if far is not None:
            fields[f"at_{far}"] = drawn_out(points, far)
        yield Figure(f"{group}.{name}", exponent(points), "exponent", at_most(N_LOG_N), None, fields)


def exponent(points: dict[int, float]) -> float:
    """The slope of the least squares line through the points on logarithmic axes."""
    sizes, values = map(math.log, points), map(math.log, points.values())
    return statistics.linear_regression(list(sizes), list(values)).slope


def drawn_out(points: dict[int, float], size: int) -> float:
    """The value at a larger size, if the curve goes on as between its last two points."""
    (before, former), (last, latest) = sorted(points.items())[-2:]
    return latest + max(0.0, latest - former) / (last - before) * (size - last)
