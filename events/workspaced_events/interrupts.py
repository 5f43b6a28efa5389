"""Holds Ctrl-C back where an exception would lose what has just begun."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def interrupts_held_back() -> Iterator[None]:
    """Ctrl-C has its effect at the end of the block instead of in it. Only the main thread is ever interrupted."""
    before = signal.getsignal(signal.SIGINT)
    if before is None or threading.current_thread() is not threading.main_thread():
        yield
        return
    held_back: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _frame: held_back.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if held_back:
        signal.raise_signal(signal.SIGINT)
