"""Positions in a log, given as a sequence or a time (`--until`), and reading a source up to one."""

from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Final

import msgspec

from ..clock import Stretch, stretches_at
from ..errors import InvalidArgument
from ..schema.catalogue import ClockStepped, Event
from .source import Progress, Sink, Source

Position = int | str
"""A sequence, or a time in an event's form (clock.py); the position is after the last event at or before it."""

_ECHO_CHARS_MAX: Final = 100
_IN_THE_LOG: Final = "Give a sequence or a time between its first and its last event."
_SEQUENCE_DIGITS_MAX: Final = 19
ALSO_SHOWN_MAX: Final = 8
"""Other events with the same time that a warning lists."""


def sequence(text: str) -> int | None:
    """The sequence in a text, or None; more digits than any sequence has are none."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _SEQUENCE_DIGITS_MAX else None


def parse_position(text: str) -> Position:
    """Parses a sequence, or an ISO 8601 time (UTC by default).

    Raises:
        InvalidArgument: the text is neither.
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
    """Stops reading the source."""


def feed_until(source: Source, until: Position | None, sink: Sink, progress: Progress | None = None) -> list[str]:
    """Feeds events up to and including position `until`. Feeds nothing if `until` is just before the first event.

    Raises:
        InvalidArgument: the source holds no event with that sequence, or none as early as that time.
    """
    if until is None:
        return source.feed(sink, progress)
    if isinstance(until, str):
        place = place_of(source, until)
        if place.seq < place.begin.seq:
            raise not_held(until, place.begin, None)
        return [*also_named(until, place.also), *feed_until(source, place.seq, sink, progress)]
    if until == source.start.seq:
        return []
    first: Event | None = None
    last: Event | None = None

    def cut(events: list[Event]) -> None:
        nonlocal first, last
        first = first or events[0]
        fitting = [event for event in events if event.seq <= until] if events[-1].seq > until else events
        if fitting:
            last = fitting[-1]
            sink(fitting)
        if len(fitting) < len(events) or events[-1].seq == until:
            raise _Reached

    warnings: list[str] = []
    with suppress(_Reached):
        warnings = source.feed(cut, progress)
    if first is not None and until == first.seq - 1:
        return []
    if last is None or last.seq != until:
        raise not_held(until, first, last)
    return warnings


def not_held(until: Position, first: Event | None, last: Event | None) -> InvalidArgument:
    """The error for a position outside the log; `first` and `last`: its events, as far as known."""
    if first is None:
        return InvalidArgument(
            f"There is nothing up to {until}: the log holds no event.", hint="Name another log."
        )
    if (first.seq > until) if isinstance(until, int) else (first.time > until):
        return InvalidArgument(
            f"There is nothing up to {until}: the log begins with event {first.seq} at {first.time}.",
            hint=_IN_THE_LOG,
        )
    assert last is not None
    return InvalidArgument(
        f"There is no event {until}: the log ends with event {last.seq} at {last.time}.", hint=_IN_THE_LOG
    )


# -- positions of a time --


class Place(msgspec.Struct, frozen=True):
    """The position of a time in a log; if the clock was set, in the newest stretch that contains it."""

    seq: int
    """The last event at or before the time."""
    first_seq: int
    """The first event at or after the time."""
    also: Sequence[int]
    """The last events at or before the time in the other stretches that contain it, newest first."""
    begin: Event
    """The first event of the stretch."""


def also_named(time: str, also: Sequence[int]) -> list[str]:
    """A warning if the log holds the time more than once: no line, or one."""
    if not also:
        return []
    more = f" and {len(also) - ALSO_SHOWN_MAX} more" if len(also) > ALSO_SHOWN_MAX else ""
    events = ", ".join(map(str, also[:ALSO_SHOWN_MAX]))
    return [
        f"The clock was set: {time} is also the time of event {events}{more}. "
        "The newest is taken; name another by its sequence."
    ]


class _Found(msgspec.Struct):
    """A stretch as far as it was read, and the time's position in it."""

    first: Event
    last: Event
    end: str = ""
    upto: int = 0
    """The last event at or before the time."""
    before: int = 0
    """The last event before the time."""

    def take(self, event: Event, time: str) -> None:
        self.last, self.end = event, event.time
        if event.time <= time:
            self.upto = event.seq
        if event.time < time:
            self.before = event.seq


def place_of(source: Source, time: str) -> Place:
    """The position of `time`; before the first event if all are later. Reads the whole source.

    Raises:
        InvalidArgument: the log is empty.
    """
    parts: list[_Found] = []

    def split(events: list[Event]) -> None:
        for event in events:
            if not parts or type(event.data) is ClockStepped:
                if parts:
                    parts[-1].end = event.data.before
                parts.append(_Found(event, event, upto=event.seq - 1, before=event.seq - 1))
            parts[-1].take(event, time)

    source.feed(split)
    known = {each.first.seq: each for each in parts}
    read = [Stretch(each.first.seq, each.last.seq, each.first.time, each.end) for each in parts]
    named = [known[each.first] for each in stretches_at(read, time)]
    if not parts:
        raise not_held(time, None, None)
    newest, *others = named or parts[:1]
    return Place(newest.upto, newest.before + 1, [each.upto for each in others], newest.first)
