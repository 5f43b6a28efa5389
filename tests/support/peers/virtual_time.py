"""An event loop whose clock stands still while anything can run, and jumps to the next timer when nothing can."""

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

R = TypeVar("R")


class Deadlock(Exception):
    """Nothing can run and no timer is set: what is awaited never comes."""


class _Selector(selectors.DefaultSelector):
    """Asked to wait, it moves the clock instead."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[Any]:
        if timeout is None:
            raise Deadlock("Every task waits for something that nobody does.")
        self.now += max(timeout, 0)
        return super().select(0)


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """Everything in it is determined by its program. Threads, processes and sockets have no place in it."""

    def __init__(self) -> None:
        self._clock = _Selector()
        super().__init__(self._clock)

    def time(self) -> float:
        return self._clock.now


def run_virtually(main: Coroutine[Any, Any, R]) -> R:
    """Runs a program in virtual time, from 0 seconds on, and returns what it returns.

    Raises:
        Deadlock: nothing can go on.
    """
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(main)
