"""Time as events carry it: UTC, exactly six fractional digits, `Z`. Such texts sort as the times they name.

A wall clock is set now and then: by minutes, by decades and back. `LogClock` tells by a second clock, which nobody
sets, when that happened. A log goes on by its old time until it holds the event `clock_stepped`: so the present
time can always be compared with those in the state.
"""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final, NamedTuple

Clock = Callable[[], str]
Uptime = Callable[[], int]
"""Nanoseconds since some moment, also while the machine sleeps; nobody sets it."""

STEP_US: Final = 5 * 60 * 1_000_000
"""A clock that is further off than this was set; below it, times wait for the clock."""
_UPTIME: Final = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
"""Where there is no CLOCK_BOOTTIME, as on macOS, CLOCK_MONOTONIC goes on in sleep."""


def system_clock() -> str:
    """The present time."""
    return event_time(time.time_ns())


def system_uptime() -> int:
    """Implements `Uptime`."""
    return time.clock_gettime_ns(_UPTIME)


def event_time(ns: int) -> str:
    """`ns` since the epoch in an event's form."""
    seconds, rest = divmod(ns, 1_000_000_000)
    return f"{_second(seconds)}.{rest // 1000:06d}Z"


def microseconds(text: str) -> int:
    """The time of an event as microseconds since the epoch."""
    passed = datetime.fromisoformat(text) - _EPOCH
    return (passed.days * 86_400 + passed.seconds) * 1_000_000 + passed.microseconds


def just_after(text: str) -> str:
    """The time of an event and one microsecond."""
    return event_time((microseconds(text) + 1) * 1_000)


_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@lru_cache(maxsize=2)
def _second(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")


class _Base(NamedTuple):
    """A moment by both clocks, in microseconds. From here on the log's time and the uptime go side by side."""

    time_us: int
    uptime_us: int


class Reading(NamedTuple):
    """What a `LogClock` says."""

    time: str
    """On the log's timeline."""
    stepped_to: str | None = None
    """The wall clock, where it was set: events go by it once the log says so."""
    base: _Base | None = None
    """For `LogClock.follow`."""


class LogClock:
    """The time of a log while one daemon has it open. Any thread may read it."""

    def __init__(self, wall: Clock, uptime: Uptime | None = None, last: str = "") -> None:
        """
        Args:
            wall: may be set at any time.
            uptime: None: a wall clock that is never set while the log is open.
            last: the time of the log's last event; a wall clock far before it was set.
        """
        self._wall = wall
        self._uptime = uptime
        self._last_us = microseconds(last) if last else 0
        self._base: _Base | None = None

    def now(self) -> str:
        """The present time, on the log's timeline."""
        return self.read().time

    def read(self) -> Reading:
        """The present time, and whether the wall clock was set since the log went by it."""
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
        """Goes by the wall clock again, as `reading` found it: the log says that it was set."""
        self._base = reading.base
