"""`ToolAnswer`: the answer of one call of a tool; `CallRecorder`: records calls on its own thread; `Sweeper`:
removes recordings beyond their bounds.

An answer never waits for its record. `record` only queues a call. After a short delay the thread takes all queued
calls, stores their results and recordings as blobs, and then submits `tool_called`. So an event never names a blob
that was not stored, and a repeated call costs only a hash.
"""

import hashlib
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

import msgspec
from msgspec.structs import replace

from workspaced_events.blobs.evictable import EvictableBlobStore, Swept
from workspaced_events.projections.workspace_state import WorkspaceState
from workspaced_events.schema.catalogue import ContextInserted, ContextVolunteered, ToolCalled
from workspaced_tools.errors import ToolError
from workspaced_tools.ports.vault import NoteImage
from workspaced_tools.recording.format import Raised, Recording, raised
from workspaced_tools.recording.format import refused as recorded_refusal
from workspaced_tools.recording.view_recorder import ViewRecorder, recorded
from workspaced_tools.sharing.gate import refusal
from workspaced_tools.tools.tool import ANSWER_VERSION, Ran, payload_of
from workspaced_tools.volunteering.tool import text_told

from ..limits import (
    ARGUMENTS_INLINE_BYTES_MAX,
    CALL_RECORDER_DELAY_S,
    CALL_RECORDER_WAITING_BYTES_MAX,
    CALL_RECORDER_WAITING_MAX,
    SWEEP_INTERVAL_S,
)

_CALL_RECORDER_HURRY: Final = 500
"""With so many calls queued, the recorder makes no more pauses."""
_CALL_RECORDER_PAUSE_S: Final = 0.03
_CALL_RECORDER_SLICE_S: Final = 0.002
logger = logging.getLogger(__name__)

_LASTS_MAX: Final = 64
_LAST_BYTES_MAX: Final = 512 * 1024
"""Longest texts of one remembered recording."""
_LASTS_BYTES_MAX: Final = 4 * 1024 * 1024
"""Total texts of all remembered recordings."""
_LAST_S: Final = 60.0
"""How long a remembered recording is used without being stored again: later a sweep may have removed it."""


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


class VolunteeredTo(msgspec.Struct, frozen=True):
    """What `context_volunteered` says beside the call."""

    session: str
    event: str
    from_seq: int | None


class Inserted(VolunteeredTo, frozen=True):
    """What `context_inserted` says beside the call."""

    near: str
    insertion: str
    after: str | None


class Call(msgspec.Struct, frozen=True):
    """One answered call."""

    tool: str
    caller: str
    arguments: dict[str, Any]
    answer: ToolAnswer
    duration_us: int
    volunteered: VolunteeredTo | None = None
    """Set if nobody called: the answer was told without asking."""
    traceparent: str | None = None
    """The client's span that it is a part of."""


class _Waiting(NamedTuple):
    call: Call
    arguments: bytes
    """JSON of the call's arguments."""
    size_bytes: int
    """Memory that the call occupies, counting only parts whose size the client decides."""


def _waiting(call: Call) -> _Waiting:
    if call.answer.text is not None:  # or the queue would hold each answer twice
        call = replace(call, answer=replace(call.answer, text=None))
    arguments = msgspec.json.encode(call.arguments)
    made_from = call.answer.made_from
    texts_bytes = made_from.texts_bytes(new=True) if isinstance(made_from, ViewRecorder) else 0
    return _Waiting(call, arguments, len(arguments) + len(call.answer.payload) + texts_bytes)


