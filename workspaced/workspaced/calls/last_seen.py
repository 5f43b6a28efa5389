"""When each client was last heard of, by the log: its last call, and the last context that it was told unasked."""

from itertools import islice

import msgspec

from workspaced_events.replay.backward_scan import PastEvents
from workspaced_events.schema.catalogue import ContextVolunteered, Event, ToolCalled

from ..limits import CLIENTS_LISTED_MAX, LAST_SEEN_EVENTS_MAX


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
        if not isinstance(event.data, ToolCalled):
            continue
        name = event.data.caller
        if name not in clients and len(clients) == CLIENTS_LISTED_MAX:
            continue
        client = clients.setdefault(name, LastSeen(name))
        seen = Seen(event.seq, event.time)
        if isinstance(event.data, ContextVolunteered):
            client.last_volunteered = client.last_volunteered or seen
        else:
            client.last_call = client.last_call or seen
    is_whole = oldest is None or oldest.seq == 1
    return list(clients.values()), None if is_whole or oldest is None else Seen(oldest.seq, oldest.time)
