"""What agents were served: a content-addressed store beside the log that may forget.

Results of tools and what they were made from are kept here so that a call can be replayed. The log names them and
does without them: a blob that was swept, or was lost with the power, makes a call `NOT_RECORDED` and nothing else.
So nothing here is synced. What the log itself consists of lies in `blobs/`, which is never swept.
"""

import os
import time
from hashlib import sha256
from pathlib import Path
from typing import Final

import msgspec

from .blobs import blob_path, packed, unpacked

DIRECTORY: Final = "served"
_KNOWN_MAX: Final = 50_000
_TOUCH_S: Final = 3_600.0
"""How exactly the time of a blob's last use is known."""


class Swept(msgspec.Struct, frozen=True, rename="camel"):
    """What a sweep left and what it removed."""

    kept: int
    kept_bytes: int
    removed: int
    removed_bytes: int


class ServedBlobs:
    """The served blobs of one data directory. `keep` belongs to one thread; everything else to any."""

    def __init__(self, data: Path) -> None:
        self._data = data
        self._known: dict[str, float] = {}
        """When a blob was last seen to be whole, by its name."""

    def keep(self, content: bytes, name: str | None = None) -> str:
        """Keeps `content` and returns its sha256; give that as `name` where it is known. Cheap for what is kept.

        Raises:
            OSError: it was not kept.
        """
        name = name or sha256(content).hexdigest()
        now = time.monotonic()
        if now - self._known.get(name, -_TOUCH_S) < _TOUCH_S:
            return name
        path = self._data / blob_path(DIRECTORY, name)
        if self.get(name) is not None:
            os.utime(path)
        else:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            aside = path.with_name(f"{name}.tmp")
            aside.write_bytes(packed(content))
            aside.replace(path)
        if len(self._known) >= _KNOWN_MAX:
            self._known.clear()
        self._known[name] = now
        return name

    def get(self, name: str) -> bytes | None:
        """The content called `name`; None if it is not kept, or not whole."""
        try:
            content = unpacked((self._data / blob_path(DIRECTORY, name)).read_bytes())
        except FileNotFoundError:
            return None
        return content if sha256(content).hexdigest() == name else None

    def sweep(self, bytes_max: int, days_max: float) -> Swept:
        """Removes what was last used more than `days_max` ago, then the longest unused until `bytes_max` fit.

        Raises:
            OSError: the store cannot be read.
        """
        files = sorted(self._files())
        oldest = time.time_ns() - int(days_max * 86_400e9)
        total = sum(size for _used, size, _path in files)
        kept, removed, removed_bytes = len(files), 0, 0
        for used, size, path in files:
            if used >= oldest and total - removed_bytes <= bytes_max:
                break
            Path(path).unlink(missing_ok=True)
            self._known.pop(Path(path).name, None)
            removed, removed_bytes = removed + 1, removed_bytes + size
        return Swept(kept - removed, total - removed_bytes, removed, removed_bytes)

    def _files(self) -> list[tuple[int, int, str]]:
        """When last used, bytes and path of every file, half-written ones included."""
        found = []
        for folder in (self._data / DIRECTORY).glob("??"):
            for entry in os.scandir(folder):
                stat = entry.stat(follow_symlinks=False)
                found.append((stat.st_mtime_ns, stat.st_size, entry.path))
        return found
