"""Events over time: how many of each lane fall into each of some equal stretches."""

from array import array
from bisect import bisect_left, insort
from itertools import islice, pairwise
from typing import Final, get_args
from weakref import WeakKeyDictionary

import msgspec

from workspaced_events.clock import microseconds
from workspaced_events.errors import InvalidArgument
from workspaced_events.schema.catalogue import Lane, ToolCalled

from ... import replay
from ..inspected import Inspected
from .events import lane_of

BINS_MAX: Final = 2_000
CALLS_READ_MAX: Final = 5_000
"""Calls that one answer reads to find those that failed: whether one did stands in the event, not in the index."""


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
    calls_unread: int
    """Calls of which it is not known yet whether they failed; ask again."""


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
    failures = _FAILURES.setdefault(log, _FailedCalls())
    failures.read_on(log)
    counts = log.bins(begin, end + 1, count, lane_of)
    # The edges that `bins` counts by: bin `at` begins at the first microsecond that belongs to it.
    edges = [begin - (-(end + 1 - begin) * at // count) for at in range(count + 1)]
    lanes = [
        LaneCounts(lane, sum(found := counts.get(lane, [])), found, failures.binned(lane, edges))
        for lane in get_args(Lane)
    ]
    return Timeline(begin, end, first, last, lanes, failures.unread(log))


class _FailedCalls:
    """The times of a log's failed calls by lane, in microseconds since 1970, sorted. It is read in steps."""

    def __init__(self) -> None:
        self._times: dict[Lane, array[int]] = {}
        self._read_until: int | None = None
        self._read = 0

    def read_on(self, log: replay.Log) -> None:
        """Reads the next calls, at most `CALLS_READ_MAX`."""
        for event in islice(log.events_of(replay.CALL_TYPES, after=self._read_until), CALLS_READ_MAX):
            self._read += 1
            self._read_until = event.seq
            if isinstance(event.data, ToolCalled) and not event.data.ok:
                # Times only go back where the clock was set back.
                insort(self._times.setdefault(lane_of(event.type), array("q")), microseconds(event.time))

    def unread(self, log: replay.Log) -> int:
        """The number of calls that are not read yet."""
        counts = log.counts()
        return sum(counts.get(name, 0) for name in replay.CALL_TYPES) - self._read

    def binned(self, lane: Lane, edges: list[int]) -> list[int]:
        """The number of failed calls between each edge and the next; nothing if the lane has none."""
        if (times := self._times.get(lane)) is None:
            return []
        return [after - before for before, after in pairwise(bisect_left(times, edge) for edge in edges)]


_FAILURES: Final[WeakKeyDictionary[replay.Log, _FailedCalls]] = WeakKeyDictionary()
