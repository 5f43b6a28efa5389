"""What the user says of an answer: the page shows it, and says it through the daemon."""

import msgspec

from workspaced_events.errors import ActionError, InvalidArgument
from workspaced_events.schema.catalogue import AnswerJudged, Verdict

from ...client.sync_client import connect
from ..inspected import EventParameters, Inspected
from .agents import CLIENT


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


def judged(inspected: Inspected, parameters: EventParameters) -> Judged:
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
    """Judges an answer.

    Raises:
        ActionError: this page may change nothing.
        InvalidArgument: no daemon writes this log.
        NoDaemon, RemoteError, TimedOut: the daemon does not do it.
    """
    if not inspected.may_change:
        raise ActionError(
            "This inspector only reads.",
            hint="Start it with `workspaced inspect --allow-changes`, or use `workspaced judge`.",
            code="NOT_ALLOWED",
        )
    socket = inspected.subject.socket
    if socket is None:
        raise InvalidArgument(
            "No daemon writes this log, so nothing can be added to it.",
            hint="Inspect a running daemon, or judge in a bundle with `workspaced judge`.",
        )
    said = {"verdict": parameters.verdict, "wanted": parameters.wanted or None, "why": parameters.why or None}
    with connect(socket, name=CLIENT) as client:
        seq = client.call("workspaced/judge", {"of": parameters.seq, **said})["seq"]
    return Judged(seq, parameters.verdict, parameters.wanted or "", parameters.why or "")
