"""The state at a moment, pages of the log, and subscriptions to what is added to it."""

from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from workspaced_events.errors import InvalidArgument
from workspaced_events.limits import READ_EVENTS_MAX
from workspaced_events.replay.position import sequence

from ..ipc.jsonrpc import RequestId
from ..ipc.params import Params
from ..limits import LINK_NAME_CHARS_MAX, SUBSCRIPTIONS_PER_CONNECTION_MAX
from ..service.session import Method, Session
from ..service.subscriptions import Subscription

Seq = Annotated[int, Meta(ge=0)]


class State(Params, frozen=True):
    at: Seq | str | None = None
    """A sequence, or an ISO 8601 time."""
    min_seq: Seq | None = None
    vault: str | None = None
    of: Annotated[str, Meta(min_length=1, max_length=LINK_NAME_CHARS_MAX)] | None = None
    """Whose, where the vault is linked: `me`, `here`, `everyone` or a person; default: this machine's."""


class Log(Params, frozen=True):
    from_: Seq = msgspec.field(name="from", default=1)
    limit: Annotated[int, Meta(ge=1, le=READ_EVENTS_MAX)] = 1_000
    types: list[str] | None = None


async def state(session: Session, _id: RequestId | None, params: State) -> Any:
    service = session.service
    await service.tail.reached(max(params.min_seq or 0, 0))
    found = await service.state_json(at=params.at, vault=params.vault, of=params.of)
    return {"state": found, "clock": service.tail.clock()}


async def log(session: Session, _id: RequestId | None, params: Log) -> Any:
    service = session.service
    types = frozenset(params.types) if params.types is not None else None
    events = await service.threads.run(service.read_events, params.from_, params.limit)
    if types is not None:
        # Skip pages without any of these types, since an empty list means the end of the log.
        wanted = [event for event in events if event.type in types]
        while events and not wanted:
            events = await service.threads.run(service.read_events, events[-1].seq + 1, params.limit)
            wanted = [event for event in events if event.type in types]
        events = wanted
    return {"events": events, "clock": service.tail.clock()}


class Subscribe(Params, frozen=True):
    since: str | Seq | None = None
    types: list[str] | None = None


class Unsubscribe(Params, frozen=True):
    subscription: str


def subscribe(session: Session, _id: RequestId | None, params: Subscribe) -> Any:
    service = session.service
    if len(session.subscriptions) >= SUBSCRIPTIONS_PER_CONNECTION_MAX:
        raise InvalidArgument(
            f"A connection holds at most {SUBSCRIPTIONS_PER_CONNECTION_MAX} subscriptions.",
            hint="Unsubscribe one, or subscribe to several types at once.",
        )
    following, fresh = _following(params.since, service.log.log_id, service.tail.seq)
    types = frozenset(params.types) if params.types is not None else None
    made = Subscription(service, session, following, types)
    session.subscriptions[made.id] = made
    # The answer names the subscription, so it must be sent before the first notification.
    session.call_later(0, made.tail_moved)
    return {"subscription": made.id, "clock": service.tail.clock(), "freshInstance": fresh}


def _following(since: str | int | None, log_id: str, seq: int) -> tuple[int, bool]:
    """The first sequence to send, and whether `since` is the clock of another log; if so, all events are sent."""
    if since is None:
        return seq + 1, False
    if isinstance(since, str):
        of_log, _, number = since.rpartition(":")
        place = sequence(number)
        if place is None:
            raise InvalidArgument(
                f"Expected a clock '<log id>:<sequence>' or a sequence, got {since[:100]!r}.",
                hint="Give the clock of an earlier answer.",
            )
        if of_log and of_log != log_id:
            return 1, True
        since = place
    if since > seq:
        raise InvalidArgument(
            f"Expected a sequence up to {seq}, got {str(since)[:100]}.",
            hint="Give the clock of an earlier answer, or no `since` for what comes from now on.",
        )
    return since + 1, False


def unsubscribe(session: Session, _id: RequestId | None, params: Unsubscribe) -> Any:
    found = session.subscriptions.pop(params.subscription, None)
    if found is None:
        raise InvalidArgument(
            f"This connection has no subscription {params.subscription[:100]!r}.",
            hint=f"Its subscriptions: {', '.join(map(str, session.subscriptions)) or 'none'}.",
        )
    found.close()
    return {}


METHODS: Final = {
    "workspaced/state": Method(State, state, works_paused=True),
    "workspaced/subscribe": Method(Subscribe, subscribe, works_paused=True),
    "workspaced/unsubscribe": Method(Unsubscribe, unsubscribe, works_paused=True),
    "workspaced/log": Method(Log, log, works_paused=True),
}
