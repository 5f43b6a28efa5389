"""The hybrid clock of a link: times of several machines in an order that fits what each had heard of.

Who acts decides it, from its own log alone, and it travels along. Removals never rest on it.
"""

from typing import Final

AHEAD_MS_MAX: Final = 5 * 60_000
"""A time of a peer that is further ahead of the own clock is a wrong clock: it moves nothing."""


def next_ms(own_ms: int, previous_ms: int, heard_ms: int) -> int:
    """The hybrid clock of something that happens here now.

    Args:
        own_ms: this machine's clock.
        previous_ms: the hybrid clock of what happened here before.
        heard_ms: the newest one of a peer.
    """
    return max(own_ms, previous_ms, heard_ms if heard_ms <= own_ms + AHEAD_MS_MAX else 0)
