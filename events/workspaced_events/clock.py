"""Event times: UTC, exactly six fractional digits, `Z`. Their texts sort in the order of the times.

Someone may set the wall clock by minutes or decades, forward or back. `LogClock` detects this by comparing the
wall clock with the uptime, which nobody sets. The log keeps its old timeline until it holds the event
`clock_stepped`, so the present time is always comparable with the times in the state.

A log knows the places where its clock was set, and so the true length of intervals and the moments that a time
names. A stretch is the run of events between two such places; its times never decrease.

The hybrid clock of a link gives times of several machines an order that fits what each had heard of. Who acts
decides it, from its own log alone, and it travels along. Removals never rest on it.
"""

import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final, NamedTuple

import msgspec

from .limits import CLOCK_STEPS_MAX

Clock = Callable[[], str]
Uptime = Callable[[], int]
"""Nanoseconds since an arbitrary moment, including time asleep; nobody sets it."""

STEP_US: Final = 5 * 60 * 1_000_000
"""A larger difference means that the clock was set; for a smaller one, event times wait for the clock."""
_UPTIME: Final = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
"""CLOCK_BOOTTIME is missing on macOS, where CLOCK_MONOTONIC advances during sleep."""
AHEAD_MS_MAX: Final = 5 * 60_000
"""A time of a peer that is further ahead of the own clock is a wrong clock: it moves nothing."""


def system_clock() -> str:
    """The present time, in an event's form."""
    return event_time(time.time_ns())


def system_uptime() -> int:
    """Implements `Uptime`."""
    return time.clock_gettime_ns(_UPTIME)


def event_time(ns: int) -> str:
    """The time `ns` nanoseconds after the epoch, in an event's form."""
    seconds, rest = divmod(ns, 1_000_000_000)
    return f"{_second(seconds)}.{rest // 1000:06d}Z"


def microseconds(text: str) -> int:
    """The microseconds between the epoch and an event's time."""
    passed = datetime.fromisoformat(text) - _EPOCH
    return (passed.days * 86_400 + passed.seconds) * 1_000_000 + passed.microseconds


def just_after(text: str) -> str:
    """The event time one microsecond after `text`."""
    return event_time((microseconds(text) + 1) * 1_000)


_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@lru_cache(maxsize=2)
def _second(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")


class _Base(NamedTuple):
    """One moment on both clocks, in microseconds. The log's time and the uptime advance together from here."""

    time_us: int
    uptime_us: int


class Reading(NamedTuple):
    """A reading of a `LogClock`."""

    time: str
    """On the log's timeline."""
    stepped_to: str | None = None
    """The wall clock's time if the clock was set; events use it once the log holds `clock_stepped`."""
    base: _Base | None = None
    """For `LogClock.follow`."""


class LogClock:
    """The time of a log while one daemon has it open. Any thread may read it."""

    def __init__(self, wall: Clock, uptime: Uptime | None, last: str) -> None:
        """
        Args:
            wall: may be set at any time.
            uptime: None if nobody sets `wall` while the log is open.
            last: the time of the log's last event; a wall clock more than `STEP_US` before it was set back.
        """
        self._wall = wall
        self._uptime = uptime
        self._last_us = microseconds(last) if last else 0
        self._base: _Base | None = None

    def now(self) -> str:
        """The present time, on the log's timeline."""
        return self.read().time

    def read(self) -> Reading:
        """The present time, and whether the wall clock was set since the last `follow`."""
        wall = self._wall()
        wall_us = microseconds(wall)
        uptime_us = self._uptime() // 1000 if self._uptime is not None else wall_us
        base = self._base
        if base is None:
            behind = wall_us < self._last_us - STEP_US
            base = self._base = _Base(self._last_us if behind else wall_us, uptime_us)
        expected_us = base.time_us + uptime_us - base.uptime_us
        if abs(wall_us - expected_us) <= STEP_US:
            return Reading(wall)
        return Reading(event_time(expected_us * 1_000), wall, _Base(wall_us, uptime_us))

    def follow(self, reading: Reading) -> None:
        """Switches to the wall clock's time in `reading`; the caller has appended `clock_stepped`."""
        self._base = reading.base


def next_ms(own_ms: int, previous_ms: int, heard_ms: int) -> int:
    """The hybrid clock of something that happens here now.

    Args:
        own_ms: this machine's clock.
        previous_ms: the hybrid clock of what happened here before.
        heard_ms: the newest one of a peer.
    """
    return max(own_ms, previous_ms, heard_ms if heard_ms <= own_ms + AHEAD_MS_MAX else 0)


class ClockStep(msgspec.Struct, frozen=True, rename="camel"):
    """The event `clock_stepped` at `seq`."""

    seq: int
    before: str
    after: str


def clock_advance_us(steps: Sequence[ClockStep], after: int, upto: int | None = None) -> int:
    """The microseconds by which the clock was set forward after event `after` up to `upto` (None: the end).

    The true time between events at `after` and `upto` is the difference of their times minus this.
    """
    set_us = 0
    for step in reversed(steps):
        if step.seq <= after:
            break
        if upto is None or step.seq <= upto:
            set_us += microseconds(step.after) - microseconds(step.before)
    return set_us


class Stretch(NamedTuple):
    """Events between which the clock was not set, with the range of their times."""

    first: int
    last: int
    begin: str
    end: str

    def holds(self, time: str) -> bool:
        return self.begin <= time <= self.end


def stretches(steps: Sequence[ClockStep], first: tuple[int, str], last: tuple[int, str]) -> list[Stretch]:
    """The stretches of a log, oldest first; those before the oldest of CLOCK_STEPS_MAX steps are unknown.

    Args:
        steps: of the log up to `last`.
        first: sequence and time of the log's first event.
        last: sequence and time of the log's end.
    """
    parts = []
    if len(steps) >= CLOCK_STEPS_MAX:
        first = (steps[0].seq, steps[0].after)
    seq, time = first
    for step in steps:
        if step.seq > seq:
            parts.append(Stretch(seq, step.seq - 1, time, step.before))
        seq, time = step.seq, step.after
    parts.append(Stretch(seq, last[0], time, last[1]))
    return parts


def stretches_at(found: Sequence[Stretch], time: str) -> list[Stretch]:
    """The stretches that contain a time, newest first; if none does, the newest that began before it."""
    holding = [each for each in reversed(found) if each.holds(time)]
    return holding or [each for each in reversed(found) if each.begin <= time][:1]
