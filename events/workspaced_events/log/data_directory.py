"""Names of the files and folders in a data directory, except `HEAD`."""

from typing import Final

LOG: Final = "log"
START: Final = "start"
"""What the log begins with, if it goes on from a moment of another log."""
BLOBS: Final = "blobs"
"""Durable blobs."""
SERVED: Final = "served"
"""Evictable blobs."""
SWEPT: Final = "swept"
"""Holds the event time up to which calls may name evictable blobs that were removed on purpose."""
SNAPSHOTS: Final = "snapshots"
ERASURE: Final = "forgetting"
"""An erasure's prepared files."""
ERASURE_READY: Final = "ready"
"""Marker in that folder: preparation is complete. While it is there the log is partly old, partly new."""
