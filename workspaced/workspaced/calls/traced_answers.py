"""`TracedAnswers`: answers kept with the questions they rest on, and given again while those are answered so.

A tool sees the world only through its View. So the same call over an equal View, with the same answer to every
question that the tool asked, has the same result. Nothing is invalidated: each question is asked anew, in the
tool's order and through the new call's View, so the call reads what the tool would read and is recorded like any
other. The first other answer ends the attempt.
"""

import threading
from collections import OrderedDict
from typing import Any, Final, NamedTuple

import msgspec

from workspaced_events.clock import microseconds
from workspaced_events.projections.workspace_fold import same_tabs_us
from workspaced_events.projections.workspace_state import WorkspaceState
from workspaced_tools.ports.view import View
from workspaced_tools.recording.view_recorder import ViewRecorder, is_same
from workspaced_tools.tools.tool import Tool, run_call

from ..limits import TRACES_BYTES_MAX, TRACES_MAX
from ..recording.call_recorder import ToolAnswer, answered

_OVERHEAD_BYTES: Final = 8_192
"""Of a trace without its answer and its texts."""
_ENCODER: Final = msgspec.json.Encoder()
_Key = tuple[str, bytes]
"""A tool's name, and the JSON of the arguments."""


class _Trace(NamedTuple):
    """An answer and what it rests on."""

    answer: ToolAnswer
    recorder: ViewRecorder
    times_us: range
    """The times at which the tool would see the same tabs."""
    size_bytes: int


class TracedAnswers:
    """Answers kept with the questions they rest on, and given again while those are answered so.

    A tool sees the world only through its View. So the same call over an equal View, with the same answer to every
    question that the tool asked, has the same result. Nothing is invalidated: each question is asked anew, in the
    tool's order and through the new call's View, so the call reads what the tool would read and is recorded like
    any other. The first other answer ends the attempt.

    One for each daemon, safe from any thread. Keeps answers about one state: those about another state differ at
    least in their `asOfSeq`.
    """

    def __init__(self, bytes_max: int = TRACES_BYTES_MAX) -> None:
        self._bytes_max = bytes_max
        self._lock = threading.Lock()
        self._state: WorkspaceState | None = None
        self._traces: OrderedDict[_Key, _Trace] = OrderedDict()
        self.size_bytes = 0

    def answer(
        self, tool: Tool[Any], arguments: dict[str, Any], view: View, full: WorkspaceState, seq: int
    ) -> ToolAnswer:
        """The tool's answer over `view`.

        Args:
            full: the state before the gate left out what the client may not see.
            seq: the log's last sequence.

        Raises:
            WouldBlock: from the view's vault.
        """
        if not tool.is_timeless or view.sharing != "all":
            recorder = ViewRecorder(view, full)
            return answered(run_call(tool, recorder.view, arguments), recorder, seq)
        key = tool.name, _ENCODER.encode(arguments)
        with self._lock:
            trace = self._traces.get(key) if self._state is full else None
            if trace is not None:
                self._traces.move_to_end(key)
        recorder = ViewRecorder(view, full)
        if trace is not None and _holds(trace, recorder):
            return msgspec.structs.replace(trace.answer, tail_seq=seq, now=view.now, made_from=recorder)
        recorder = ViewRecorder(view, full, recorder.exchanges)
        answer = answered(run_call(tool, recorder.view, arguments), recorder, seq)
        if not answer.ok or not all(is_same(asked, given, given) for asked, given in recorder.exchanges):
            return answer  # of what cannot be compared, asking again can never tell that it is the same
        answer = msgspec.structs.replace(answer, text=msgspec.Raw(_ENCODER.encode(answer.payload.decode())))
        self._keep(key, answer, recorder)
        return answer

    def _keep(self, key: _Key, answer: ToolAnswer, recorder: ViewRecorder) -> None:
        view = recorder.view
        times_us = same_tabs_us(view.vault_state, view.now, view.state.clock_steps)
        size = _OVERHEAD_BYTES + 2 * len(answer.payload) + recorder.texts_bytes()
        with self._lock:
            if self._state is not recorder.full:
                self._state = recorder.full
                self._traces.clear()
                self.size_bytes = 0
            if (former := self._traces.pop(key, None)) is not None:
                self.size_bytes -= former.size_bytes
            self._traces[key] = _Trace(answer, recorder, times_us, size)
            self.size_bytes += size
            while self.size_bytes > self._bytes_max or len(self._traces) > TRACES_MAX:
                self.size_bytes -= self._traces.popitem(last=False)[1].size_bytes


def _is_same_view(one: View, other: View) -> bool:
    """Whether a tool that neither asks nor looks at the time sees the same in both."""
    if one.served is not other.served or one.withheld != other.withheld or one.also_at != other.also_at:
        return False
    return one.state is other.state or one.state == other.state


def _holds(trace: _Trace, recorder: ViewRecorder) -> bool:
    """Whether the tool would read over the recorder's view what it read for `trace`. Asks through the recorder."""
    former, view = trace.recorder, recorder.view
    if microseconds(view.now) not in trace.times_us or not _is_same_view(view, former.view):
        return False
    try:
        return all(is_same(question, view.vault.ask(question), given) for question, given in former.exchanges)
    except Exception:
        return False
