"""Events over time: how many of each lane fall into each of some equal stretches."""

from array import array
from bisect import bisect_left, insort
from itertools import pairwise
from typing import Final
from weakref import WeakKeyDictionary

import msgspec

from workspaced_events.clock import microseconds
from workspaced_events.errors import InvalidArgument
from workspaced_events.schema.catalogue import ToolCalled

from ... import replay
from ..inspected import Inspected
from ..lanes import LANES, Lane
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
    counts: list[int]
    """Events in each bin; empty: the log has none in this lane."""
    failed: list[int]
    """Of them the calls that were answered with an error; empty: the lane has none."""


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
    count = parameters.bins
    if not 1 <= count <= BINS_MAX:
        raise InvalidArgument(f"Expected 1 to {BINS_MAX} bins, got {count}.")
    times = _INDEX.setdefault(inspected.log, _EventTimes())
    times.read_on(inspected.log)
    first, last = times.extent()
    begin = first if parameters.begin_us is None else parameters.begin_us
    end = last if parameters.end_us is None else parameters.end_us
    if end < begin:
        raise InvalidArgument(f"Expected an end after the beginning {begin}, got {end}.")
    edges = [begin + (end - begin + 1) * at // count for at in range(count + 1)]
    lanes = [
        LaneCounts(
            lane, _binned(times.of[lane], edges), _binned(times.failed[lane], edges) if times.failed[lane] else []
        )
        for lane in LANES
    ]
    return Timeline(begin, end, first, last, lanes)


class _EventTimes:
    """The times of a log's events by lane, in microseconds since 1970, sorted."""

    def __init__(self) -> None:
        self.of: dict[Lane, array[int]] = {lane: array("q") for lane in LANES}
        self.failed: dict[Lane, array[int]] = {lane: array("q") for lane in LANES}
        """Those of calls that were answered with an error."""
        self._read = 0

    def read_on(self, log: replay.Log) -> None:
        """Takes the events that are new since the last time."""
        events = log.events()
        for at in range(self._read, len(events)):
            event = events[at]
            lane, time = lane_of(event.type), microseconds(event.time)
            _insert(self.of[lane], time)
            if isinstance(event.data, ToolCalled) and not event.data.ok:
                _insert(self.failed[lane], time)
        self._read = len(events)

    def extent(self) -> tuple[int, int]:
        """The earliest and the latest time; zeros if there are none."""
        each = [times for times in self.of.values() if times]
        return (min(times[0] for times in each), max(times[-1] for times in each)) if each else (0, 0)


_INDEX: Final[WeakKeyDictionary[replay.Log, _EventTimes]] = WeakKeyDictionary()


def _insert(times: "array[int]", time: int) -> None:
    """Times only go back where the clock was set back."""
    if times and times[-1] > time:
        insort(times, time)
    else:
        times.append(time)


def _binned(times: "array[int]", edges: list[int]) -> list[int]:
    """The number of times between each edge and the next; nothing if there are no times at all."""
    if not times:
        return []
    return [after - before for before, after in pairwise(bisect_left(times, edge) for edge in edges)]
