"""`workspaced/pause` and `workspaced/resume`."""

from typing import Annotated, Any

from msgspec import Meta

from workspaced_events.errors import WorkspacedError
from workspaced_events.journal.writer import Done, Outcome

from ..ipc.jsonrpc import RequestId
from ..ipc.params import Params
from ..limits import PAUSE_S_MAX, PAUSE_S_MIN
from ..service.method import DEFERRED
from ..service.session import Session


class Pause(Params, frozen=True):
    for_s: Annotated[float, Meta(ge=PAUSE_S_MIN, le=PAUSE_S_MAX)] | None = None
    """After this many seconds the pause ends by itself; None: when it is resumed."""


class Resume(Params, frozen=True):
    pass


def pause(session: Session, request_id: RequestId | None, params: Pause) -> Any:
    session.service.pausing.pause(params.for_s, session.client, _answer_to(session, request_id))
    return DEFERRED


def resume(session: Session, request_id: RequestId | None, _params: Resume) -> Any:
    session.service.pausing.resume(session.client, _answer_to(session, request_id))
    return DEFERRED


def _answer_to(session: Session, request_id: RequestId | None) -> Done:
    def done(outcome: Outcome) -> None:
        service = session.service
        if isinstance(outcome, WorkspacedError):
            session.fail(request_id, outcome)
        else:
            session.answer(request_id, {"paused": service.pausing.paused, "clock": service.tail.clock()})

    return done
