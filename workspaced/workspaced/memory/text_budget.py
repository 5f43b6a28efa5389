"""How much text agents may write into the log in an hour: it keeps every text, also of files that are gone."""

import time
from collections.abc import Callable
from typing import Final

from workspaced_tools.errors import MemoryFull

from ..limits import MEMORY_LOGGED_BYTES_PER_HOUR

_HOUR_S: Final = 3600


class TextBudget:
    """Of all agents together, since a client chooses its name. For one thread at a time."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """`clock`: in seconds."""
        self._clock = clock
        self._since = clock()
        self._spent = 0

    def take(self, size_bytes: int) -> None:
        """Takes the room that texts need.

        Raises:
            MemoryFull: there is not as much left of this hour's; nothing is taken.
        """
        if self._clock() - self._since >= _HOUR_S:
            self._since, self._spent = self._clock(), 0
        if self._spent + size_bytes > MEMORY_LOGGED_BYTES_PER_HOUR:
            raise MemoryFull(
                f"Agents have written {self._spent} bytes into the memory within an hour; "
                f"at most {MEMORY_LOGGED_BYTES_PER_HOUR} are kept.",
                hint="Nothing changed. Write less often, and wait.",
            )
        self._spent += size_bytes
