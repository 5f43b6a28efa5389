"""`workspaced/memory/*`: the writes to the memory folder, and undoing one."""

from typing import Annotated, Any, Final

from msgspec import Meta

from ..ipc.jsonrpc import RequestId
from ..ipc.params import Params
from ..memory.history import writes_before
from ..service.session import Session

WRITES_MAX: Final = 1_000


class Writes(Params, frozen=True):
    limit: Annotated[int, Meta(ge=1, le=WRITES_MAX)] = 20
    before: Annotated[int, Meta(ge=1)] | None = None
    """Only writes before this sequence; for the next page, the first sequence of the former page."""


class Undo(Params, frozen=True):
    seq: Annotated[int, Meta(ge=1)]
    """Of the write."""


async def writes(session: Session, _id: RequestId | None, params: Writes) -> Any:
    """The latest writes, newest last."""
    service = session.service
    await service.threads.run(service.publishing.wait_until_written)
    found = await service.threads.run(writes_before, service.moments, params.before, params.limit)
    return {"writes": found, "clock": service.tail.clock()}


async def undo(session: Session, _id: RequestId | None, params: Undo) -> Any:
    """Undoes a write. The undoing is a write itself."""
    service = session.service
    events = await service.threads.run(service.log.read, params.seq, 1)
    event = events[0] if events else None
    seq = await service.threads.run_writing(service.memory.undo, event, params.seq, session.client)
    return {"seq": seq, "clock": service.tail.clock()}
