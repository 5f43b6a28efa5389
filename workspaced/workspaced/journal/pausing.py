"""`Pausing`: begins and ends pauses, each of which is an event.

The state tells whether the workspace is paused: `check_not_paused` asks it for calls and methods, `admit` for
whatever is appended. So nothing needs to be told that a pause began, and a restart changes nothing.
"""

import logging
from contextlib import suppress
from typing import Final

import anyio
from msgspec.structs import replace

from workspaced_events.clock import event_time, microseconds
from workspaced_events.errors import Busy, WorkspacedError
from workspaced_events.journal.actions import Action, Planned
from workspaced_events.journal.submissions import Done, Outcome
from workspaced_events.journal.writer import OWN_SOURCE, LogWriter
from workspaced_events.projections.workspace_state import Pause
from workspaced_events.schema import catalogue as c

from ..limits import STEP_S
from .publishing import Publishing

logger = logging.getLogger(__name__)

_US: Final = 1_000_000


class Pausing:
    """One for each daemon. Belongs to the loop's thread."""

    def __init__(self, writer: LogWriter, publishing: Publishing) -> None:
        self._writer = writer
        self._publishing = publishing
        self._begun = anyio.Event()
        self._problem = ""
        """Why the end of a pause was not recorded; logged once."""

    @property
    def paused(self) -> Pause | None:
        """The present pause."""
        return self._writer.state.paused

    def pause(self, for_s: float | None, source: str, done: Done) -> None:
        """Pauses the workspace for `for_s` seconds, or until it is resumed; in a pause, replaces its end. `source`
        says in the log who did it.

        It is queued at once, so what was published before is appended, and nothing that is published later. `done`
        is called on the loop.

        Raises:
            Busy: the queue before the disk is full.
        """
        until = None
        if for_s is not None:
            until = event_time((microseconds(self._writer.now()) + round(for_s * _US)) * 1_000)

        def plan(now: Planned) -> list[Action]:
            is_so = now.state.paused is not None and now.state.paused.until == until
            return [] if is_so else [Action(c.PauseStarted(until))]

        def told(outcome: Outcome) -> None:
            begun, self._begun = self._begun, anyio.Event()
            begun.set()
            done(outcome)

        self._writer.submit(plan, source, told)

    def resume(self, source: str, done: Done) -> None:
        """Ends the pause, and appends what publishers changed on balance meanwhile. Without a pause does nothing.
        It is queued at once; `done` is called on the loop. `source` says in the log who did it.

        Raises:
            Busy: the queue before the disk is full.
        """

        def plan(now: Planned) -> list[Action]:
            ended = self._publishing.pause_buffer.ended(now, OWN_SOURCE)
            return [replace(each, source=source) if type(each.data) is c.PauseEnded else each for each in ended]

        def told(outcome: Outcome) -> None:
            if not isinstance(outcome, WorkspacedError):
                with suppress(Busy):  # the memory is freed at the end of the next pause
                    self._writer.submit(self._forgotten, OWN_SOURCE, lambda _outcome: None)
            done(outcome)

        self._writer.submit(plan, OWN_SOURCE, told)

    async def end_if_due(self) -> None:
        """Ends the pause if its time is over."""
        if self._left_s() > 0:
            return
        try:
            await self._publishing.record(self._ended_if_due)
            await self._publishing.record(self._forgotten)
        except WorkspacedError as error:
            if str(error) != self._problem:
                logger.warning("the end of the pause is not recorded yet: %s", error)
            self._problem = str(error)

    async def run(self) -> None:
        """Ends each pause when its time is over, until cancelled."""
        while True:
            begun, left_s = self._begun, self._left_s()
            # In short steps: a machine that slept, or a clock that was set, is noticed.
            with anyio.move_on_after(min(left_s, STEP_S) if self._has_end else None):
                await begun.wait()
            if self._has_end and self._left_s() <= 0:
                await self.end_if_due()
                if self._has_end:  # the disk took nothing
                    await anyio.sleep(STEP_S)

    @property
    def _has_end(self) -> bool:
        return self.paused is not None and self.paused.until is not None

    def _left_s(self) -> float:
        """The seconds to the pause's end; infinite without one."""
        paused = self.paused
        if paused is None or paused.until is None:
            return float("inf")
        return (microseconds(paused.until) - microseconds(self._writer.now())) / _US

    # -- plans --

    def _ended_if_due(self, now: Planned) -> list[Action]:
        paused = now.state.paused
        until = paused.until if paused is not None else None
        return (
            self._publishing.pause_buffer.ended(now, OWN_SOURCE)
            if until is not None and until <= self._writer.now()
            else []
        )

    def _forgotten(self, now: Planned) -> list[Action]:
        self._publishing.pause_buffer.forget(now.state)
        return []
