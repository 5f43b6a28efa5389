"""`LogTail`: the present state, the latest events, and a signal for each change of them."""

import itertools
import logging
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from contextvars import copy_context
from typing import TYPE_CHECKING, Final

import anyio
from pyee import EventEmitter

from workspaced_events.journal.writer import Committed, LogWriter
from workspaced_events.limits import SLOW_SYNC_S
from workspaced_events.log.segments import SegmentLog
from workspaced_events.projections.workspace_state import WorkspaceState
from workspaced_events.schema.catalogue import Event

from ..errors import TimedOut
from ..limits import CATCH_UPS_MAX, MIN_SEQ_WAIT_S, RECENT_EVENTS

if TYPE_CHECKING:
    import asyncio

logger = logging.getLogger(__name__)

COMMITTED: Final = "committed"
"""Events were committed. Signals carry no data; listeners read the events themselves."""
NOTES_MOVED: Final = "notes-moved"
"""Notes of a vault were added, removed or changed. Events exist only for the workspace's notes."""


class LogTail:
    """Belongs to the loop's thread, except `deliver`."""

    def __init__(
        self,
        writer: LogWriter,
        log: SegmentLog,
        loop: "asyncio.AbstractEventLoop",
        on_events: Callable[[Sequence[Event]], object],
    ) -> None:
        """`on_events` is called with every group of committed events, before publishers and listeners."""
        self.log = log
        self.signals = EventEmitter()
        self.catching_up = anyio.Semaphore(CATCH_UPS_MAX)
        """Bounds the subscribers that read the log at a time."""
        self._writer = writer
        self._on_events = on_events
        self._recent: deque[Event] = deque(maxlen=RECENT_EVENTS)
        self._slow_syncs_warned = 0
        self._loop = loop
        # An outcome's callback may start anyio tasks, and anyio finds its loop in the context.
        self._context = copy_context()

    @property
    def state(self) -> WorkspaceState:
        """The fold of all acknowledged events."""
        return self._writer.state

    @property
    def seq(self) -> int:
        """The last synced sequence."""
        return self.log.tail.seq

    def clock(self) -> str:
        """The log's present clock, `<log id>:<seq>`."""
        return f"{self.log.log_id}:{self.seq}"

    def deliver(self, committed: Committed) -> None:
        """Passes a group's outcomes from the writer's thread to the loop, in one callback."""
        with suppress(RuntimeError):  # the loop has ended, and the connections with it
            self._loop.call_soon_threadsafe(self._committed, committed, context=self._context)

    def _committed(self, committed: Committed) -> None:
        if self._writer.slow_syncs > self._slow_syncs_warned:
            self._slow_syncs_warned = self._writer.slow_syncs
            logger.warning("the disk is slow: a sync of the log took more than %g s", SLOW_SYNC_S)
        self._recent.extend(committed.events)
        self._on_events(committed.events)
        for done, outcome in committed.outcomes:
            done(outcome)
        if committed.events:
            self.signals.emit(COMMITTED)

    def events_from(self, first: int) -> list[Event] | None:
        """The events from `first` on; None if memory does not hold them all, so that the log must be read."""
        if first > self.seq:
            return []
        if not self._recent or self._recent[0].seq > first:
            return None
        return list(itertools.islice(self._recent, first - self._recent[0].seq, None))

    async def reached(self, min_seq: int) -> None:
        """Waits until the log holds `min_seq`.

        Raises:
            TimedOut: it does not within MIN_SEQ_WAIT_S.
        """
        if self.seq >= min_seq:
            return
        moved = anyio.Event()

        def check() -> None:
            if self.seq >= min_seq:
                moved.set()

        self.signals.on(COMMITTED, check)
        try:
            with anyio.move_on_after(MIN_SEQ_WAIT_S):
                await moved.wait()
        finally:
            self.signals.remove_listener(COMMITTED, check)
        if not moved.is_set():
            raise TimedOut(
                f"Sequence {min_seq} was not reached within {MIN_SEQ_WAIT_S} s; the log is at {self.seq}.",
                hint="Give the sequence of an acknowledged event of this log.",
                seq=self.seq,
            )
