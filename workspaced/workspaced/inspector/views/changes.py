"""What the page changes in a running workspace: levels of agents, pauses, judgements. Through the daemon."""

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from workspaced_events.errors import ActionError, InvalidArgument
from workspaced_events.limits import SHARING_CLIENT_CHARS_MAX
from workspaced_events.projections.workspace_state import Pause
from workspaced_events.schema.catalogue import AnswerJudged, Sharing, Verdict, Volunteering

from ...client.sync_client import connect
from ...limits import PAUSE_S_MAX, PAUSE_S_MIN
from ..inspected import Inspected, NoParameters
from .agents import CLIENT


class SetLevel(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """How much a client is shown, or whether it is told without asking, from now on."""

    client: Annotated[str, Meta(min_length=1, max_length=SHARING_CLIENT_CHARS_MAX)]
    """`*`: every client without a level of its own."""
    level: Sharing | None = None
    volunteering: Volunteering | None = None


class LevelSet(msgspec.Struct, rename="camel"):
    """What holds for the client now."""

    client: str
    level: Sharing
    volunteering: Volunteering


class StartPause(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """A pause from now on."""

    for_s: Annotated[float, Meta(ge=PAUSE_S_MIN, le=PAUSE_S_MAX)] | None = None
    """Seconds until it ends by itself; left out: until it is ended."""


class PauseSet(msgspec.Struct, rename="camel"):
    """The pause that lasts now; null: none."""

    paused: Pause | None


class JudgedParameters(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Of which prompt or call."""

    seq: int


class JudgeParameters(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """What the user says of an answer."""

    seq: int
    verdict: Verdict
    wanted: str | None = None
    why: str | None = None


class Judged(msgspec.Struct, rename="camel"):
    """The last judgement of a prompt or call."""

    event: int | None
    """Its sequence; null: there is none."""
    verdict: Verdict | None = None
    wanted: str = ""
    why: str = ""


def judged(inspected: Inspected, parameters: JudgedParameters) -> Judged:
    """What was said of an answer last."""
    found = None
    for event in inspected.log.events_of(("answer_judged",), after=parameters.seq):
        if event.data.of == parameters.seq:
            found = event
    if found is None:
        return Judged(None)
    data: AnswerJudged = found.data
    return Judged(found.seq, data.verdict, data.wanted or "", data.why or "")


def judge(inspected: Inspected, parameters: JudgeParameters) -> Judged:
    """Judges an answer. Raises as `set_level`."""
    said = {"verdict": parameters.verdict, "wanted": parameters.wanted or None, "why": parameters.why or None}
    seq = _ask(inspected, "workspaced/judge", {"of": parameters.seq, **said})["seq"]
    return Judged(seq, parameters.verdict, parameters.wanted or "", parameters.why or "")


def set_level(inspected: Inspected, parameters: SetLevel) -> LevelSet:
    """Sets levels of a client.

    Raises:
        ActionError, InvalidArgument: as `_ask`, or neither of both is given.
        NoDaemon, RemoteError, TimedOut: the daemon does not do it.
    """
    given = {"level": parameters.level, "volunteering": parameters.volunteering}
    if not any(given.values()):
        raise InvalidArgument("Expected a level or a setting for telling, got neither.")
    params = {"client": parameters.client, **{name: value for name, value in given.items() if value is not None}}
    return msgspec.convert(_ask(inspected, "workspaced/share", params), LevelSet)


def start_pause(inspected: Inspected, parameters: StartPause) -> PauseSet:
    """Pauses the workspace. Raises as `set_level`."""
    params = {} if parameters.for_s is None else {"forS": parameters.for_s}
    return msgspec.convert(_ask(inspected, "workspaced/pause", params), PauseSet)


def end_pause(inspected: Inspected, _parameters: NoParameters) -> PauseSet:
    """Ends a pause. Raises as `set_level`."""
    return msgspec.convert(_ask(inspected, "workspaced/resume", {}), PauseSet)


def _ask(inspected: Inspected, method: str, params: dict[str, Any]) -> Any:
    """
    Raises:
        ActionError: this page may change nothing.
        InvalidArgument: no daemon writes this log.
    """
    if not inspected.may_change:
        raise ActionError(
            "This inspector only reads.",
            hint="Start it with `workspaced inspect --allow-changes`, or use `workspaced share`, "
            "`workspaced pause` and `workspaced judge`.",
            code="NOT_ALLOWED",
        )
    socket = inspected.subject.socket
    if socket is None:
        raise InvalidArgument(
            "No daemon writes this log, so there is nothing to change.",
            hint="Inspect a running daemon: `workspaced inspect --workspace NAME --allow-changes`.",
        )
    with connect(socket, name=CLIENT) as client:
        return client.call(method, params)
