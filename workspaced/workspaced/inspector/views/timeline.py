"""Events over time: how many of each lane fall into each of some equal stretches."""

from bisect import bisect_left
from typing import Final

import msgspec

from workspaced_events.clock import microseconds
from workspaced_events.errors import InvalidArgument
from workspaced_events.schema.catalogue import ENTRY_OF

from ..inspected import Inspected
from ..lanes import LANE_OF, LANES, Lane

BINS_MAX: Final = 2_000


class TimelineParameters(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Which stretch of time, and how fine."""

    begin_us: int | None = None
    """Microseconds since 1970; the first event's time if left out."""
    end_us: int | None = None
    """The last event's time if left out."""
    bins: int = 400


class LaneCounts(msgspec.Struct, rename="camel"):
    """One lane's events."""

    lane: Lane
    counts: list[int]
    """Events in each bin."""


class Timeline(msgspec.Struct, rename="camel"):
    """Counts of events in bins of equal length."""

    begin_us: int
    end_us: int
    lanes: list[LaneCounts]


def timeline(inspected: Inspected, parameters: TimelineParameters) -> Timeline:
    """Counts events; the last bin includes its end.

    Raises:
        InvalidArgument: the bins or the stretch make no sense.
    """
    count = parameters.bins
    if not 1 <= count <= BINS_MAX:
        raise InvalidArgument(f"Expected 1 to {BINS_MAX} bins, got {count}.")
    times = [
        (microseconds(event.time), LANE_OF[ENTRY_OF[type(event.data)].name]) for event in inspected.log.events()
    ]
    begin = times[0][0] if parameters.begin_us is None and times else parameters.begin_us or 0
    end = times[-1][0] if parameters.end_us is None and times else parameters.end_us or 0
    if end < begin:
        raise InvalidArgument(f"Expected an end after the beginning {begin}, got {end}.")
    counts = {lane: [0] * count for lane in LANES}
    edges = [begin + (end - begin + 1) * at // count for at in range(1, count)]
    for time, lane in times:
        if begin <= time <= end:
            counts[lane][bisect_left(edges, time + 1)] += 1
    return Timeline(begin, end, [LaneCounts(lane, each) for lane, each in counts.items()])
