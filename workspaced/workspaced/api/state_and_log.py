"""`workspaced/state` and `workspaced/log`: the state at a moment, and pages of the log."""

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from workspaced_events.limits import READ_EVENTS_MAX

from ..ipc.jsonrpc import RequestId
from ..ipc.params import Params
from ..limits import LINK_NAME_CHARS_MAX
from ..service.session import Session

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
    events = await service.threads.run(service.log.read, params.from_, params.limit)
    if types is not None:
        # Skip pages without any of these types, since an empty list means the end of the log.
        wanted = [event for event in events if event.type in types]
        while events and not wanted:
            events = await service.threads.run(service.log.read, events[-1].seq + 1, params.limit)
            wanted = [event for event in events if event.type in types]
        events = wanted
    return {"events": events, "clock": service.tail.clock()}
