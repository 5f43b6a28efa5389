"""The newest events, as sentences: all, or those of one editor, agent, note or type."""

from typing import Annotated, Final

import msgspec
from msgspec import Meta

from workspaced_events.errors import InvalidArgument
from workspaced_events.escaping import escape_control
from workspaced_events.projections.workspace_state import client_key
from workspaced_events.schema.catalogue import CATALOGUE, Event, Lane
from workspaced_events.schema.codec import encode_event
from workspaced_events.schema.sentences import notes_named, sentence, who

from ..inspected import Inspected
from .events import lane_of

_TAIL_EVENTS_MAX: Final = 50
"""Events that one message shows; the page asks for the others."""
_SEARCHED_EVENTS_MAX: Final = 20_000
"""Events that one question looks at; for more it is asked again, with a smaller `before`."""


class NewestParameters(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Which events."""

    before: Annotated[int, Meta(ge=1)] | None = None
    """Only events before this sequence; left out: the newest."""
    limit: Annotated[int, Meta(ge=1, le=500)] = 50
    source: str = ""
    """Only what this editor or program published; empty: all."""
    agent: str = ""
    """Only what is about this client, compared as the share policy does."""
    note: str = ""
    """Only what names this path."""
    type: str = ""
    """Only this type of event."""


class EventTold(msgspec.Struct, rename="camel"):
    """One event, in words and whole."""

    seq: int
    time: str
    type: str
    lane: Lane
    source: str
    agent: str | None
    """The client that it is about, if any."""
    notes: list[str]
    """The notes that it names."""
    sentence: str
    event: msgspec.Raw
    """As the log has it."""


class Newest(msgspec.Struct, rename="camel"):
    """The newest events that were asked for, newest first."""

    events: list[EventTold]
    last: int
    """The sequence of the log's last event."""
    searched_from: int | None
    """The first sequence that was looked at; null: the log's beginning. Earlier ones: ask with it as `before`."""


class Grew(msgspec.Struct, rename="camel"):
    """The log has new events."""

    last: int
    added: int
    """How many came since the message before."""
    events: list[EventTold]
    """The newest of them, newest first."""


def newest(inspected: Inspected, parameters: NewestParameters) -> Newest:
    """The newest events.

    Raises:
        InvalidArgument: there is no such type.
    """
    if parameters.type and parameters.type not in CATALOGUE:
        raise InvalidArgument(f"There is no type of event {parameters.type[:100]!r}.")
    log = inspected.log
    events = log.events()
    first, last = (events[0].seq, events[-1].seq) if events else (1, 0)
    before = min(parameters.before or last + 1, last + 1)
    found: list[Event] = []
    searched = before
    for event in log.events_of((parameters.type,) if parameters.type else None, before=before):
        searched = event.seq
        if _fits(event, parameters):
            found.append(event)
        if len(found) == parameters.limit or before - searched >= _SEARCHED_EVENTS_MAX:
            break
    else:
        searched = first
    return Newest(list(map(told, found)), last, searched if searched > first else None)


def grew(inspected: Inspected, since: int) -> Grew:
    """What came after the sequence `since`."""
    events = inspected.log.events()
    added = events[-1].seq - since
    shown = events[-min(added, _TAIL_EVENTS_MAX) :]
    return Grew(events[-1].seq, added, list(map(told, reversed(shown))))


def told(event: Event) -> EventTold:
    """An event in words and whole."""
    return EventTold(
        seq=event.seq,
        time=event.time,
        type=event.type,
        lane=lane_of(event.type),
        source=event.source,
        agent=client_of(event),
        notes=notes_named(event),
        sentence=told_in_words(event),
        event=msgspec.Raw(encode_event(event)),
    )


def told_in_words(event: Event) -> str:
    """Who did what, with control characters escaped. Without a full stop."""
    return escape_control(f"{who(event)} {sentence(event)}")


def client_of(event: Event) -> str | None:
    """The agent that the event is about: who asked, was told, or got a level."""
    data = event.data
    client = getattr(data, "caller", None) or getattr(data, "client", None)
    return str(client) if client is not None else None


def _fits(event: Event, wanted: NewestParameters) -> bool:
    if wanted.source and event.source != wanted.source:
        return False
    if wanted.agent and client_key(client_of(event) or "") != client_key(wanted.agent):
        return False
    return not wanted.note or wanted.note in notes_named(event)
