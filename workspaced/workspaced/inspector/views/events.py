"""A list of events, page by page in both directions, of chosen lanes, notes and clients."""

from collections.abc import Callable, Iterable
from itertools import islice
from typing import Final, get_args

import msgspec

from workspaced_events.clock import microseconds
from workspaced_events.errors import InvalidArgument
from workspaced_events.escaping import escape_control
from workspaced_events.schema.catalogue import CATALOGUE, Event, Lane, ToolCalled
from workspaced_events.schema.sentences import notes_named, sentence, who

from ..inspected import Inspected

ROWS_MAX: Final = 500
SCANNED_MAX: Final = 10_000
"""Events that one answer looks at, so that a filter that few events pass costs no more than a page."""
_CHUNK_EVENTS: Final = 200


class EventsParameters(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Which events."""

    from_: int | None = msgspec.field(name="from", default=None)
    """The first sequence looked at; without it and `before`: the log's first."""
    before: int | None = None
    """Instead of `from`: the last events before this sequence."""
    limit: int = 100
    lanes: str = ""
    """Names of lanes, with commas between; empty: all."""
    note: str = ""
    """A part of the path of a note that the event names, in any case; empty: all."""
    source: str = ""
    """A part of the name of the event's source or client, in any case; empty: all."""


class EventRow(msgspec.Struct, rename="camel"):
    """One event in few words."""

    seq: int
    time: str
    time_us: int
    """Microseconds since 1970."""
    type: str
    lane: Lane
    source: str
    who: str
    """The client of a call or a write, else the source."""
    sentence: str
    """What happened, without who and when."""
    notes: list[str]
    """Notes that the event names, as it names them."""
    is_failed: bool
    """A call that was answered with an error."""


class Events(msgspec.Struct, rename="camel"):
    """Events in their order."""

    events: list[EventRow]
    next: int | None
    """`from` of the following page; null: the log ends here."""
    previous: int | None
    """`before` of the page in front; null: the log begins here."""
    scanned: int
    """Events looked at, those that passed no filter included."""


def events(inspected: Inspected, parameters: EventsParameters) -> Events:
    """A page of events. It may be empty although `next` or `previous` leads on: see `SCANNED_MAX`.

    Raises:
        InvalidArgument: the limit or a lane makes no sense, or both `from` and `before` are given.
    """
    if not 1 <= parameters.limit <= ROWS_MAX:
        raise InvalidArgument(f"Expected a limit from 1 to {ROWS_MAX}, got {parameters.limit}.")
    if parameters.from_ is not None and parameters.before is not None:
        raise InvalidArgument("Expected `from` or `before`, got both.")
    log, types, passes = inspected.log, types_of(parameters.lanes), _filter(parameters)
    backwards = parameters.before is not None
    begin = parameters.before if parameters.before is not None else parameters.from_ or 1
    place = {"before": begin} if backwards else {"after": begin - 1}
    passed: list[Event] = []
    edge, scanned = begin, 0
    for event in islice(log.events_of(types, **place), SCANNED_MAX):
        scanned += 1
        edge = event.seq if backwards else event.seq + 1
        if passes(event):
            passed.append(event)
            if len(passed) == parameters.limit:
                break
    front, back = (edge, begin) if backwards else (begin, edge)
    return Events(
        [row_of(event) for event in (passed[::-1] if backwards else passed)],
        next=back if any(log.events_of(types, after=back - 1)) else None,
        previous=front if any(log.events_of(types, before=front)) else None,
        scanned=scanned,
    )


def row_of(event: Event) -> EventRow:
    """An event in few words."""
    data = event.data
    return EventRow(
        event.seq,
        event.time,
        microseconds(event.time),
        event.type,
        lane_of(event.type),
        event.source,
        who(event),
        sentence(event),
        notes_named(event),
        isinstance(data, ToolCalled) and not data.ok,
    )


def told_in_words(event: Event) -> str:
    """Who did what, with control characters escaped. Without a full stop."""
    return escape_control(f"{who(event)} {sentence(event)}")


def client_of(event: Event) -> str | None:
    """The agent that the event is about: who asked, was told, or got a level."""
    data = event.data
    client = getattr(data, "caller", None) or getattr(data, "client", None)
    return str(client) if client is not None else None


def lane_of(name: str) -> Lane:
    """The lane of a type of event; types that only a newer version knows belong to the log's own lane."""
    return CATALOGUE[name].lane if name in CATALOGUE else "log"


def types_of(lanes: str) -> set[str] | None:
    """The types of events of some lanes, whose names have commas between; None, of no names: all.

    Raises:
        InvalidArgument: there is no such lane.
    """
    names = set(filter(None, lanes.split(",")))
    if unknown := names.difference(get_args(Lane)):
        raise InvalidArgument(
            f"There is no lane {min(unknown)[:100]!r}.", hint=f"Lanes: {', '.join(get_args(Lane))}."
        )
    return {entry.name for entry in CATALOGUE.values() if entry.lane in names} if names else None


def _filter(parameters: EventsParameters) -> Callable[[Event], bool]:
    """Whether an event of the wanted types passes."""
    note, source = parameters.note.casefold(), parameters.source.casefold()

    def passes(event: Event) -> bool:
        if source and not _holds((event.source, who(event)), source):
            return False
        return not note or _holds(notes_named(event), note)

    return passes


def _holds(names: Iterable[str], part: str) -> bool:
    return any(part in name.casefold() for name in names)
