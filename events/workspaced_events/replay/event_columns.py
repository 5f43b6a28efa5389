"""Columns: the type and the time of every event of a log, in a few bytes each, without the events.

Times are those that the events carry. Where the clock was set back they repeat: then events of both stretches lie
in one bin, as a person who asks "what was between nine and ten?" means it.
"""

from array import array
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator
from heapq import merge
from itertools import pairwise, repeat
from typing import Final

from ..clock import microseconds
from ..errors import InvalidArgument
from ..schema.catalogue import Event, UnknownEvent

BINS_MAX: Final = 10_000


class _Column:
    """The events of one type."""

    __slots__ = ("is_sorted", "numbers", "times")

    def __init__(self) -> None:
        self.numbers = array("I")
        """Their places in the log, from 0 on."""
        self.times = array("q")
        """Their times in microseconds since the epoch; in no order unless `is_sorted`."""
        self.is_sorted = True

    def sorted_times(self) -> "array[int]":
        if not self.is_sorted:
            self.times = array("q", sorted(self.times))
            self.is_sorted = True
        return self.times


class EventColumns:
    """The types and times of a log's events."""

    def __init__(self) -> None:
        self._columns: dict[str, _Column] = {}
        self._of_class: dict[type[Event], _Column] = {}
        """The columns again, by the class of the events of a known type."""
        self._count = 0
        self._last = ("", 0)
        """The text and the number of the last time; events of one batch have the same."""

    def __len__(self) -> int:
        return self._count

    def take(self, events: Iterable[Event]) -> None:
        """Notes the next events. A time that is none counts as that of the event before."""
        of_class = self._of_class
        text, time = self._last
        number = self._count
        for event in events:
            if event.time != text:
                text, time = event.time, _microseconds_or(event.time, time)
            column = of_class.get(type(event)) or self._column(event)
            times = column.times
            if times and times[-1] > time:
                column.is_sorted = False
            column.numbers.append(number)
            times.append(time)
            number += 1
        self._last = (text, time)
        self._count = number

    def counts(self) -> dict[str, int]:
        """For each type the number of its events."""
        return {name: len(column.numbers) for name, column in self._columns.items()}

    def span_us(self) -> tuple[int, int] | None:
        """The earliest and the latest time of all events, in microseconds since the epoch; None: no events."""
        each = [column.sorted_times() for column in self._columns.values()]
        return (min(times[0] for times in each), max(times[-1] for times in each)) if each else None

    def bins(
        self, begin_us: int, end_us: int, count: int, lane_of: Callable[[str], str | None]
    ) -> dict[str, list[int]]:
        """For each lane the number of events in each of `count` equal bins from `begin_us` up to before `end_us`.

        Args:
            begin_us, end_us: microseconds since the epoch.
            lane_of: the lane of a type; None: the type is not counted.

        Raises:
            InvalidArgument: the time between is empty, or there are no bins, or more than BINS_MAX.
        """
        if not 1 <= count <= BINS_MAX:
            raise InvalidArgument(f"Expected from 1 to {BINS_MAX} bins, got {count}.")
        if begin_us >= end_us:
            raise InvalidArgument(f"Expected a beginning before the end {end_us}, got {begin_us}.")
        length = end_us - begin_us
        edges = [begin_us - (-length * at // count) for at in range(count + 1)]
        lanes: dict[str, list[int]] = {}
        for name, column in self._columns.items():
            if (lane := lane_of(name)) is not None:
                _add_binned(lanes.setdefault(lane, [0] * count), column.sorted_times(), edges)
        return lanes

    def numbers(
        self, types: Collection[str] | None, begin: int, end: int, *, backwards: bool = False
    ) -> Iterator[int]:
        """Places of events of these types (None: all) in the log, from `begin` up to before `end`, in order."""
        step = -1 if backwards else 1
        if types is None:
            return iter(range(max(begin, 0), min(end, self._count))[::step])
        columns = [self._columns[name].numbers for name in set(types) if name in self._columns]
        spans = [range(bisect_left(each, begin), bisect_left(each, end))[::step] for each in columns]
        return merge(
            *(map(column.__getitem__, span) for column, span in zip(columns, spans, strict=True)),
            reverse=backwards,
        )

    def _column(self, event: Event) -> _Column:
        column = self._columns.setdefault(event.type, _Column())
        if type(event) is not UnknownEvent:
            self._of_class[type(event)] = column
        return column


def _add_binned(counts: list[int], times: "array[int]", edges: list[int]) -> None:
    """Adds to each bin the number of the sorted `times` in it: by whichever of the two is shorter."""
    begin, end, bins = edges[0], edges[-1], len(counts)
    low, high = bisect_left(times, begin), bisect_left(times, end)
    if high - low <= bins:
        length = end - begin
        for time in times[low:high]:
            counts[(time - begin) * bins // length] += 1
        return
    places = map(bisect_left, repeat(times), edges)
    for at, (first, following) in enumerate(pairwise(places)):
        counts[at] += following - first


def _microseconds_or(text: str, fallback: int) -> int:
    try:
        return microseconds(text)
    except (ValueError, TypeError, OverflowError):  # an export of others may hold any text
        return fallback
