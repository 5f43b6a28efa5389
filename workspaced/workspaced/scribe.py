"""`Scribe`: records calls of tools, aside.

An answer never waits for its record. Calls are handed over as they are; a thread of its own takes what has come
together after a moment, keeps results and what they were made from as blobs, and then submits `tool_called`. So an
event never names what is not there, and calls that repeat each other cost a hash.
"""

import hashlib
import logging
import threading
from collections import deque
from collections.abc import Callable
from typing import Any

import msgspec

from workspaced_events.catalogue import ToolCalled
from workspaced_events.served import ServedBlobs
from workspaced_tools.recording import nothing_shared, recorded

from .calls import ToolAnswer
from .limits import SCRIBE_DELAY_S, SCRIBE_WAITING_BYTES_MAX, SCRIBE_WAITING_MAX

logger = logging.getLogger(__name__)


class Call(msgspec.Struct, frozen=True):
    """One call that was answered."""

    tool: str
    caller: str
    arguments: dict[str, Any]
    answer: ToolAnswer
    duration_us: int


class Scribe:
    """One for each daemon. `take` belongs to the event loop's thread."""

    def __init__(self, blobs: ServedBlobs | None, submit: Callable[[ToolCalled], None]) -> None:
        """`blobs`: None keeps none. `submit` may be called on any thread."""
        self._blobs = blobs
        self._submit = submit
        self._waiting: deque[Call] = deque()
        self._taken_bytes = 0
        self._written_bytes = 0
        self._some = threading.Event()
        self._closing = threading.Event()
        self._writing = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="workspaced-scribe", daemon=True)
        self.skipped = 0
        """Calls recorded without what they read, since too much waited."""
        self.problem: str | None = None
        """Why nothing is kept at present."""

    def start(self) -> None:
        """Starts the thread."""
        self._thread.start()

    def take(self, call: Call) -> None:
        """Records a call, soon."""
        waiting_bytes = self._taken_bytes - self._written_bytes
        if len(self._waiting) >= SCRIBE_WAITING_MAX or waiting_bytes > SCRIBE_WAITING_BYTES_MAX:
            self.skipped += 1
            self._submit(_event(call, None))
            return
        self._taken_bytes += len(call.answer.payload)
        self._waiting.append(call)
        if len(self._waiting) == 1:
            self._some.set()

    def flush(self) -> None:
        """Submits what waits; on any thread."""
        with self._writing:
            while self._waiting:
                self._write(self._waiting.popleft())

    def close(self) -> None:
        """Submits what waits, and ends."""
        self._closing.set()
        self._some.set()
        self._thread.join()
        self.flush()

    def _run(self) -> None:
        while not self._closing.is_set():
            self._some.wait()
            self._some.clear()
            self._closing.wait(SCRIBE_DELAY_S)  # more may come, and whoever asked is served first
            self.flush()

    def _write(self, call: Call) -> None:
        self._written_bytes += len(call.answer.payload)
        try:
            inputs = self._keep(call, self._blobs) if self._blobs is not None else None
        except Exception as error:
            inputs = None
            if self.problem is None:
                logger.warning("what agents are shown is not kept: %s", error)
            self.problem = f"What agents are shown is not kept: {error}."
        else:
            self.problem = None
        self._submit(_event(call, inputs))

    def _keep(self, call: Call, blobs: ServedBlobs) -> str:
        tape = call.answer.tape
        inputs = recorded(tape, blobs.keep) if tape is not None else nothing_shared()
        blobs.keep(call.answer.payload)
        return blobs.keep(inputs)


def _event(call: Call, inputs_sha256: str | None) -> ToolCalled:
    answer = call.answer
    return ToolCalled(
        tool=call.tool,
        caller=call.caller,
        arguments=call.arguments,
        as_of_seq=answer.as_of_seq,
        result_sha256=hashlib.sha256(answer.payload).hexdigest(),
        bytes=len(answer.payload),
        duration_us=call.duration_us,
        ok=answer.ok,
        now=answer.now,
        tail_seq=answer.tail_seq,
        inputs_sha256=inputs_sha256,
    )
