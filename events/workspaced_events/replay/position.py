"""`--until`: a place in a log, said as a sequence or as a time, and reading a source that far."""

from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Final

import msgspec

from ..errors import InvalidArgument
from ..projections.clock_steps import Stretch, naming
from ..schema.catalogue import ClockStepped, Event
from .source import Progress, Sink, Source

Position = int | str
"""The last event meant: its sequence, or the latest time it may have, in an event's form (clock.py)."""

_ECHO_CHARS_MAX: Final = 100
_SEQUENCE_DIGITS_MAX: Final = 19
ALSO_SHOWN_MAX: Final = 8
"""So many of the other places that a time names are listed."""


def sequence(text: str) -> int | None:
    """The sequence that a text spells, or None: more digits than any sequence has are none."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _SEQUENCE_DIGITS_MAX else None


def parse_position(text: str) -> Position:
    """The place that a person names: a sequence, or an ISO 8601 time (of UTC unless it says otherwise).

    Raises:
        InvalidArgument: it is neither.
    """
    if (seq := sequence(text)) is not None:
        return seq
    try:
        time = datetime.fromisoformat(text)
        time = time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    except (ValueError, OverflowError):
        raise InvalidArgument(
            f"Expected a sequence or an ISO 8601 time, got {text[:_ECHO_CHARS_MAX]!r}.",
            hint="Such as 1200, or 2026-03-01T09:30:00Z.",
        ) from None
    return time.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


class _Reached(Exception):
    """The source need not be read further."""


def feed_until(source: Source, until: Position | None, sink: Sink, progress: Progress | None = None) -> list[str]:
    """`source.feed` up to the last event at or before `until`; of the place before the first that is none.

    Raises:
        InvalidArgument: the source holds no event of that sequence, or none as early as that time.
    """
    if until is None:
        return source.feed(sink, progress)
    if isinstance(until, str):
        place = place_until(source, until)
        return [*place.warnings(until), *feed_until(source, place.seq, sink, progress)]
    if until == source.start.seq:
        return []
    first: Event | None = None
    last: Event | None = None

    def cut(events: list[Event]) -> None:
        nonlocal first, last
        first = first or events[0]
        kept = [event for event in events if event.seq <= until] if events[-1].seq > until else events
        if kept:
            last = kept[-1]
            sink(kept)
        if len(kept) < len(events) or events[-1].seq == until:
            raise _Reached

    warnings: list[str] = []
    with suppress(_Reached):
        warnings = source.feed(cut, progress)
    if first is not None and until == first.seq - 1:
        return []
    if last is None or last.seq != until:
        raise not_held(until, first, last)
    return warnings


def is_after(event: Event, until: Position) -> bool:
    """Whether `event` comes after the place."""
    return event.seq > until if isinstance(until, int) else event.time > until


def not_held(until: Position, first: Event | None, last: Event | None) -> InvalidArgument:
    """The error that a log does not hold the place; `first` and `last` of its events, as far as known."""
    if first is None:
        return InvalidArgument(f"There is nothing up to {until}: the log holds no event.")
    if is_after(first, until):
        return InvalidArgument(
            f"There is nothing up to {until}: the log begins with event {first.seq} at {first.time}."
        )
    assert last is not None
    return InvalidArgument(f"There is no event {until}: the log ends with event {last.seq} at {last.time}.")


# -- places that a time names --


class Place(msgspec.Struct, frozen=True):
    """Where a time lies in a log; in the newest stretch that holds it, where the clock was set."""

    seq: int
    """The last event at or before that time."""
    first_seq: int
    """The first event at or after it."""
    also: Sequence[int]
    """The last event at or before it in the other stretches that hold it, the newest first."""
    begin: Event
    """The first event of the stretch."""

    def warnings(self, time: str) -> list[str]:
        """For people: that the time names other places, too."""
        return also_named(time, self.also)


def also_named(time: str, also: Sequence[int]) -> list[str]:
    """What is to be said of a time that names other places, too: none, or one line."""
    if not also:
        return []
    more = f" and {len(also) - ALSO_SHOWN_MAX} more" if len(also) > ALSO_SHOWN_MAX else ""
    events = ", ".join(map(str, also[:ALSO_SHOWN_MAX]))
    return [
        f"The clock was set: {time} is also the time of event {events}{more}. "
        "The newest is taken; name another by its sequence."
    ]


class _Found(msgspec.Struct):
    """A stretch as far as it was read, and where the time lies in it."""

    first: Event
    last: Event
    end: str = ""
    upto: int = 0
    """The last event at or before the time."""
    before: int = 0
    """The last event before it."""

    def take(self, event: Event, time: str) -> None:
        self.last, self.end = event, event.time
        if event.time <= time:
            self.upto = event.seq
        if event.time < time:
            self.before = event.seq


def place_until(source: Source, time: str) -> Place:
    """As `place_of`, where an event is at or before `time`.

    Raises:
        InvalidArgument: none is.
    """
    place = place_of(source, time)
    if place.seq < place.begin.seq:
        raise not_held(time, place.begin, None)
    return place


def place_of(source: Source, time: str) -> Place:
    """Where `time` lies; where all events are later, before the first of them. Reads the whole source.

    Raises:
        InvalidArgument: there is no event.
    """
    found: list[_Found] = []

    def look(events: list[Event]) -> None:
        for event in events:
            if not found or type(event.data) is ClockStepped:
                if found:
                    found[-1].end = event.data.before
                found.append(_Found(event, event, upto=event.seq - 1, before=event.seq - 1))
            found[-1].take(event, time)

    source.feed(look)
    known = {each.first.seq: each for each in found}
    read = [Stretch(each.first.seq, each.last.seq, each.first.time, each.end) for each in found]
    named = [known[each.first] for each in naming(read, time)]
    if not found:
        raise not_held(time, None, None)
    newest, *others = named or found[:1]
    return Place(newest.upto, newest.before + 1, [each.upto for each in others], newest.first)
