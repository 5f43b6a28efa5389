"""Methods that publish actions and snapshots of views."""

from collections.abc import Sequence
from typing import Annotated, Any, Final

import anyio
import msgspec
from msgspec import Meta

from workspaced_events.errors import WorkspacedError
from workspaced_events.ids import COMPONENT_BYTES_MAX
from workspaced_events.journal.submissions import Outcome, Receipt
from workspaced_events.journal.view_diff import Snapshot, without_long_paths
from workspaced_events.limits import NOTE_ID_CHARS_MAX, SOURCE_CHARS_MAX

from ..ipc.jsonrpc import RequestId
from ..ipc.params import Params
from ..journal.publishing import Published
from ..service.method import DEFERRED
from ..service.service import Service
from ..service.session import Session
from .missing_notes import missing_notes

_TOO_LONG: Final = (
    f"Its path is too long in NFC: at most {NOTE_ID_CHARS_MAX} characters, {COMPONENT_BYTES_MAX} bytes for "
    "one name. Rename the file; until then it is not recorded."
)


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
    outcomes: list[tuple[Outcome, bool]] = []

    def done(outcome: Outcome, is_held: bool) -> None:
        outcomes.append((outcome, is_held))
        finished.set()

    service.publishing.publish(
        params.actions, params.source or client, done, client=session, line_bytes=session.line_bytes
    )
    await finished.wait()
    [(outcome, is_held)] = outcomes
    if isinstance(outcome, WorkspacedError):
        raise outcome
    warnings = await missing_notes(service, params.actions, outcome, client) if not is_held else []
    return {**_receipts(service, outcome, is_held), "warnings": warnings}


class LeftOut(msgspec.Struct, frozen=True):
    """A note of a snapshot that is not recorded."""

    note: str
    message: str


def snapshot(session: Session, request_id: RequestId | None, params: Snapshot) -> Any:
    is_empty = params.active is None and not params.tabs and not params.pins
    session.service.views.shown(params.source, session, params.vault, is_empty=is_empty)
    kept, long = without_long_paths(params)
    done = _receipts_to(session, request_id, [LeftOut(note, _TOO_LONG) for note in long])
    session.service.publishing.publish_snapshot(
        kept, done, inferred=session.inferred, client=session, line_bytes=session.line_bytes
    )
    return DEFERRED


def _receipts_to(session: Session, request_id: RequestId | None, left_out: Sequence[LeftOut] = ()) -> Published:
    def done(outcome: Outcome, is_held: bool) -> None:
        if isinstance(outcome, WorkspacedError):
            session.fail(request_id, outcome)
        else:
            warnings = {"warnings": left_out} if left_out else {}
            session.answer(request_id, {**_receipts(session.service, outcome, is_held), **warnings})

    return done


def _receipts(service: Service, receipts: list[Receipt], is_held: bool) -> dict[str, Any]:
    # The log's clock at this answer, which covers at least these events.
    answer = {"events": receipts, "clock": service.tail.clock(), "durability": "none" if is_held else "synced"}
    return {**answer, "paused": True} if is_held else answer
