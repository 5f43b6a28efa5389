"""Timers for clients' delays that do not count the time while the daemon itself was stopped.

A process that was stopped (SIGSTOP, a debugger, a swapping machine) finds all its timers due when it resumes,
although it could not read its clients' messages meanwhile. So a timer runs in short steps, and a step that ends
much too late does not count.
"""

import asyncio
from collections.abc import Callable

from ..limits import LATE_S, STEP_S


class AwakeTimer:
    """Calls `function` on the loop after the process was awake for `delay_s`, within one step.

    Belongs to the loop's thread.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, delay_s: float, function: Callable[[], None]) -> None:
        self._loop = loop
        self._left_s = delay_s
        self._function = function
        self._begin_step()

    def cancel(self) -> None:
        """Cancels the call and drops the reference to `function`."""
        self._handle.cancel()
        self._function = lambda: None

    def _begin_step(self) -> None:
        self._step_s = min(self._left_s, STEP_S)
        self._handle = self._loop.call_later(self._step_s, self._end_step)

    def _end_step(self) -> None:
        if self._loop.time() - self._handle.when() <= LATE_S:
            self._left_s -= self._step_s
        if self._left_s > 0:
            self._begin_step()
        else:
            self._function()
