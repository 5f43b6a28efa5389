"""The state at a moment, pages of the log, and subscriptions to what is added to it."""

import itertools
import logging
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from workspaced_events.errors import InvalidArgument, LogError
from workspaced_events.limits import READ_EVENTS_MAX
from workspaced_events.replay.position import sequence
from workspaced_events.schema.catalogue import Event

from ..ipc.jsonrpc import RequestId, notification
from ..ipc.params import Params
from ..limits import GAP_EVENTS, LINK_NAME_CHARS_MAX, NOTIFICATION_EVENTS_MAX, SUBSCRIPTIONS_PER_CONNECTION_MAX
from ..service.service import Service
from ..service.session import Method, Session

logger = logging.getLogger(__name__)

_numbers = itertools.count(1)


class Subscription:
    """One client's cursor into the log, which follows the tail.

    The signal only says that the tail moved. Events come from memory, or from the log if the subscriber is further
    behind. A subscriber more than GAP_EVENTS behind gets `workspaced/gap` and continues at the tail. A client that
    does not read stops only its own cursors.
    """

    closing_response = None

    def __init__(self, service: Service, session: Session, following: int, types: frozenset[str] | None) -> None:
        self.id = f"sub-{next(_numbers)}"
        self._service = service
        self._session = session
        self._following = following
        self._types = types
        self._busy = False
        self._closed = False

    def close(self) -> None:
        """Ends the subscription: nothing more is sent."""
        self._closed = True

    def tail_moved(self) -> None:
        """Sends what is new. Called on the loop, after every commit and when the client reads again."""
        if not (self._busy or self._closed):
            self._pump()

    def _pump(self) -> None:
        while not self._closed and self._session.writable and self._following <= self._service.tail.seq:
            behind = self._service.tail.seq - self._following + 1
            events = self._service.tail.events_from(self._following)
            if events is None and behind > GAP_EVENTS:
                self._send_gap()
            elif events is None:
                self._busy = True
                self._session.start_soon(self._catch_up)
                return
            elif not events:
                return
            else:
                self._send(events[:NOTIFICATION_EVENTS_MAX])

    async def _catch_up(self) -> None:
        try:
            async with self._service.tail.catching_up:
                if self._closed or not self._session.writable:
                    return  # the connection is full; `tail_moved` is called when the client reads again
                events = await self._service.threads.run(
                    self._service.read_events, self._following, NOTIFICATION_EVENTS_MAX
                )
        except (LogError, OSError) as error:
            # A damaged log must not end the connection: the subscriber gets a gap.
            logger.warning("events for %s cannot be read: %s", self.id, error)
            events = []
        finally:
            self._busy = False
        if self._closed or not self._session.writable:
            return
        if events:
            self._send(events)
        else:
            self._send_gap()
        self._pump()

    def _send(self, events: list[Event]) -> None:
        self._following = events[-1].seq + 1
        wanted = [event for event in events if self._types is None or event.type in self._types]
        if wanted:
            self._session.send(
                notification(
                    "workspaced/event",
                    {"subscription": self.id, "events": wanted, "clock": self._clock_at(self._following - 1)},
                )
            )

    def _send_gap(self) -> None:
        first, last = self._following, self._service.tail.seq
        self._following = last + 1
        self._session.send(
            notification(
                "workspaced/gap",
                {"subscription": self.id, "from": first, "to": last, "clock": self._clock_at(last)},
            )
        )

    def _clock_at(self, seq: int) -> str:
        return f"{self._service.log.log_id}:{seq}"


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
