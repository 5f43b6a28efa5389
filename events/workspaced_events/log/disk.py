"""The port to the disk, and its real implementation.

The log touches files only through `Disk`, so that the simulated disk (simdisk.py) can lose, tear and reorder what
was not synced. Names are relative to the disk's root, with `/`. Guarantees a caller may rely on:

- `write_at` writes at an offset and may write less than asked; only `sync` makes bytes durable, and only
  `sync_directory` makes names durable (created, renamed, removed ones).
- Every method raises OSError when the system does. After a failed `sync` nothing is known of the file's
  unsynced bytes; the caller must not sync that descriptor again.
"""

import errno
import os
import sys
from pathlib import Path
from typing import Protocol

from ..private import make_folder


class DiskFile(Protocol):
    """One open file."""

    def write_at(self, offset: int, data: bytes) -> int:
        """Writes `data` at `offset` and says how many bytes; fewer than given is no error here."""
        ...

    def sync(self) -> None:
        """Makes the file's bytes and size durable."""
        ...

    def truncate(self, size: int) -> None:
        """Cuts the file to `size` bytes."""
        ...

    def trouble(self, size: int) -> str | None:
        """What happened to the file behind our back: it should have `size` bytes and be what its name means."""
        ...

    def close(self) -> None:
        """Gives the descriptor back; syncs nothing."""
        ...


class Disk(Protocol):
    """A directory tree."""

    def names(self, directory: str) -> list[str]:
        """The names in `directory`, sorted; none if it does not exist."""
        ...

    def read(self, name: str, offset: int = 0, size: int = -1) -> bytes:
        """The bytes of a file from `offset` on, at most `size` unless negative."""
        ...

    def size(self, name: str) -> int:
        """How many bytes a file has."""
        ...

    def reserve(self, descriptors: int) -> None:
        """Keeps so many descriptors back: `open` and `sync_directory` take them where there are no others."""
        ...

    def open(self, name: str, *, create: bool = False) -> DiskFile:
        """Opens a file for writing."""
        ...

    def make_directory(self, directory: str) -> None:
        """Makes a directory and its parents, readable by its owner only; durable."""
        ...

    def rename(self, old: str, new: str) -> None:
        """Renames a file over another one, atomically."""
        ...

    def remove(self, name: str) -> None:
        """Removes a file."""
        ...

    def sync_directory(self, directory: str) -> None:
        """Makes the names in `directory` durable."""
        ...


def write_whole(disk: Disk, name: str, data: bytes) -> None:
    """Puts a whole file in place, durably and atomically: written aside, synced, renamed, the name synced.

    Raises:
        OSError: the file is then as it was before.
    """
    aside = f"{name}.tmp"
    file = disk.open(aside, create=True)
    try:
        file.truncate(0)
        write_all(file, 0, data)
        file.sync()
    finally:
        file.close()
    disk.rename(aside, name)
    disk.sync_directory(name.rpartition("/")[0])


def write_all(file: DiskFile, offset: int, data: bytes) -> None:
    """Writes all of `data`, going on after short writes.

    Raises:
        OSError: what the system says where no byte more would go in.
    """
    while data:
        written = file.write_at(offset, data)
        if written == 0:
            raise OSError(28, "No space left on device")
        offset, data = offset + written, data[written:]


class RealFile:
    """A file of this machine."""

    def __init__(self, descriptor: int, path: Path) -> None:
        self._descriptor = descriptor
        self._path = str(path)
        found = os.fstat(descriptor)
        self._identity = (found.st_dev, found.st_ino)

    def write_at(self, offset: int, data: bytes) -> int:
        return os.pwrite(self._descriptor, data, offset)

    def sync(self) -> None:
        sync_descriptor(self._descriptor)

    def truncate(self, size: int) -> None:
        os.ftruncate(self._descriptor, size)

    def trouble(self, size: int) -> str | None:
        try:
            named = os.lstat(self._path)
        except FileNotFoundError:
            return "was removed"
        # An inode stays ours while we hold it open, so its name alone tells both: which file it is, and its size.
        if (named.st_dev, named.st_ino) != self._identity:
            return "was replaced by another file"
        return None if named.st_size == size else f"has {named.st_size} bytes instead of {size}"

    def close(self) -> None:
        os.close(self._descriptor)


class RealDisk:
    """The directory `root` of this machine."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._reserved = 0
        self._reserve: list[int] = []

    def names(self, directory: str) -> list[str]:
        try:
            return sorted(os.listdir(self._root / directory))
        except FileNotFoundError:
            return []

    def read(self, name: str, offset: int = 0, size: int = -1) -> bytes:
        with (self._root / name).open("rb", buffering=0) as file:
            file.seek(offset)
            parts = []
            while size != 0 and (part := file.read(size)):
                parts.append(part)
                size = size - len(part) if size > 0 else size
            return b"".join(parts)

    def size(self, name: str) -> int:
        return (self._root / name).stat().st_size

    def reserve(self, descriptors: int) -> None:
        self._reserved = descriptors
        while len(self._reserve) > descriptors:
            os.close(self._reserve.pop())
        self._refill()

    def _refill(self) -> None:
        try:
            while len(self._reserve) < self._reserved:
                self._reserve.append(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC))
        except OSError:
            return  # none to be had; asked for again next time

    def _open(self, path: Path, flags: int) -> int:
        while True:
            try:
                return os.open(path, flags, 0o600)
            except OSError as error:
                if error.errno not in (errno.EMFILE, errno.ENFILE) or not self._reserve:
                    raise
                os.close(self._reserve.pop())

    def open(self, name: str, *, create: bool = False) -> RealFile:
        flags = os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW | (os.O_CREAT if create else 0)
        path = self._root / name
        return RealFile(self._open(path, flags), path)

    def make_directory(self, directory: str) -> None:
        path = self._root / directory
        make_folder(path)
        self.sync_directory(str(path.parent))

    def rename(self, old: str, new: str) -> None:
        (self._root / old).rename(self._root / new)

    def remove(self, name: str) -> None:
        (self._root / name).unlink()

    def sync_directory(self, directory: str) -> None:
        descriptor = self._open(self._root / directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
            self._refill()


if sys.platform == "darwin":  # pragma: no cover
    import fcntl

    def sync_descriptor(descriptor: int) -> None:
        """Makes a file durable; on macOS fsync alone leaves it in the drive's cache."""
        try:
            fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
        except OSError:
            os.fsync(descriptor)
else:

    def sync_descriptor(descriptor: int) -> None:
        """Makes a file's bytes and size durable."""
        os.fdatasync(descriptor)
