"""What the user said of an answer."""

import msgspec

from workspaced_events.schema.catalogue import AnswerJudged, Verdict

from ..inspected import Inspected


class JudgedParameters(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Of which prompt or call."""

    seq: int


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
