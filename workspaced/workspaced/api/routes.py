"""Our methods: their parameters, and what each does with the service.

A handler returns the result, or a coroutine that will, or DEFERRED when it answers through the connection itself.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec
from msgspec import Meta

from workspaced_events.errors import InvalidArgument, WorkspacedError
from workspaced_events.journal.view_diff import Snapshot
from workspaced_events.journal.writer import Done, Outcome
from workspaced_events.limits import (
    BATCH_ACTIONS_MAX,
    BATCH_BYTES_MAX,
    READ_EVENTS_MAX,
    SOURCE_CHARS_MAX,
)
from workspaced_events.replay.position import sequence

from ..__about__ import __version__
from ..ipc.jsonrpc import RequestId
from ..ipc.params import Params
from ..limits import (
    ANSWER_BYTES_MAX,
    CLIENT_NAME_CHARS_MAX,
    IN_FLIGHT_MAX,
    REQUEST_BYTES_MAX,
    SUBSCRIPTIONS_PER_CONNECTION_MAX,
)
from ..mcp.tools import CallTool, Page, call_tool, list_tools
from ..prompts import params as said
from ..service.service import Service
from ..service.subscriptions import Subscription
from . import calls, conversations, sharing

if TYPE_CHECKING:
    from ..server.connection import Connection

DEFERRED: Final = object()
CAPABILITIES: Final = ("publish", "snapshot", "state", "subscribe", "log", "tools", "resources", "context", "mcp")
Seq = Annotated[int, Meta(ge=0)]
ClientName = Annotated[str, Meta(min_length=1, max_length=CLIENT_NAME_CHARS_MAX)]


class ClientInfo(msgspec.Struct, frozen=True):
    name: ClientName = "unknown"
    version: str = ""
    pid: int | None = None


class Hello(msgspec.Struct, frozen=True):
    """Unknown fields are ignored: a newer client may say more about itself."""

    client: ClientInfo = ClientInfo()


class Publish(Params, frozen=True):
    actions: list[Any]
    source: Annotated[str, Meta(min_length=1, max_length=SOURCE_CHARS_MAX)] | None = None


class State(Params, frozen=True):
    at: Seq | str | None = None
    """A sequence, or an ISO 8601 time."""
    min_seq: Seq | None = None
    vault: str | None = None


class Subscribe(Params, frozen=True):
    since: str | Seq | None = None
    types: list[str] | None = None
    coalesce: bool = False


class Unsubscribe(Params, frozen=True):
    subscription: str


class Log(Params, frozen=True):
    from_: Seq = msgspec.field(name="from", default=1)
    limit: Annotated[int, Meta(ge=1, le=READ_EVENTS_MAX)] = 1_000
    types: list[str] | None = None


class Nothing(Params, frozen=True):
    pass


@dataclass(frozen=True, slots=True)
class Method:
    """One row of a table of methods."""

    params: Any
    handler: Callable[["Connection", RequestId | None, Any], Any]
    cache: dict[str, Any] | None = None
    """What MCP 2026-07-28 adds to the result: how long, and by whom, it may be kept."""
    decode: Callable[[bytes], Any] = field(init=False)
    """Reads `params`; raises msgspec's errors."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "decode", msgspec.json.Decoder(self.params).decode)


def hello(connection: "Connection", _id: RequestId | None, params: Hello) -> Any:
    connection.client = params.client.name
    return facts(connection.service)


def facts(service: Service) -> dict[str, Any]:
    """What a client learns of the daemon first."""
    return {
        "version": __version__,
        "instance": service.instance,
        "workspace": service.workspace,
        "capabilities": CAPABILITIES,
        "vaults": [{"id": each.id, "path": str(each.path)} for each in service.served.values()],
        "limits": {
            "requestBytes": REQUEST_BYTES_MAX,
            "answerBytes": ANSWER_BYTES_MAX,
            "batchActions": BATCH_ACTIONS_MAX,
            "batchBytes": BATCH_BYTES_MAX,
            "inFlight": IN_FLIGHT_MAX,
        },
        "clock": service.clock(),
    }


def publish(connection: "Connection", request_id: RequestId | None, params: Publish) -> Any:
    connection.service.publish(
        params.actions,
        params.source or connection.client,
        _receipts_to(connection, request_id),
        client=connection,
        line_bytes=connection.line_bytes,
    )
    return DEFERRED


def snapshot(connection: "Connection", request_id: RequestId | None, params: Snapshot) -> Any:
    done = _receipts_to(connection, request_id)
    connection.service.publish_snapshot(params, done, client=connection, line_bytes=connection.line_bytes)
    return DEFERRED


def _receipts_to(connection: "Connection", request_id: RequestId | None) -> Done:
    def done(outcome: Outcome) -> None:
        if isinstance(outcome, WorkspacedError):
            connection.fail(request_id, outcome)
        else:
            # HEAD of the log at this answer: it covers at least these events.
            clock = connection.service.clock()
            connection.answer(request_id, {"events": outcome, "clock": clock, "durability": "synced"})

    return done


