"""`Sweeper`: removes recordings beyond their bounds in size and age while a daemon runs.

It sweeps at the start, then every hour, and earlier after many writes. So the disk space that a client can cause
is bounded, no matter how fast it calls.
"""

import logging
import threading
import time
from typing import Any, Final

from workspaced_events.blobs.evictable import EvictableBlobStore, Swept

from ..limits import SWEEP_INTERVAL_S

_SWEEP_CHECK_S: Final = 60.0
"""How often it is looked whether a sweep is due."""
logger = logging.getLogger(__name__)

_WRITTEN_SHARE: Final = 8
"""A sweep is due once a share of 1/8 of the allowed bytes was written."""


class Sweeper:
    """One for each daemon, with its own thread."""

    def __init__(self, blobs: EvictableBlobStore, bytes_max: int, days_max: float) -> None:
        self.blobs = blobs
        self.problem: str | None = None
        """Why the latest sweep failed."""
        self._bytes_max = bytes_max
        self._days_max = days_max
        self._due_at = 0.0
        self._found = Swept(0, 0, 0, 0)
        self._written_before = (0, 0)
        """Blobs and bytes that `blobs` had written before the latest sweep."""
        self._closing = threading.Event()

    def start(self) -> None:
        """Starts the thread."""
        threading.Thread(target=self._run, name="workspaced-sweeper", daemon=True).start()

    def close(self) -> None:
        """Ends the thread, without waiting for a running sweep."""
        self._closing.set()

    def _run(self) -> None:
        while not self._closing.is_set():
            self.turn()
            self._closing.wait(_SWEEP_CHECK_S)

    def turn(self) -> None:
        """Sweeps if a sweep is due. Blocks. A failure sets `problem` and raises nothing."""
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
        """Number and bytes of stored blobs: left by the latest sweep, plus written since."""
        written, written_bytes = self._written_before
        return {
            "kept": self._found.kept + self.blobs.written - written,
            "keptBytes": self._found.kept_bytes + self.blobs.written_bytes - written_bytes,
        }
