"""Python imports this first where its folder is on PYTHONPATH: reading a served blob takes SLOW_BLOB_S seconds.

The file that SLOW_BLOB_SEEN names is there once the first of them was asked for.
"""

import os
import time
from pathlib import Path

from workspaced_events.blobs.evictable import EvictableBlobStore

_get = EvictableBlobStore.get


def slow_get(self: EvictableBlobStore, name: str) -> bytes | None:
    Path(os.environ["SLOW_BLOB_SEEN"]).touch()
    time.sleep(float(os.environ["SLOW_BLOB_S"]))
    return _get(self, name)


EvictableBlobStore.get = slow_get  # type: ignore[method-assign]
