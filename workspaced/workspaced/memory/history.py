"""The writes to the memory folder, as the log tells of them."""

from typing import Final

import msgspec

from workspaced_events.log.segments import SegmentLog
from workspaced_events.schema import catalogue as c
from workspaced_events.schema.catalogue import Event

_PAGE_EVENTS: Final = 1_000


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


def writes_before(log: SegmentLog, end: int, before: int | None, limit: int) -> list[Write]:
    """The last `limit` writes before the sequence `before` (None: before `end`), newest last.

    Args:
        end: the sequence after the last event; the ends of writes come later than the writes.

    Raises:
        LogError: the log cannot be read.
    """
    ends: dict[int, str] = {}
    found: list[Write] = []
    while end > 1 and len(found) < limit:
        first = max(end - _PAGE_EVENTS, 1)
        for event in reversed(_read(log, first, end)):
            if type(event.data) is c.MemoryWriteEnded:
                ends[event.data.write] = event.data.outcome
            elif type(event.data) is c.MemoryWritten and (before is None or event.seq < before):
                found.append(_write(event, ends.get(event.seq)))
        end = first
    return found[:limit][::-1]


def _read(log: SegmentLog, first: int, end: int) -> list[Event]:
    found: list[Event] = []
    while first < end:
        events = log.read(first, end - first)
        found += events
        first = events[-1].seq + 1
    return found


def _write(event: Event, outcome: str | None) -> Write:
    data: c.MemoryWritten = event.data
    return Write(
        seq=event.seq,
        time=event.time,
        client=data.client,
        command=data.command,
        path=data.note,
        from_=data.from_,
        vault=event.vault,
        former_sha256=data.former_sha256,
        text_sha256=data.text_sha256,
        undoes=data.undoes,
        outcome=outcome,
    )
