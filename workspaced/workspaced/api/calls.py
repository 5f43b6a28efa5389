"""`workspaced/calls`, `workspaced/call`, `workspaced/clients`: recorded calls, what agents asked and were shown;
and `workspaced/judge`: what the user says of an answer.

A call is recorded shortly after its answer. The methods first wait for that, so they find every answered call.
"""

from itertools import islice
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from workspaced_events.journal.actions import Action
from workspaced_events.replay.backward_scan import PastEvents
from workspaced_events.schema.catalogue import ContextVolunteered, Event, ToolCalled, Verdict
from workspaced_tools.recording.judgements import judgement_of
from workspaced_tools.recording.recorded_calls import Wanted, checked_call, listed, recorded_call

from ..ipc.jsonrpc import RequestId
from ..ipc.params import Params
from ..limits import CLIENTS_LISTED_MAX, LAST_SEEN_EVENTS_MAX
from ..service.service import Service
from ..service.session import Method, Session


class Judge(Params, frozen=True):
    of: Annotated[int, Meta(ge=1)]
    """The sequence of a prompt or a call."""
    verdict: Verdict
    wanted: str | None = None
    """What a right answer says; a wrong one must have it."""
    why: str | None = None


async def judge(session: Session, _id: RequestId | None, params: Judge) -> Any:
    service = session.service
    await service.threads.run(service.wait_until_recorded)
    events = await service.threads.run(service.log.read, params.of, 1)
    event = events[0] if events else None
    judged = judgement_of(event, params.of, params.verdict, params.wanted, params.why)
    vault = event.vault if event is not None else None
    (receipt,) = await service.publishing.record([Action(judged, vault=vault)], session.client)
    return {"seq": receipt.seq, "clock": service.tail.clock()}


CALLS_MAX: Final = 1_000
_PAGE_EVENTS: Final = 1_000


class Calls(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    limit: Annotated[int, Meta(ge=1, le=CALLS_MAX)] = 20
    before: Annotated[int, Meta(ge=1)] | None = None
    """Only calls recorded before this sequence; for the next page, the first sequence of the former page."""
    tool: str | None = None
    caller: str | None = None


class Clients(Params, frozen=True):
    pass


class Call(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    seq: Annotated[int, Meta(ge=1)]


async def calls(session: Session, _id: RequestId | None, params: Calls) -> Any:
    """The latest calls, newest last."""
    service = session.service
    await service.threads.run(service.wait_until_recorded)
    end = service.tail.seq + 1 if params.before is None else min(params.before, service.tail.seq + 1)
    wanted = Wanted(params.tool, params.caller)
    found: list[Event] = []
    while end > 1 and len(found) < params.limit:
        first = max(end - _PAGE_EVENTS, 1)  # a page at a time, so that other requests are answered in between
        page = await service.threads.run(_calls_among, service, wanted, first, end)
        found, end = page[-(params.limit - len(found)) :] + found, first
    lines = await service.threads.run(lambda: [listed(event, service.sweeper.blobs.get) for event in found])
    return {"calls": lines, "clock": service.tail.clock()}


def _calls_among(service: Service, wanted: Wanted, first: int, end: int) -> list[Event]:
    """The wanted calls from the sequence `first` to before `end`."""
    found: list[Event] = []
    while first < end:
        events = service.read_events(first, end - first)
        found += filter(wanted.takes, events)
        first = events[-1].seq + 1
    return found


async def call(session: Session, _id: RequestId | None, params: Call) -> Any:
    """One call with all that is kept of it. `result` is the answer's JSON text, byte for byte as it was sent."""
    service = session.service
    await service.threads.run(service.wait_until_recorded)
    events = await service.threads.run(service.read_events, params.seq, 1)
    event = checked_call(events[0] if events else None, params.seq)
    return await service.threads.run(recorded_call, event, service.sweeper.blobs.get)


async def clients(session: Session, _id: RequestId | None, _params: Clients) -> Any:
    """When each client last called a tool, and was last told context that it had not asked for."""
    service = session.service
    await service.threads.run(service.wait_until_recorded)
    found, since = await service.threads.run(last_seen, service.moments)
    return {"clients": found, "since": since, "clock": service.tail.clock()}


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


METHODS: Final = {
    "workspaced/calls": Method(Calls, calls, works_paused=True),
    "workspaced/call": Method(Call, call, works_paused=True),
    "workspaced/clients": Method(Clients, clients, works_paused=True),
    "workspaced/judge": Method(Judge, judge, writes=True),
}
