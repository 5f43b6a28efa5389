"""How a call differs: from its replay by this program, or from another call."""

import difflib
import time
from typing import Final

import msgspec

from workspaced_events.errors import InvalidArgument
from workspaced_events.projections.state_diff import changes, lines
from workspaced_events.projections.workspace_state import StateJson, to_json
from workspaced_events.schema.catalogue import ToolCalled
from workspaced_tools.recording.call_diff import compared, readable_json
from workspaced_tools.replay.verify import Outcome

from ...inspected import Inspected
from .call import CallParameters, call_at

DIFF_LINES_MAX: Final = 4_000
_COMPARED_BYTES_MAX: Final = 2_000_000
"""Of two answers together; finding the difference of longer ones takes too long."""


class Badge(msgspec.Struct, rename="camel"):
    """Whether this program gives the same answer to what the call read then."""

    outcome: Outcome
    why: str
    """Why there is nothing to compare."""
    differs: str | None
    """`answer`, or a field of the event."""
    difference: list[str]
    """A unified diff from the recorded answer to the replay's, at most 4,000 lines; empty if not to be shown."""
    took_us: int
    """The replay, with finding its moment."""


class PairParameters(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Which two calls."""

    seq: int
    other: int


class Pair(msgspec.Struct, rename="camel"):
    """How the second call differs from the first, as lines for people. An empty list: not at all."""

    same: bool
    call: list[str]
    """Tool, client, arguments."""
    state: list[str]
    inputs: list[str]
    """What they read."""
    answer: list[str]
    """A unified diff of the answers; at most 4,000 lines."""
    lines_left_out: int


def badge(inspected: Inspected, parameters: CallParameters) -> Badge:
    """Replays the call.

    Raises:
        InvalidArgument: there is no such call.
    """
    call_at(inspected, parameters.seq)
    begun = time.perf_counter_ns()
    made = inspected.log.call(parameters.seq).verify()
    took_us = (time.perf_counter_ns() - begun) // 1_000
    difference: list[str] = []
    if made.served is not None and made.answered is not None and made.served != made.answered:
        difference = _diff(made.served, made.answered)[:DIFF_LINES_MAX]
    return Badge(made.outcome, made.why, made.differs, difference, took_us)


def _diff(served: bytes, answered: bytes) -> list[str]:
    if len(served) + len(answered) > _COMPARED_BYTES_MAX:
        return []
    old, new = readable_json(served), readable_json(answered)
    return list(difflib.unified_diff(old, new, "recorded", "replayed", lineterm=""))


def pair(inspected: Inspected, parameters: PairParameters) -> Pair:
    """Compares two calls, as `workspaced calls diff`.

    Raises:
        InvalidArgument: there is no such call, or the answers are too long to compare.
        NotRecorded: the answers differ, and one of them is not kept.
    """
    first, second = (call_at(inspected, seq) for seq in (parameters.seq, parameters.other))
    size = sum(len((each.result or "").encode()) for each in (first, second))
    if first.result != second.result and size > _COMPARED_BYTES_MAX:
        raise InvalidArgument(
            f"The two answers have {size} bytes; at most {_COMPARED_BYTES_MAX} are compared here.",
            hint=f"`workspaced calls diff {parameters.seq} {parameters.other}` has no limit.",
        )
    found = compared(first, second)
    state = _state_changes(inspected, first.event.data, second.event.data)
    same = not (found.call or found.inputs or found.answer or state)
    left_out = max(0, len(found.answer) - DIFF_LINES_MAX)
    return Pair(same, found.call, state, found.inputs, found.answer[:DIFF_LINES_MAX], left_out)


def _state_changes(inspected: Inspected, first: ToolCalled, second: ToolCalled) -> list[str]:
    if first.as_of_seq == second.as_of_seq:
        return []
    before, after = (_state(inspected, each.as_of_seq) for each in (first, second))
    if before is None or after is None:
        return ["The state that one of them saw is not in this log."]
    return lines(changes(before, after))


def _state(inspected: Inspected, seq: int) -> StateJson | None:
    try:
        return to_json(inspected.log.at(seq).state)
    except InvalidArgument:
        return None
