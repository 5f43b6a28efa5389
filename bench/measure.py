"""What a figure is, and how numbers become one: rounds interleaved, medians of rounds.

Machines are noisy and differ, so where it matters a figure is a ratio to the bare operation, both taken in turns
within one run.
"""

import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, TypeVar

T = TypeVar("T")

ROUNDS: Final = 5
"""The fewest rounds a median is taken of."""


@dataclass(frozen=True)
class Bound:
    """What a value is to keep."""

    relation: Literal["<=", ">="]
    limit: float

    def __str__(self) -> str:
        return f"{self.relation} {self.limit:g}" if self.limit < 10_000 else f"{self.relation} {self.limit:,.0f}"

    def met(self, value: float) -> bool:
        """Whether `value` keeps it."""
        return value <= self.limit if self.relation == "<=" else value >= self.limit


def at_most(limit: float) -> Bound:
    """Less is better."""
    return Bound("<=", limit)


def at_least(limit: float) -> Bound:
    """More is better."""
    return Bound(">=", limit)


@dataclass(frozen=True)
class Figure:
    """One number that was measured. `goal` must be reached, `aim` is where we want to be."""

    bench: str
    value: float
    unit: str
    goal: Bound | None = None
    aim: Bound | None = None
    fields: dict[str, Any] = field(default_factory=dict)
    """What was measured beside it, and how: counts, bytes, the parts of a ratio."""

    def line(self) -> str:
        """The figure as one JSON line. `ok` is about the goal alone, and about the value as printed."""
        value = significant(self.value)
        known = {
            "bench": self.bench,
            "value": value,
            "unit": self.unit,
            "goal": None if self.goal is None else str(self.goal),
            "aim": None if self.aim is None else str(self.aim),
            "ok": None if self.goal is None else self.goal.met(value),
        }
        more = {
            name: significant(value) if isinstance(value, float) else value for name, value in self.fields.items()
        }
        return json.dumps({**known, **more}, ensure_ascii=False)


@dataclass(frozen=True)
class Sizes:
    """How much is measured. The goals speak of the whole run; a quick one shows that everything works."""

    notes: int = 5_000
    calls: int = 200
    """Calls a round whose latencies are taken one by one."""
    rounds: int = 7
    scales: tuple[int, ...] = (1_000, 10_000, 100_000)
    """Notes of the vaults whose growth is shown."""
    growth_notes: tuple[int, ...] = (1_000, 10_000, 30_000, 100_000, 300_000)
    growth_events: tuple[int, ...] = (10_000, 100_000, 1_000_000, 5_000_000)
    restarts: int = 5
    replay_events: int = 200_000
    load_s: float = 1.0
    load_rounds: int = 5
    quick: bool = False

    def for_notes(self, bound: Bound) -> Bound | None:
        """A goal set for 5,000 notes, where there are as many."""
        return bound if self.notes == FULL.notes else None

    def whole(self, bound: Bound) -> Bound | None:
        """A goal that says nothing of a quick run."""
        return None if self.quick else bound


FULL: Final = Sizes()
QUICK: Final = Sizes(
    notes=300,
    scales=(300,),
    growth_notes=(100, 300),
    growth_events=(1_000, 3_000),
    calls=50,
    rounds=ROUNDS,
    restarts=2,
    replay_events=20_000,
    load_s=0.2,
    load_rounds=2,
    quick=True,
)


def interleaved(rounds: int, *samplers: Callable[[], T]) -> list[list[T]]:
    """What each sampler gave in each round. Who goes first changes every round, and a first round is thrown away.

    The thrown-away round warms caches, branch predictors and the disk's journal alike for all.
    """
    assert rounds >= 1
    for sampler in samplers:
        sampler()
    taken: list[list[T]] = [[] for _ in samplers]
    for number in range(rounds):
        for step in range(len(samplers)):
            which = (number + step) % len(samplers)
            taken[which].append(samplers[which]())
    return taken


def percentile(samples: Sequence[float], share: float) -> float:
    """The value below which `share` of the samples lie; of few samples the nearest one."""
    ordered = sorted(samples)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def median(samples: Sequence[float]) -> float:
    """The middle one."""
    return statistics.median(samples)


def p50s(rounds: Sequence[Sequence[float]]) -> list[float]:
    """The median of each round."""
    return [median(samples) for samples in rounds]


def pooled(rounds: Sequence[Sequence[float]]) -> list[float]:
    """All samples of all rounds."""
    return [sample for samples in rounds for sample in samples]


def significant(value: float) -> float:
    """Four digits: more are noise. From 10,000 on a whole number."""
    return round(value) if abs(value) >= 10_000 else float(f"{value:.4g}")


def cpu_seconds(pid: int, *, ended_children: bool = False) -> float:
    """The CPU time another process has used so far; 0 where the system does not say.

    Args:
        pid: the process.
        ended_children: with the time of those of its children that have ended.
    """
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11 : 15 if ended_children else 13])) / os.sysconf("SC_CLK_TCK")


def progress(text: str) -> None:
    """For the person who waits."""
    print(text, file=sys.stderr, flush=True)


def seconds(act: Callable[[], object]) -> float:
    """How long `act` takes."""
    started = time.perf_counter()
    act()
    return time.perf_counter() - started
