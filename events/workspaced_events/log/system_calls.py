"""The system calls that publishing waits for, with an end to interruptions.

Python repeats a call that ends with EINTR inside the call (PEP 475), without end where a file system answers
nothing else. On Linux these are called directly, and repeated INTERRUPTIONS_MAX times.
"""

import errno
import os
import sys
import time
from pathlib import Path
from typing import Any

from ..limits import INTERRUPTION_PAUSE_S, INTERRUPTIONS_MAX

if sys.platform == "linux":
    import ctypes

    _LIBRARY = ctypes.CDLL(None, use_errno=True)

    def _function(name: str, *arguments: Any, result: Any = ctypes.c_int) -> Any:
        """The C library's function, the one for large files where there are two."""
        found = getattr(_LIBRARY, f"{name}64", None) or getattr(_LIBRARY, name)
        found.argtypes, found.restype = arguments, result
        return found

    _OPEN = _function("open", ctypes.c_char_p, ctypes.c_int, ctypes.c_uint)
    _PWRITE = _function(
        "pwrite", ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int64, result=ctypes.c_ssize_t
    )
    _FTRUNCATE = _function("ftruncate", ctypes.c_int, ctypes.c_int64)
    _FSYNC = _function("fsync", ctypes.c_int)
    _FDATASYNC = _function("fdatasync", ctypes.c_int)

    def _called(function: Any, *arguments: Any, path: str | None = None) -> int:
        code = 0
        for _ in range(INTERRUPTIONS_MAX):
            result: int = function(*arguments)
            if result >= 0:
                return result
            code = ctypes.get_errno()
            if code != errno.EINTR:
                break
            time.sleep(INTERRUPTION_PAUSE_S)
        raise OSError(code, os.strerror(code), path)

    def open_file(path: Path, flags: int, mode: int = 0o600) -> int:
        """Opens a file; returns its descriptor."""
        return _called(_OPEN, os.fsencode(path), flags, mode, path=str(path))

    def write_at(descriptor: int, data: bytes, offset: int) -> int:
        """Writes at an offset; returns how many bytes."""
        return _called(_PWRITE, descriptor, data, len(data), offset)

    def truncate(descriptor: int, size: int) -> None:
        """Cuts a file to `size` bytes."""
        _called(_FTRUNCATE, descriptor, size)

    def sync_all(descriptor: int) -> None:
        """Makes a file, or the names in a directory, durable."""
        _called(_FSYNC, descriptor)

    def sync_data(descriptor: int) -> None:
        """Makes a file's bytes and size durable."""
        _called(_FDATASYNC, descriptor)

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
        """Makes a file durable; on macOS fsync alone leaves it in the drive's cache."""
        try:
            fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
        except (OSError, AttributeError):
            os.fsync(descriptor)
