"""`traceparent`, by which a client names the span that its call or prompt is a part of (W3C Trace Context)."""

import re
from typing import Final, NamedTuple

_FORM: Final = re.compile(r"(?!ff)([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-[!-~]{0,256})?")
"""Later versions may have more behind the flags."""


class Parent(NamedTuple):
    """The span of a client."""

    trace_id: int
    span_id: int
    is_sampled: bool
    """Whether the client sends its own spans of this trace; if not, ours would have no parent there."""


def parent_of(traceparent: str | None) -> Parent | None:
    """The span that a `traceparent` names; None: it names none."""
    found = _FORM.fullmatch(traceparent) if traceparent is not None else None
    if found is None or (found[1] == "00" and found[5] is not None):
        return None
    trace_id, span_id = int(found[2], 16), int(found[3], 16)
    return Parent(trace_id, span_id, bool(int(found[4], 16) & 1)) if trace_id and span_id else None


class Parents:
    """Takes what clients send as `traceparent`. One for each daemon."""

    def __init__(self) -> None:
        self.ignored = 0
        """How many since the daemon started named no span."""

    def taken(self, told: object) -> str | None:
        """The `traceparent` to record. One of nonsense is counted; the call goes on without it."""
        if told is None:
            return None
        if isinstance(told, str) and parent_of(told) is not None:
            return told
        self.ignored += 1
        return None
