"""What lies in a data directory beside `HEAD`, by name: one place, so that each name is given once."""

from pathlib import Path
from typing import Final

LOG: Final = "log"
BLOBS: Final = "blobs"
"""Durable ones."""
SERVED: Final = "served"
"""Evictable ones."""
SNAPSHOTS: Final = "snapshots"
ERASURE: Final = "forgetting"
"""What an erasure prepares."""
ERASURE_READY: Final = "ready"
"""Written there once all is prepared."""


def is_erasure_interrupted(data: Path) -> bool:
    """Whether the log in a data directory is half the former and half the new one, until `finish_forgetting`."""
    return (data / ERASURE / ERASURE_READY).exists()
