"""`--until`: a place in a log, said as a sequence or as a time, and reading a source that far."""

from contextlib import suppress
from datetime import UTC, datetime
from typing import Final

from .catalogue import Event
from .errors import InvalidArgument
from .source import Progress, Sink, Source

Until = int | str
"""The last event meant: its sequence, or the latest time it may have, in an event's form (clock.py)."""

_ECHO_CHARS_MAX: Final = 100
_SEQUENCE_DIGITS_MAX: Final = 19


def sequence(text: str) -> int | None:
    """The sequence that a text spells, or None: more digits than any sequence has are none."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _SEQUENCE_DIGITS_MAX else None


def parse_until(text: str) -> Until:
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


def feed_until(source: Source, until: Until | None, sink: Sink, progress: Progress | None = None) -> list[str]:
    """`source.feed` up to the last event at or before `until`; of the place before the first that is none.

    Raises:
        InvalidArgument: the source holds no event of that sequence, or none as early as that time.
    """
    if until is None:
        return source.feed(sink, progress)
    if until == source.start.seq:
        return []
    first: Event | None = None
    last: Event | None = None

    def cut(events: list[Event]) -> None:
        nonlocal first, last
        first = first or events[0]
        kept = [event for event in events if not is_past(event, until)] if is_past(events[-1], until) else events
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
    if last is None or (isinstance(until, int) and last.seq != until):
        raise not_held(until, first, last)
    return warnings


def is_past(event: Event, until: Until) -> bool:
    """Whether `event` comes after the place."""
    return event.seq > until if isinstance(until, int) else event.time > until


def not_held(until: Until, first: Event | None, last: Event | None) -> InvalidArgument:
    """The error that a log does not hold the place; `first` and `last` of its events, as far as known."""
    if first is None:
        return InvalidArgument(f"There is nothing up to {until}: the log holds no event.")
    if is_past(first, until):
        return InvalidArgument(
            f"There is nothing up to {until}: the log begins with event {first.seq} at {first.time}."
        )
    assert last is not None
    return InvalidArgument(f"There is no event {until}: the log ends with event {last.seq} at {last.time}.")
