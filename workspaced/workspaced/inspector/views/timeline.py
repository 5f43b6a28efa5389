"""Events over time: how many of each lane fall into each of some equal stretches."""

from typing import Final, get_args

import msgspec

from workspaced_events.errors import InvalidArgument
from workspaced_events.schema.catalogue import Lane

from ..inspected import Inspected
from .events import lane_of

BINS_MAX: Final = 2_000


class TimelineParameters(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Which stretch of time, and how fine."""

    begin_us: int | None = None
    """Microseconds since 1970; the earliest event's time if left out."""
    end_us: int | None = None
    """The latest event's time if left out."""
    bins: int = 400


class LaneCounts(msgspec.Struct, rename="camel"):
    """One lane's events."""

    lane: Lane
    total: int
    """Events in all bins."""
    counts: list[int]
    """Events in each bin; empty: the log has none in this lane."""


class Timeline(msgspec.Struct, rename="camel"):
    """Counts of events in bins of equal length. An event counts at the time that it has, also where the clock was
    set back."""

    begin_us: int
    end_us: int
    first_us: int
    """Microseconds since 1970 of the log's earliest event; 0: there is none."""
    last_us: int
    """Of its latest."""
    lanes: list[LaneCounts]


def timeline(inspected: Inspected, parameters: TimelineParameters) -> Timeline:
    """Counts events; the last bin includes its end.

    Raises:
        InvalidArgument: the bins or the stretch make no sense.
    """
    count, log = parameters.bins, inspected.log
    if not 1 <= count <= BINS_MAX:
        raise InvalidArgument(f"Expected 1 to {BINS_MAX} bins, got {count}.")
    first, last = log.span_us() or (0, 0)
    begin = first if parameters.begin_us is None else parameters.begin_us
    end = last if parameters.end_us is None else parameters.end_us
    if end < begin:
        raise InvalidArgument(f"Expected an end after the beginning {begin}, got {end}.")
    counts = log.bins(begin, end + 1, count, lane_of)
    lanes = [LaneCounts(lane, sum(found := counts.get(lane, [])), found) for lane in get_args(Lane)]
    return Timeline(begin, end, first, last, lanes)
