"""`workspaced/memory/*`: the writes to the memory folder, as the log tells of them, and undoing one."""

from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from workspaced_events.replay.backward_scan import PastEvents
from workspaced_events.schema import catalogue as c

from ..ipc.jsonrpc import RequestId
from ..ipc.params import Params
from ..service.session import Method, Session

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
    events = await service.threads.run(service.read_events, params.seq, 1)
    event = events[0] if events else None
    seq = await service.threads.run_writing(service.memory.undo, event, params.seq, session.client)
    return {"seq": seq, "clock": service.tail.clock()}


class Write(msgspec.Struct, frozen=True, rename="camel"):
    """One write to one file."""

    seq: int
    time: str
    client: str
    command: str
    path: str
    """In the vault; in a folder beside the vaults as agents name it."""
    from_: str | None = msgspec.field(name="from")
    vault: str | None
    former_sha256: str | None
    text_sha256: str | None
    undoes: int | None
    outcome: str | None
    """`done`, `failed`, or null: it has no end yet."""


def writes_before(events: PastEvents, before: int | None, limit: int) -> list[Write]:
    """The last `limit` writes before the sequence `before` (None: of all), newest last.

    Scans the log from its end, since the ends of writes come later than the writes.

    Raises:
        LogError: the log cannot be read.
        Busy: the daemon is ending.
    """
    ends: dict[int, str] = {}
    found: list[Write] = []
    for event in events.before(events.tail):
        if len(found) == limit:
            break
        if type(event.data) is c.MemoryWriteEnded:
            ends[event.data.write] = event.data.outcome
        elif type(event.data) is c.MemoryWritten and (before is None or event.seq < before):
            data = event.data
            paths = (data.note, data.from_, event.vault)
            texts = (data.former_sha256, data.text_sha256)
            outcome = ends.get(event.seq)
            found.append(
                Write(event.seq, event.time, data.client, data.command, *paths, *texts, data.undoes, outcome)
            )
    return found[::-1]


METHODS: Final = {
    "workspaced/memory/list": Method(Writes, writes, works_paused=True),
    "workspaced/memory/undo": Method(Undo, undo, works_paused=True, writes=True),
}
