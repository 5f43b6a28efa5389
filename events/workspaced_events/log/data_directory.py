"""Names of the files and folders in a data directory, except `HEAD`."""

from pathlib import Path
from typing import Final

LOG: Final = "log"
BLOBS: Final = "blobs"
"""Durable blobs."""
SERVED: Final = "served"
"""Evictable blobs."""
SWEPT: Final = "swept"
"""Holds the event time up to which calls may name evictable blobs that were removed on purpose."""
SNAPSHOTS: Final = "snapshots"
STATES: Final = "states"
"""States at the ends of segments."""
ERASURE: Final = "forgetting"
"""An erasure's prepared files."""
ERASURE_READY: Final = "ready"
"""Marker in that folder: preparation is complete."""


def is_erasure_interrupted(data: Path) -> bool:
    """Whether an erasure was interrupted: the log is partly old, partly new, until `finish_forgetting`."""
    return (data / ERASURE / ERASURE_READY).exists()
