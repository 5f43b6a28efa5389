"""The port to the disk, and its real implementation.

The log touches files only through `Disk`, so that the simulated disk of the tests can lose, tear and
reorder unsynced writes. Names are relative to the disk's root, with `/`. Guarantees for callers:

- `write_at` writes at an offset and may write less than asked; only `sync` makes bytes durable, and only
  `sync_directory` makes names durable (created, renamed, removed ones).
- Only regular files are read and written: a FIFO or a device is an error, and no call waits for it.
- Every method raises OSError when the system does, and after a bounded time if the system returns EINTR forever
  (except `trouble`, and reading a file's bytes). After a failed `sync` the state of the file's unsynced bytes is
  unknown; the caller must not sync that descriptor again.

Python repeats a call interrupted by EINTR inside the call (PEP 475), forever if a file system always returns
EINTR. On Linux the real disk calls the C library directly and repeats INTERRUPTIONS_MAX times.
"""

import errno
import os
import stat
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from ..limits import INTERRUPTION_PAUSE_S, INTERRUPTIONS_MAX
from ..private_files import make_folder


class DiskFile(Protocol):
    """One open file."""

    def write_at(self, offset: int, data: bytes) -> int:
        """Writes `data` at `offset` and returns the number of bytes written; a short write is no error."""

    def sync(self) -> None:
        """Makes the file's bytes and size durable."""

    def truncate(self, size: int) -> None:
        """Cuts the file to `size` bytes."""

    def trouble(self, size: int) -> str | None:
        """What changed the file behind our back: expects `size` bytes, and that its name still leads to it."""

    def close(self) -> None:
        """Closes the descriptor; syncs nothing."""


class Disk(Protocol):
    """A directory tree."""

    def names(self, directory: str) -> list[str]:
        """The names in `directory`, sorted; empty if the directory does not exist."""

    def read(self, name: str, offset: int = 0, size: int = -1) -> bytes:
        """The bytes of a file from `offset` on, at most `size` unless `size` is negative."""

    def size(self, name: str) -> int:
        """The file's size in bytes."""

    def reserve(self, descriptors: int) -> None:
        """Holds so many spare descriptors; `open` and `sync_directory` use them when the limit is reached."""

    def open(self, name: str, *, create: bool = False) -> DiskFile:
        """Opens a file for writing."""

    def make_directory(self, directory: str) -> None:
        """Makes a directory and its parents durably, readable by the owner only."""

    def rename(self, old: str, new: str) -> None:
        """Renames a file over another one, atomically."""

    def remove(self, name: str) -> None:
        """Removes a file."""

    def sync_directory(self, directory: str) -> None:
        """Makes the names in `directory` durable."""


def write_whole(disk: Disk, name: str, data: bytes) -> None:
    """Replaces a whole file durably and atomically: writes a temporary file, syncs, renames, syncs the directory.

    Raises:
        OSError: the file has its old content, or the new content under a name that is not durable yet.
    """
    temporary = f"{name}.tmp"
    try:
        file = disk.open(temporary, create=True)
        try:
            file.truncate(0)
            write_all(file, 0, data)
            file.sync()
        finally:
            file.close()
        disk.rename(temporary, name)
    except OSError:
        with suppress(OSError):
            disk.remove(temporary)
        raise
    disk.sync_directory(name.rpartition("/")[0])


def write_all(file: DiskFile, offset: int, data: bytes) -> None:
    """Writes all of `data`, continuing after short writes.

    Raises:
        OSError: a write failed, or wrote nothing.
    """
    while data:
        written = file.write_at(offset, data)
        if written == 0:
            raise OSError(28, "No space left on device")
        offset, data = offset + written, data[written:]


def read_regular(path: Path, offset: int = 0, size: int = -1) -> bytes:
    """The bytes of a regular file from `offset` on, at most `size` unless negative. Waits for no other file type.

    Raises:
        OSError: the file cannot be read, or is a FIFO, a device or a directory.
    """
    descriptor = open_file(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    _check_regular(descriptor, path)
    with os.fdopen(descriptor, "rb", buffering=0) as file:
        file.seek(offset)
        parts = []
        while size != 0 and (part := file.read(size)):
            parts.append(part)
            size = size - len(part) if size > 0 else size
        return b"".join(parts)


def _check_regular(descriptor: int, path: Path) -> None:
    """Closes the descriptor and raises OSError, unless the file is a regular one."""
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "Not a regular file", str(path))


