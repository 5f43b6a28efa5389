"""Methods that publish actions and snapshots of views."""

from typing import Annotated, Any

import anyio
from msgspec import Meta

from workspaced_events.errors import WorkspacedError
from workspaced_events.journal.view_diff import Snapshot
from workspaced_events.journal.writer import Done, Outcome
from workspaced_events.limits import SOURCE_CHARS_MAX

from ..ipc.jsonrpc import RequestId
from ..ipc.params import Params
from ..service.method import DEFERRED
from ..service.session import Session
from .missing_notes import missing_notes


class Publish(Params, frozen=True):
    actions: list[Any]
    source: Annotated[str, Meta(min_length=1, max_length=SOURCE_CHARS_MAX)] | None = None
    check: bool = False
    """Whether the answer warns of notes that are not in the vault."""


def publish(session: Session, request_id: RequestId | None, params: Publish) -> Any:
    if params.check:
        return _checked(session, params)
    session.service.publishing.publish(
        params.actions,
        params.source or session.client,
        _receipts_to(session, request_id),
        client=session,
        line_bytes=session.line_bytes,
    )
    return DEFERRED


async def _checked(session: Session, params: Publish) -> Any:
    service, client = session.service, session.client
    finished = anyio.Event()
    outcomes: list[Outcome] = []

    def done(outcome: Outcome) -> None:
        outcomes.append(outcome)
        finished.set()

    service.publishing.publish(
        params.actions, params.source or client, done, client=session, line_bytes=session.line_bytes
    )
    await finished.wait()
    (outcome,) = outcomes
    if isinstance(outcome, WorkspacedError):
        raise outcome
    warnings = await missing_notes(service, params.actions, outcome, client)
    return {"events": outcome, "warnings": warnings, "clock": service.tail.clock(), "durability": "synced"}


def snapshot(session: Session, request_id: RequestId | None, params: Snapshot) -> Any:
    done = _receipts_to(session, request_id)
    session.service.publishing.publish_snapshot(params, done, client=session, line_bytes=session.line_bytes)
    return DEFERRED


def _receipts_to(session: Session, request_id: RequestId | None) -> Done:
    def done(outcome: Outcome) -> None:
        if isinstance(outcome, WorkspacedError):
            session.fail(request_id, outcome)
        else:
            # The log's clock at this answer, which covers at least these events.
            clock = session.service.tail.clock()
            session.answer(request_id, {"events": outcome, "clock": clock, "durability": "synced"})

    return done
