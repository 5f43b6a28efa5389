"""When calls are kept off the event loop, because answers there made everybody wait.

A stat may hang on a network file system, and while it does the loop answers nobody. But most stalls are the
machine's: a busy processor, a laptop that slept. So the first pause is short, and grows only while stalls recur.
"""

from typing import Final

from ..limits import NONBLOCKING_CALL_S, NONBLOCKING_PAUSE_S

FACTOR: Final = 8
"""A pause is this many times as long as the stall, and as the pause before it if the stall recurs. So stalls of
one vault take at most one part in FACTOR + 1 of the loop's time; more only if they outlast NONBLOCKING_PAUSE_S /
FACTOR."""


class LoopPause:
    """The pause of one vault. Times are in nanoseconds of a clock that never goes back."""

    def __init__(self) -> None:
        self._until = 0
        self._length = 0

    def lasts(self, now: int) -> bool:
        """Whether calls are kept off the loop at `now`."""
        return now < self._until

    def answered(self, started: int, ended: int) -> None:
        """Takes note of one answer on the loop, or one attempt at it.

        One that took longer than NONBLOCKING_CALL_S begins a pause. It recurs if it started after the last pause
        ended, by less than the longer pause that it then begins.
        """
        stall = ended - started
        if stall <= NONBLOCKING_CALL_S * 1e9:
            return
        longer = min(FACTOR * self._length, int(NONBLOCKING_PAUSE_S * 1e9))
        recurs = started - self._until < longer
        self._length = min(FACTOR * max(stall, self._length if recurs else 0), int(NONBLOCKING_PAUSE_S * 1e9))
        self._until = ended + self._length
