"""A list of events, page by page in both directions, of chosen lanes, notes and clients; how many there were over
time; and the workspace after one of them."""

from collections.abc import Callable, Iterable
from itertools import islice
from typing import Final, Literal, get_args

import msgspec

from workspaced_events.clock import microseconds
from workspaced_events.errors import InvalidArgument
from workspaced_events.escaping import escape_control
from workspaced_events.projections.state_diff import Change, changes, lines
from workspaced_events.projections.workspace_fold import fold_all
from workspaced_events.projections.workspace_state import StateJson, WorkspaceState, to_json
from workspaced_events.replay.position import parse_position
from workspaced_events.schema.catalogue import CATALOGUE, Confidence, Event, Lane, ToolCalled
from workspaced_events.schema.codec import encode_event
from workspaced_events.schema.sentences import notes_named, sentence, who

from ... import replay
from ..inspected import Inspected, MomentParameters

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


class ViewPublisher(msgspec.Struct, rename="camel"):
    """An editor or another source that shows its view of the current vault."""

    source: str
    confidence: Confidence | None
    """`inferred`: it guesses what the user looks at; null: it knows."""
    is_active: bool
    """It showed the active note."""


class ChangeLine(msgspec.Struct, rename="camel"):
    """One change for people, as `workspaced replay --steps` prints it."""

    kind: Literal["changed", "added", "removed", "order"]
    text: str


class Moment(msgspec.Struct, rename="camel"):
    """The workspace after an event."""

    seq: int
    time: str
    event: msgspec.Raw | None
    """The event that led here, as the log has it; null before the first one."""
    told: EventRow | None
    """The event in few words."""
    state: StateJson
    publishers: list[ViewPublisher]
    changes: list[Change]
    """How `state` differs from the state before the event."""
    lines: list[ChangeLine]
    """`changes` in words; `lastUpdated` only if nothing else changed."""


def moment(inspected: Inspected, parameters: MomentParameters) -> Moment:
    """The moment after an event, or at a time: after the last event up to it.

    Raises:
        InvalidArgument: the log does not hold that moment.
    """
    log = inspected.log
    event, seq, time = _place(log, parameters.at)
    if event is None:
        here = log.at(seq).state
        return Moment(seq, time, None, None, to_json(here), _publishers(here), [], [])
    before = log.state_at(event.seq - 1)
    after = fold_all([event], before)
    shown_after = to_json(after)
    differences = changes(to_json(before), shown_after)
    return Moment(
        seq,
        time,
        msgspec.Raw(encode_event(event)),
        row_of(event),
        shown_after,
        _publishers(after),
        differences,
        _lines(differences),
    )


def _place(log: replay.Log, at: str) -> tuple[Event | None, int, str]:
    """The event, its sequence and time; no event before the first one.

    Raises:
        InvalidArgument: the log does not hold that moment.
    """
    events = log.events()
    place = parse_position(at) if at else log.end.seq
    if isinstance(place, str):
        place = log.at(place).seq
    if events and events[0].seq <= place <= events[-1].seq:
        event = events[place - events[0].seq]
        return event, place, event.time
    if not events and place != log.end.seq:
        raise InvalidArgument("The log holds no events yet.", hint="Open it again when the workspace was used.")
    here = log.at(place)
    return None, here.seq, here.time


def _lines(differences: list[Change]) -> list[ChangeLine]:
    shown = [each for each in differences if each.field != "lastUpdated"] or differences
    return [ChangeLine(each.kind, text) for each, text in zip(shown, lines(shown), strict=True)]


def _publishers(state: WorkspaceState) -> list[ViewPublisher]:
    if state.current is None:
        return []
    active = state.of(state.current).active
    shown_by = active.publisher if active is not None else None
    return [
        ViewPublisher(source, confidence, source == shown_by)
        for source, confidence in state.views.get(state.current, {}).items()
    ]