class CallRecorder:
    """One for each daemon. `record` belongs to the event loop's thread."""

    def __init__(self, blobs: EvictableBlobStore | None, submit: Callable[[ToolCalled], None]) -> None:
        """`blobs`: None stores no results and recordings. `submit` may be called on any thread."""
        self._blobs = blobs
        self._submit = submit
        self._waiting: deque[_Waiting] = deque()
        self._taken_bytes = 0
        self._written_bytes = 0
        self._some = threading.Event()
        self._closing = threading.Event()
        self._writing = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="workspaced-calls", daemon=True)
        self._lasts: dict[tuple[str, str], tuple[ViewRecorder, str, float]] = {}
        """By an answer's hash and the caller: the latest reads that gave this answer, their recording's hash, and
        when it was stored."""
        self._lasts_bytes = 0
        self.skipped = 0
        """Number of calls recorded without their reads, because the queue was full."""
        self.problem: str | None = None
        """Why blobs cannot be stored at present."""

    def start(self) -> None:
        """Starts the thread."""
        self._thread.start()

    def record(self, call: Call) -> None:
        """Queues a call. If the queue is full, records the call at once without its reads."""
        waiting = _waiting(call)
        waiting_bytes = self._taken_bytes - self._written_bytes
        if len(self._waiting) >= CALL_RECORDER_WAITING_MAX or waiting_bytes > CALL_RECORDER_WAITING_BYTES_MAX:
            self.skipped += 1
            self._submit(_event(waiting, None))
            return
        self._taken_bytes += waiting.size_bytes
        self._waiting.append(waiting)
        if len(self._waiting) == 1:
            self._some.set()

    def flush(self) -> None:
        """Submits all queued calls. On any thread."""
        with self._writing:
            while self._waiting:
                self._write(self._waiting.popleft())

    def close(self) -> None:
        """Ends the thread and submits all queued calls."""
        self._closing.set()
        self._some.set()
        self._thread.join()
        self.flush()

    def _run(self) -> None:
        while not self._closing.is_set():
            self._some.wait()
            self._some.clear()
            self._closing.wait(CALL_RECORDER_DELAY_S)  # for more calls, and so that answers are sent first
            while self._waiting and not self._closing.is_set():
                until = time.monotonic() + _CALL_RECORDER_SLICE_S
                with self._writing:
                    while self._waiting and time.monotonic() < until:
                        self._write(self._waiting.popleft())
                if len(self._waiting) < _CALL_RECORDER_HURRY:
                    # Answering new calls is more urgent than recording old ones.
                    self._closing.wait(_CALL_RECORDER_PAUSE_S)

    def _write(self, waiting: _Waiting) -> None:
        self._written_bytes += waiting.size_bytes
        try:
            inputs = self._keep(waiting, self._blobs) if self._blobs is not None else None
        except Exception as error:
            inputs = None
            if self.problem is None:
                logger.warning("what agents are shown is not kept: %s", error)
            self.problem = f"What agents are shown is not kept: {error}."
        else:
            self.problem = None
        self._submit(_event(waiting, inputs))

    def _keep(self, waiting: _Waiting, blobs: EvictableBlobStore) -> str:
        answer, caller = waiting.call.answer, waiting.call.caller
        made_from = answer.made_from
        if len(waiting.arguments) > ARGUMENTS_INLINE_BYTES_MAX:
            blobs.keep(waiting.arguments)
        result = blobs.keep(answer.payload)
        if isinstance(made_from, Recording):
            return blobs.keep(msgspec.json.encode(made_from))
        if not isinstance(made_from, ViewRecorder):
            return blobs.keep(recorded_refusal(made_from, caller))
        last = self._lasts.get((result, caller))
        if last is not None and made_from.repeats(last[0]) and time.monotonic() - last[2] < _LAST_S:
            return last[1]
        inputs = blobs.keep(recorded(made_from, caller, blobs.keep))
        self._remember((result, caller), made_from, inputs)
        return inputs

    def _remember(self, key: tuple[str, str], made_from: ViewRecorder, inputs: str) -> None:
        size = made_from.texts_bytes()
        if len(self._lasts) >= _LASTS_MAX or self._lasts_bytes + size > _LASTS_BYTES_MAX:
            self._lasts.clear()
            self._lasts_bytes = 0
        if size <= _LAST_BYTES_MAX:
            self._lasts[key] = made_from, inputs, time.monotonic()
            self._lasts_bytes += size


