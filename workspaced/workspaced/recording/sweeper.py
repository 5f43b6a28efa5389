"""`Sweeper`: keeps what agents were shown within its bounds while a daemon runs.

It sweeps at the start, then every hour, and sooner where much was written: what a client can make the daemon keep
is bounded, however fast it asks.
"""

import logging
import threading
import time
from typing import Any, Final

from workspaced_events.blobs.evictable import EvictableBlobStore, Swept

from ..limits import SWEEP_CHECK_S, SWEEP_INTERVAL_S

logger = logging.getLogger(__name__)

_WRITTEN_SHARE: Final = 8
"""A sweep is due once this part of the bytes allowed was written."""


class Sweeper:
    """One for each daemon, with a thread of its own."""

    def __init__(self, blobs: EvictableBlobStore, bytes_max: int, days_max: float) -> None:
        self.blobs = blobs
        self.problem: str | None = None
        """Why the latest sweep failed."""
        self._bytes_max = bytes_max
        self._days_max = days_max
        self._due_at = 0.0
        self._found = Swept(0, 0, 0, 0)
        self._written_before = (0, 0)
        """Of `blobs`, when that was found."""
        self._closing = threading.Event()

    def start(self) -> None:
        """Starts the thread."""
        threading.Thread(target=self._run, name="workspaced-sweeper", daemon=True).start()

    def close(self) -> None:
        """Ends; a sweep that goes on is not waited for."""
        self._closing.set()

    def _run(self) -> None:
        while not self._closing.is_set():
            self.turn()
            self._closing.wait(SWEEP_CHECK_S)

    def turn(self) -> None:
        """Sweeps if that is due. Blocks; a failure is a problem, not an error."""
        written_bytes = self.blobs.written_bytes - self._written_before[1]
        if time.monotonic() < self._due_at and written_bytes <= self._bytes_max // _WRITTEN_SHARE:
            return
        self._due_at = time.monotonic() + SWEEP_INTERVAL_S
        before = (self.blobs.written, self.blobs.written_bytes)
        try:
            found = self.blobs.sweep(self._bytes_max, self._days_max)
        except OSError as error:
            if self.problem is None:
                logger.warning("what agents were shown is not swept: %s", error)
            self.problem = f"What agents were shown is not swept: {error.strerror}."
        else:
            self.problem = None
            self._found, self._written_before = found, before

    def status(self) -> dict[str, Any]:
        """How much is kept: what the latest sweep left and what was written since."""
        written, written_bytes = self._written_before
        return {
            "kept": self._found.kept + self.blobs.written - written,
            "keptBytes": self._found.kept_bytes + self.blobs.written_bytes - written_bytes,
        }
