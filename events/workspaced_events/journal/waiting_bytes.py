"""Counts the bytes of batches that wait for the disk, in total and per client.

Batch sizes differ by four orders of magnitude, so a limit on their number bounds no memory. The daemon's own
records are small and not counted, because a client's large batches must not cause their refusal.
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

        Each limit applies only while other batches count towards it, because a larger batch would be refused
        forever.

        Raises:
            Busy: more than WAITING_BYTES_MAX would wait, or more than WAITING_CLIENT_BYTES_MAX of this client.
        """
        if not size_bytes:
            return
        with self._lock:
            client_bytes = self._of.get(client, 0)
            if client_bytes and client_bytes + size_bytes > WAITING_CLIENT_BYTES_MAX:
                raise busy(f"{client_bytes} bytes of this client wait for the disk.")
            if self.total and self.total + size_bytes > WAITING_BYTES_MAX:
                raise busy(f"{self.total} bytes wait for the disk.")
            self._of[client] = client_bytes + size_bytes
            self.total += size_bytes

    def give_back(self, client: Hashable, size_bytes: int) -> None:
        """Ends the counting of a batch."""
        if not size_bytes:
            return
        with self._lock:
            self.total -= size_bytes
            self._of[client] -= size_bytes
            if not self._of[client]:
                del self._of[client]


def busy(message: str) -> Busy:
    """The error for a full queue."""
    hint = "Publish again after retryAfterMs; with the same ids nothing is recorded twice."
    return Busy(message, hint=hint, retry_after_ms=BUSY_RETRY_MS)