async def state(connection: "Connection", _id: RequestId | None, params: State) -> Any:
    service = connection.service
    await service.reached(max(params.min_seq or 0, 0))
    found = await service.state_json(at=params.at, vault=params.vault)
    return {"state": found, "clock": service.clock()}


def subscribe(connection: "Connection", _id: RequestId | None, params: Subscribe) -> Any:
    service = connection.service
    if len(connection.subscriptions) >= SUBSCRIPTIONS_PER_CONNECTION_MAX:
        raise InvalidArgument(
            f"A connection holds at most {SUBSCRIPTIONS_PER_CONNECTION_MAX} subscriptions.",
            hint="Unsubscribe one, or subscribe to several types at once.",
        )
    following, fresh = _following(params.since, service.log.log_id, service.seq)
    types = frozenset(params.types) if params.types is not None else None
    made = Subscription(service, connection, following, types, coalesce=params.coalesce)
    connection.subscriptions[made.id] = made
    # The answer names the subscription, so it goes out before its first notification.
    connection.call_later(0, made.tail_moved)
    return {"subscription": made.id, "clock": service.clock(), "freshInstance": fresh}


def _following(since: str | int | None, log_id: str, seq: int) -> tuple[int, bool]:
    """The first sequence to send, and whether `since` is the clock of another log: then all is sent anew."""
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


def unsubscribe(connection: "Connection", _id: RequestId | None, params: Unsubscribe) -> Any:
    found = connection.subscriptions.pop(params.subscription, None)
    if found is None:
        raise InvalidArgument(f"This connection has no subscription {params.subscription[:100]!r}.")
    found.close()
    return {}


async def log(connection: "Connection", _id: RequestId | None, params: Log) -> Any:
    service = connection.service
    types = frozenset(params.types) if params.types is not None else None
    events = await service.in_thread(service.log.read, params.from_, params.limit)
    if types is not None:
        # A page without any of these types is no answer: an empty list means the tail.
        wanted = [event for event in events if event.type in types]
        while events and not wanted:
            events = await service.in_thread(service.log.read, events[-1].seq + 1, params.limit)
            wanted = [event for event in events if event.type in types]
        events = wanted
    return {"events": events, "clock": service.clock()}


def status(connection: "Connection", _id: RequestId | None, _params: Nothing) -> Any:
    return connection.service.status()


async def reconcile(connection: "Connection", _id: RequestId | None, _params: Nothing) -> Any:
    await connection.service.reconcile()
    return {"vaults": connection.service.status()["vaults"], "clock": connection.service.clock()}


def shutdown(connection: "Connection", _id: RequestId | None, _params: Nothing) -> Any:
    connection.service.stop("workspaced/shutdown")
    return {}


METHODS: Final[dict[str, Method]] = {
    "workspaced/hello": Method(Hello, hello),
    "workspaced/publish": Method(Publish, publish),
    "workspaced/state": Method(State, state),
    "workspaced/subscribe": Method(Subscribe, subscribe),
    "workspaced/unsubscribe": Method(Unsubscribe, unsubscribe),
    "workspaced/snapshot": Method(Snapshot, snapshot),
    "workspaced/log": Method(Log, log),
    "workspaced/calls": Method(calls.Calls, calls.calls),
    "workspaced/call": Method(calls.Call, calls.call),
    "workspaced/context/start": Method(said.Start, conversations.start),
    "workspaced/context/message": Method(said.Messages, conversations.message),
    "workspaced/context/pin": Method(said.Pin, conversations.pin),
    "workspaced/context/unpin": Method(said.Unpin, conversations.unpin),
    "workspaced/context/assemble": Method(said.Assemble, conversations.assemble),
    "workspaced/context/cite": Method(said.Cite, conversations.cite),
    "workspaced/context/plan": Method(said.Plan, conversations.plan),
    "workspaced/context/usage": Method(said.Usage, conversations.usage),
    "workspaced/context/rebase": Method(said.Named, conversations.rebase),
    "workspaced/context/summary": Method(said.Summarise, conversations.summary),
    "workspaced/context/end": Method(said.Named, conversations.end),
    "workspaced/context/export": Method(said.Named, conversations.export),
    "workspaced/context/import": Method(said.Import, conversations.import_),
    "workspaced/status": Method(Nothing, status),
    "workspaced/reconcile": Method(Nothing, reconcile),
    "workspaced/share": Method(sharing.Share, sharing.share),
    "workspaced/share/why": Method(sharing.Why, sharing.why),
    "workspaced/share/accept": Method(sharing.Accept, sharing.accept),
    "workspaced/shutdown": Method(Nothing, shutdown),
    "tools/list": Method(Page, list_tools),
    "tools/call": Method(CallTool, call_tool),
}