class RealFile:
    """A file on a real disk."""

    def __init__(self, descriptor: int, path: Path) -> None:
        self._descriptor = descriptor
        self._path = str(path)
        status = os.fstat(descriptor)
        self._identity = (status.st_dev, status.st_ino)

    def write_at(self, offset: int, data: bytes) -> int:
        return write_at(self._descriptor, data, offset)

    def sync(self) -> None:
        sync_data(self._descriptor)

    def truncate(self, size: int) -> None:
        truncate(self._descriptor, size)

    def trouble(self, size: int) -> str | None:
        try:
            named = os.lstat(self._path)
        except FileNotFoundError:
            return "was removed"
        # The inode is ours while we hold it open, so one lstat of the name gives identity and size.
        if (named.st_dev, named.st_ino) != self._identity:
            return "was replaced by another file"
        return None if named.st_size == size else f"has {named.st_size} bytes instead of {size}"

    def close(self) -> None:
        os.close(self._descriptor)


class RealDisk:
    """The directory `root` on a real disk."""

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
        return read_regular(self._root / name, offset, size)

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
            return  # no descriptors available; the next call retries

    def _open(self, path: Path, flags: int) -> int:
        while True:
            try:
                return open_file(path, flags, 0o600)
            except OSError as error:
                if error.errno not in (errno.EMFILE, errno.ENFILE) or not self._reserve:
                    raise
                os.close(self._reserve.pop())

    def open(self, name: str, *, create: bool = False) -> RealFile:
        flags = os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK | (os.O_CREAT if create else 0)
        path = self._root / name
        descriptor = self._open(path, flags)
        _check_regular(descriptor, path)
        return RealFile(descriptor, path)

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
            sync_all(descriptor)
        finally:
            os.close(descriptor)
            self._refill()


if sys.platform == "linux":
    import ctypes

    _LIBRARY = ctypes.CDLL(None, use_errno=True)

    def _function(name: str, *arguments: Any, result: Any = ctypes.c_int) -> Any:
        """The C library's function, in its variant for large files if there is one."""
        function = getattr(_LIBRARY, f"{name}64", None) or getattr(_LIBRARY, name)
        function.argtypes, function.restype = arguments, result
        return function

    _OPEN = _function("open", ctypes.c_char_p, ctypes.c_int, ctypes.c_uint)
    _PWRITE = _function(
        "pwrite", ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int64, result=ctypes.c_ssize_t
    )
    _FTRUNCATE = _function("ftruncate", ctypes.c_int, ctypes.c_int64)
    _FSYNC = _function("fsync", ctypes.c_int)
    _FDATASYNC = _function("fdatasync", ctypes.c_int)

    def _call(call: Any, *arguments: Any, path: str | None = None) -> int:
        code = 0
        for _ in range(INTERRUPTIONS_MAX):
            result: int = call(*arguments)
            if result >= 0:
                return result
            code = ctypes.get_errno()
            if code != errno.EINTR:
                break
            time.sleep(INTERRUPTION_PAUSE_S)
        raise OSError(code, os.strerror(code), path)

    def open_file(path: Path, flags: int, mode: int = 0o600) -> int:
        """Opens a file; returns its descriptor."""
        return _call(_OPEN, os.fsencode(path), flags, mode, path=str(path))

    def write_at(descriptor: int, data: bytes, offset: int) -> int:
        """Writes at an offset; returns the number of bytes written."""
        return _call(_PWRITE, descriptor, data, len(data), offset)

    def truncate(descriptor: int, size: int) -> None:
        """Cuts a file to `size` bytes."""
        _call(_FTRUNCATE, descriptor, size)

    def sync_all(descriptor: int) -> None:
        """Makes a file, or the names in a directory, durable."""
        _call(_FSYNC, descriptor)

    def sync_data(descriptor: int) -> None:
        """Makes a file's bytes and size durable."""
        _call(_FDATASYNC, descriptor)

else:  # pragma: no cover
    import fcntl

    def open_file(path: Path, flags: int, mode: int = 0o600) -> int:
        """Opens a file; returns its descriptor."""
        return os.open(path, flags, mode)

    def write_at(descriptor: int, data: bytes, offset: int) -> int:
        """Writes at an offset; returns how many bytes."""
        return os.pwrite(descriptor, data, offset)

    def truncate(descriptor: int, size: int) -> None:
        """Cuts a file to `size` bytes."""
        os.ftruncate(descriptor, size)

    def sync_all(descriptor: int) -> None:
        """Makes a file, or the names in a directory, durable."""
        os.fsync(descriptor)

    def sync_data(descriptor: int) -> None:
        """Makes a file durable; on macOS fsync alone leaves the bytes in the drive's cache."""
        try:
            fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
        except (OSError, AttributeError):
            os.fsync(descriptor)
