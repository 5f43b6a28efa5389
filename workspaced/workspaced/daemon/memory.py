"""Gives memory that is freed back to the system.

By itself glibc keeps much of it. The first large block that is freed makes it take such blocks from its heaps from
then on, and heaps shrink only at their ends; and threads get heaps of their own, each of which keeps the most that
its thread ever needed. Measured: notes of 16 MiB that were read and deleted left a daemon of 63 MB with 430 MB.
What is free between blocks in use goes back only on request: 13 MB after minutes of 100 calls a second.
"""

import ctypes
import sys
from collections.abc import Callable
from typing import Final

LARGE_BYTES: Final = 512 * 1024
"""A block of so much is a mapping of its own, which goes back when it is freed."""
SPARE_BYTES: Final = 2 * 1024 * 1024
"""More than this at a heap's end goes back."""
HEAPS: Final = 2
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8
"""Of mallopt(3)."""


def give_back_freed_memory() -> None:
    """For the whole process; before it starts threads. Does nothing where the C library is another one."""
    mallopt = _function("mallopt")
    if mallopt is None:
        return
    for option, value in (
        (_M_MMAP_THRESHOLD, LARGE_BYTES),
        (_M_TRIM_THRESHOLD, SPARE_BYTES),
        (_M_ARENA_MAX, HEAPS),
    ):
        mallopt(option, value)


def give_back_free_pages() -> None:
    """Returns the free pages of all heaps to the system, also those between blocks in use.

    Takes some milliseconds, during which threads that allocate may wait. Does nothing with another C library.
    """
    if (malloc_trim := _function("malloc_trim")) is not None:
        malloc_trim(0)


def _function(name: str) -> Callable[..., int] | None:
    """A function of glibc; None with another C library."""
    if not sys.platform.startswith("linux"):
        return None
    try:
        function: Callable[..., int] = getattr(ctypes.CDLL(None), name)
    except (OSError, AttributeError):
        return None
    return function
