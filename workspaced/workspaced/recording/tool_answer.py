"""The answer of one call of a tool."""

from typing import Any

import msgspec

from workspaced_events.projections.workspace_state import WorkspaceState
from workspaced_tools.errors import ToolError
from workspaced_tools.recording.format import Raised, raised
from workspaced_tools.recording.tape import Tape
from workspaced_tools.sharing.gate import refusal
from workspaced_tools.tools.tool import payload_of


class ToolAnswer(msgspec.Struct, frozen=True):
    """What a tool answered: its JSON, whether it is a success, and the moment that it describes."""

    payload: bytes
    ok: bool
    as_of_seq: int
    tail_seq: int
    now: str
    made_from: Tape | Raised
    """What the tool read; or why no tool ran."""


def answered(result: dict[str, Any], tape: Tape, seq: int) -> ToolAnswer:
    """The answer of a tool that ran.

    Args:
        result: of the tool.
        tape: recorded what it read.
        seq: the log's tail then.
    """
    view = tape.view
    return ToolAnswer(payload_of(result), bool(result["success"]), view.as_of_seq, seq, view.now, tape)


def refused(error: ToolError, state: WorkspaceState, seq: int, now: str) -> ToolAnswer:
    """The answer of a call that no tool ran for."""
    return ToolAnswer(payload_of(refusal(error, state.seq)), False, state.seq, seq, now, raised(error))
