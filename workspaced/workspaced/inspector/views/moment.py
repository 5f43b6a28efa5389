"""The workspace at one moment, what differed from the moment before, and who caused it."""

from typing import Any

import msgspec

from workspaced_events.projections.state_diff import Change, changes
from workspaced_events.projections.workspace_state import StateJson, to_json
from workspaced_events.schema.codec import encode_event

from ..inspected import Inspected


class MomentParameters(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Which moment."""

    at: str = ""
    """A sequence or an ISO 8601 time; empty: the end."""


class Moment(msgspec.Struct, rename="camel"):
    """The workspace after an event."""

    seq: int
    time: str
    event: msgspec.Raw | None
    """The event that led here; null before the first one."""
    state: StateJson
    changes: list[Change]
    """How `state` differs from the state before the event."""


def moment(inspected: Inspected, parameters: MomentParameters) -> Moment:
    """The moment after an event.

    Raises:
        InvalidArgument: the log does not hold that moment.
    """
    log = inspected.log
    at: Any = int(parameters.at) if parameters.at.isdecimal() else parameters.at
    here = log.at(at) if parameters.at else log.end
    events = log.events()
    index = here.seq - events[0].seq if events else -1
    event = events[index] if 0 <= index < len(events) else None
    state = to_json(here.state)
    before = to_json(log.at(here.seq - 1).state) if event is not None else state
    encoded = msgspec.Raw(encode_event(event)) if event is not None else None
    return Moment(here.seq, here.time, encoded, state, changes(before, state))
