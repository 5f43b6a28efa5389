"""The answer of one call of a tool."""

from collections.abc import Sequence

import msgspec

from workspaced_events.projections.workspace_state import WorkspaceState
from workspaced_tools.errors import ToolError
from workspaced_tools.ports.images import NoteImage
from workspaced_tools.recording.format import Raised, Recording, raised
from workspaced_tools.recording.view_recorder import ViewRecorder
from workspaced_tools.sharing.gate import refusal
from workspaced_tools.tools.tool import Ran, payload_of


class ToolAnswer(msgspec.Struct, frozen=True):
    """An answer: its JSON, whether the call succeeded, and the moment that the answer describes."""

    payload: bytes
    ok: bool
    as_of_seq: int
    tail_seq: int
    now: str
    made_from: ViewRecorder | Raised | Recording
    """The tool's reads; or why no tool ran: an error, or the call of another log whose answer it repeats."""
    images: Sequence[NoteImage] = ()
    """Images that go beside the JSON, which names them in this order."""
    text: msgspec.Raw | None = None
    """The JSON of a string that holds `payload`, if it is kept."""


def answered(ran: Ran, recorder: ViewRecorder, seq: int) -> ToolAnswer:
    """The answer of a tool that ran.

    Args:
        ran: the tool's result.
        recorder: holds the tool's reads.
        seq: the log's last sequence at the call.
    """
    view, result = recorder.view, ran.result
    return ToolAnswer(payload_of(result), result.success, view.as_of_seq, seq, view.now, recorder, ran.images)


def refused(error: ToolError, state: WorkspaceState, seq: int, now: str) -> ToolAnswer:
    """The answer of a call that was refused before a tool ran."""
    return ToolAnswer(payload_of(refusal(error, state.seq)), False, state.seq, seq, now, raised(error))
