"""How many bytes of batches wait for the disk, in all and of each client.

Batches differ by four orders of magnitude, so their number bounds no memory. What the daemon itself records is
small and counts nothing here; it must not be refused because a client has sent much.
"""

import threading
from collections.abc import Hashable

from ..errors import Busy
from ..limits import BUSY_RETRY_MS, WAITING_BYTES_MAX, WAITING_CLIENT_BYTES_MAX


class WaitingBytes:
    """Safe from any thread."""

    def __init__(self) -> None:
        self.total = 0
        self._of: dict[Hashable, int] = {}
        self._lock = threading.Lock()

    def take(self, client: Hashable, size_bytes: int) -> None:
        """Counts a batch until `give_back` is called with the same arguments.

        A batch for which nothing else waits is always taken, however large: it can only be refused for good.

        Raises:
            Busy: with it more would wait than WAITING_BYTES_MAX, or of this client WAITING_CLIENT_BYTES_MAX.
        """
        if not size_bytes:
            return
        with self._lock:
            mine = self._of.get(client, 0)
            if mine and mine + size_bytes > WAITING_CLIENT_BYTES_MAX:
                raise busy(f"{mine} bytes of this client wait for the disk.")
            if self.total and self.total + size_bytes > WAITING_BYTES_MAX:
                raise busy(f"{self.total} bytes wait for the disk.")
            self._of[client] = mine + size_bytes
            self.total += size_bytes

    def give_back(self, client: Hashable, size_bytes: int) -> None:
        """Counts a batch no more."""
        if not size_bytes:
            return
        with self._lock:
            self.total -= size_bytes
            self._of[client] -= size_bytes
            if not self._of[client]:
                del self._of[client]


def busy(message: str) -> Busy:
    """The error of a queue that is full."""
    hint = "Publish again after retryAfterMs; with the same ids nothing is recorded twice."
    return Busy(message, hint=hint, retry_after_ms=BUSY_RETRY_MS)
