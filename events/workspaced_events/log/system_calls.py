"""The system calls of publishing, with a limit on interruptions.

Python repeats a call interrupted by EINTR inside the call (PEP 475), forever if a file system always returns
EINTR. On Linux these functions call the C library directly and repeat INTERRUPTIONS_MAX times.
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
