"""Time as events carry it: UTC, exactly six fractional digits, `Z`. Such texts sort as the times they name."""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache

Clock = Callable[[], str]


def system_clock() -> str:
    """The present time."""
    return event_time(time.time_ns())


def event_time(ns: int) -> str:
    """`ns` since the epoch in an event's form."""
    seconds, rest = divmod(ns, 1_000_000_000)
    return f"{_second(seconds)}.{rest // 1000:06d}Z"


@lru_cache(maxsize=2)
def _second(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")
