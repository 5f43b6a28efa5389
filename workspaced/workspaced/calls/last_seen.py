"""When each client was last heard of, by the log: its last call, and the last context that it was told unasked."""

from itertools import islice
from typing import Final

import msgspec

from workspaced_events.replay.backward_scan import PastEvents
from workspaced_events.schema.catalogue import Event

from ..limits import CLIENTS_LISTED_MAX, LAST_SEEN_EVENTS_MAX

_CLIENT_FIELDS: Final = {"tool_called": "caller", "context_volunteered": "client"}
"""The types of events that tell of a client, and their field with its name."""


class Seen(msgspec.Struct, frozen=True):
    """A recorded moment."""

    seq: int
    time: str


class LastSeen(msgspec.Struct, rename="camel"):
    """The last moments of one client; None: not among the events that were looked at."""

    client: str
    last_call: Seen | None = None
    last_volunteered: Seen | None = None


def last_seen(events: PastEvents) -> tuple[list[LastSeen], Seen | None]:
    """The clients of the latest events, the last one heard of first, and the oldest event that was looked at.

    None instead of an event: the whole log was looked at.

    Raises:
        LogError: the log cannot be read.
        Busy: the daemon is ending.
    """
    clients: dict[str, LastSeen] = {}
    oldest: Event | None = None
    for event in islice(events.before(events.tail), LAST_SEEN_EVENTS_MAX):
        oldest = event
        field = _CLIENT_FIELDS.get(event.type)
        name = getattr(event.data, field, None) if field is not None else None
        if not isinstance(name, str) or (name not in clients and len(clients) == CLIENTS_LISTED_MAX):
            continue
        client = clients.setdefault(name, LastSeen(name))
        seen = Seen(event.seq, event.time)
        if event.type == "tool_called":
            client.last_call = client.last_call or seen
        else:
            client.last_volunteered = client.last_volunteered or seen
    is_whole = oldest is None or oldest.seq == 1
    return list(clients.values()), None if is_whole or oldest is None else Seen(oldest.seq, oldest.time)