def _event(waiting: _Waiting, inputs_sha256: str | None) -> ToolCalled:
    call, answer = waiting.call, waiting.call.answer
    long = len(waiting.arguments) > ARGUMENTS_INLINE_BYTES_MAX
    to, given = call.volunteered, answer.payload
    make: Callable[..., ToolCalled] = ToolCalled
    if to is not None:
        given = text_told(call.tool, answer.payload)
        data = ContextInserted if isinstance(to, Inserted) else ContextVolunteered
        make = partial(data, **msgspec.structs.asdict(to), text_sha256=hashlib.sha256(given).hexdigest())
    return make(
        tool=call.tool,
        caller=call.caller,
        arguments={} if long else call.arguments,
        as_of_seq=answer.as_of_seq,
        result_sha256=hashlib.sha256(answer.payload).hexdigest(),
        bytes=len(given),
        duration_us=call.duration_us,
        ok=answer.ok,
        now=answer.now,
        tail_seq=answer.tail_seq,
        inputs_sha256=inputs_sha256,
        arguments_sha256=hashlib.sha256(waiting.arguments).hexdigest() if long else None,
        answer_version=ANSWER_VERSION,
        traceparent=call.traceparent,
    )


_SWEEP_CHECK_S: Final = 60.0
"""How often it is looked whether a sweep is due."""
_WRITTEN_SHARE: Final = 8
"""A sweep is due once a share of 1/8 of the allowed bytes was written."""


class Sweeper:
    """Removes recordings beyond their bounds in size and age while a daemon runs, on its own thread.

    It sweeps at the start, then every hour, and earlier after many writes. So the disk space that a client can
    cause is bounded, no matter how fast it calls. One for each daemon.
    """

    def __init__(self, blobs: EvictableBlobStore, bytes_max: int, days_max: float) -> None:
        self.blobs = blobs
        self.problem: str | None = None
        """Why the latest sweep failed."""
        self._bytes_max = bytes_max
        self._days_max = days_max
        self._due_at = 0.0
        self._found = Swept(0, 0, 0, 0)
        self._written_before = (0, 0)
        """Blobs and bytes that `blobs` had written before the latest sweep."""
        self._closing = threading.Event()

    def start(self) -> None:
        """Starts the thread."""
        threading.Thread(target=self._run, name="workspaced-sweeper", daemon=True).start()

    def close(self) -> None:
        """Ends the thread, without waiting for a running sweep."""
        self._closing.set()

    def _run(self) -> None:
        while not self._closing.is_set():
            self.turn()
            self._closing.wait(_SWEEP_CHECK_S)

    def turn(self) -> None:
        """Sweeps if a sweep is due. Blocks. A failure sets `problem` and raises nothing."""
        written_bytes = self.blobs.written_bytes - self._written_before[1]
        if time.monotonic() < self._due_at and written_bytes <= self._bytes_max // _WRITTEN_SHARE:
            return
        self._due_at = time.monotonic() + SWEEP_INTERVAL_S
        before = (self.blobs.written, self.blobs.written_bytes)
        try:
            found = self.blobs.sweep(self._bytes_max, self._days_max)
        except OSError as error:
            if self.problem is None:
                logger.warning("what agents were shown is not swept: %s", error)
            self.problem = f"What agents were shown is not swept: {error.strerror}."
        else:
            self.problem = None
            self._found, self._written_before = found, before

    def status(self) -> dict[str, Any]:
        """Number and bytes of stored blobs: left by the latest sweep, plus written since."""
        written, written_bytes = self._written_before
        return {
            "kept": self._found.kept + self.blobs.written - written,
            "keptBytes": self._found.kept_bytes + self.blobs.written_bytes - written_bytes,
        }
