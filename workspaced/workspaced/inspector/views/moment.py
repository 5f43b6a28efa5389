"""The workspace after one event, what the event changed, and who caused it."""

from typing import Literal

import msgspec

from workspaced_events.errors import InvalidArgument
from workspaced_events.projections.state_diff import Change, changes, lines
from workspaced_events.projections.workspace_fold import fold_all
from workspaced_events.projections.workspace_state import StateJson, WorkspaceState, to_json
from workspaced_events.replay.position import parse_position
from workspaced_events.schema.catalogue import Confidence, Event
from workspaced_events.schema.codec import encode_event

from ... import replay
from ..inspected import Inspected, MomentParameters
from .events import EventRow, row_of


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
