"""Methods that publish actions and snapshots of views."""

from typing import Annotated, Any

from msgspec import Meta

from workspaced_events.errors import WorkspacedError
from workspaced_events.journal.view_diff import Snapshot
from workspaced_events.journal.writer import Done, Outcome
from workspaced_events.limits import SOURCE_CHARS_MAX

from ..ipc.jsonrpc import RequestId
from ..ipc.params import Params
from ..service.method import DEFERRED
from ..service.session import Session


class Publish(Params, frozen=True):
    actions: list[Any]
    source: Annotated[str, Meta(min_length=1, max_length=SOURCE_CHARS_MAX)] | None = None


def publish(session: Session, request_id: RequestId | None, params: Publish) -> Any:
    session.service.publishing.publish(
        params.actions,
        params.source or session.client,
        _receipts_to(session, request_id),
        client=session,
        line_bytes=session.line_bytes,
    )
    return DEFERRED


def snapshot(session: Session, request_id: RequestId | None, params: Snapshot) -> Any:
    done = _receipts_to(session, request_id)
    session.service.publishing.publish_snapshot(params, done, client=session, line_bytes=session.line_bytes)
    return DEFERRED


def _receipts_to(session: Session, request_id: RequestId | None) -> Done:
    def done(outcome: Outcome) -> None:
        if isinstance(outcome, WorkspacedError):
            session.fail(request_id, outcome)
        else:
            # HEAD of the log at this answer: it covers at least these events.
            clock = session.service.tail.clock()
            session.answer(request_id, {"events": outcome, "clock": clock, "durability": "synced"})

    return done
