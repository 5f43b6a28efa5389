"""Methods about the daemon itself: greeting, status, reconciling, pausing, shutting down."""

from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from workspaced_events.errors import WorkspacedError
from workspaced_events.journal.submissions import Done, Outcome
from workspaced_events.limits import BATCH_ACTIONS_MAX, BATCH_BYTES_MAX
from workspaced_tools.tools.registry import ToolSet

from ..__about__ import __version__
from ..discovery.records import remember_stop
from ..ipc.jsonrpc import RequestId
from ..ipc.params import Params
from ..limits import (
    ANSWER_BYTES_MAX,
    CLIENT_NAME_CHARS_MAX,
    IN_FLIGHT_MAX,
    PAUSE_S_MAX,
    PAUSE_S_MIN,
    REQUEST_BYTES_MAX,
)
from ..service import upkeep
from ..service.service import Service
from ..service.session import DEFERRED, Method, Session
from ..service.status import status as daemon_status

ClientName = Annotated[str, Meta(min_length=1, max_length=CLIENT_NAME_CHARS_MAX)]


class ClientInfo(msgspec.Struct, frozen=True):
    name: ClientName = "unknown"
    version: str = ""
    pid: int | None = None


class Hello(msgspec.Struct, frozen=True):
    """Unknown fields are ignored: a newer client may say more about itself."""

    client: ClientInfo = ClientInfo()
    tools: ToolSet | None = None
    """The tools that `tools/list` shows from now on; None: as before, at first all."""
    inferred: bool = False
    """Whether the snapshots of this connection are inferred: the client does not know what the user looks at."""


class Nothing(Params, frozen=True):
    pass


def hello(session: Session, _id: RequestId | None, params: Hello) -> Any:
    session.client, session.inferred = params.client.name, params.inferred
    choose_tools(session, params)
    return facts(session.service)


def choose_tools(session: Session, params: Hello) -> None:
    """Applies the choice of tools, if the client makes one."""
    if params.tools is not None:
        session.tools = params.tools


def facts(service: Service) -> dict[str, Any]:
    """The result of `workspaced/hello`: version, vaults, limits, clock."""
    return {
        "version": __version__,
        "instance": service.instance,
        "workspace": service.workspace,
        "vaults": [{"id": each.id, "path": str(each.path)} for each in service.served.values()],
        "limits": {
            "requestBytes": REQUEST_BYTES_MAX,
            "answerBytes": ANSWER_BYTES_MAX,
            "batchActions": BATCH_ACTIONS_MAX,
            "batchBytes": BATCH_BYTES_MAX,
            "inFlight": IN_FLIGHT_MAX,
        },
        "paused": service.pausing.paused,
        "clock": service.tail.clock(),
    }


def status(session: Session, _id: RequestId | None, _params: Nothing) -> Any:
    return daemon_status(session.service)


async def reconcile(session: Session, _id: RequestId | None, _params: Nothing) -> Any:
    await upkeep.reconcile(session.service)
    return {"vaults": daemon_status(session.service)["vaults"], "clock": session.service.tail.clock()}


def shutdown(session: Session, _id: RequestId | None, _params: Nothing) -> Any:
    remember_stop(session.service.workspace)
    session.service.stop("workspaced/shutdown")
    return {}


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


METHODS: Final = {
    "workspaced/hello": Method(Hello, hello, works_paused=True),
    "workspaced/status": Method(Nothing, status, works_paused=True),
    "workspaced/reconcile": Method(Nothing, reconcile, works_paused=True),
    "workspaced/pause": Method(Pause, pause, works_paused=True, writes=True),
    "workspaced/resume": Method(Resume, resume, works_paused=True, writes=True),
    "workspaced/shutdown": Method(Nothing, shutdown, works_paused=True),
}
