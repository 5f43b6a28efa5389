"""How what something costs grows with its size, measured so that a busy machine changes nothing.

Costs are processor time of the measuring thread. Even that doubles when neighbours use the caches, so nothing here
counts one measurement: of each size the cheapest counts, and one good comparison of five is enough. Work that
grows too fast has no good one.
"""

import time
from collections.abc import Callable

TURNS = 5
COST_MIN_S = 0.001
"""What is cheaper counts as this: below, one measures the clock."""


def thread_seconds(work: Callable[[], object]) -> float:
    """Processor time that this thread takes for `work()`; other tests may have left threads that still work."""
    begun = time.thread_time()
    work()
    return time.thread_time() - begun


def grows_linearly(seconds: Callable[[int], float], small: int, large: int) -> bool:
    """Whether `seconds(size)` grows more like the size than like its square.

    The limit lies between both: for four times the size linear work costs 4 times as much, quadratic 16 times, and
    less than 8 times is linear. `small` should cost a millisecond or more, and `large` be four times as large.
    """
    limit = (large / small) ** 1.5
    cheapest_small = cheapest_large = float("inf")
    for _ in range(TURNS):
        cheapest_small = min(cheapest_small, seconds(small), seconds(small))
        cheapest_large = min(cheapest_large, seconds(large))
        if cheapest_large < limit * max(cheapest_small, COST_MIN_S):
            return True
    return False


def costs_less_than(limit_s: float, work: Callable[[], object]) -> bool:
    """Whether `work()` takes less processor time than that, in the best of five runs."""
    return any(thread_seconds(work) < limit_s for _ in range(TURNS))
