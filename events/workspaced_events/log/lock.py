"""One process per log: an flock on the log's directory, which nobody can delete while the log is in use.

The kernel releases the lock with the process, so no lock goes stale. The holder writes its pid into the file
`lock` for other processes' messages, and locks that file too, for programs that look there. Only the directory's
lock counts, not the pid.
"""

import fcntl
import os
from contextlib import suppress
from pathlib import Path

from ..errors import LogLocked
from .disk import read_regular


class LogLock:
    """Holds the lock until `close`."""

    def __init__(self, directory: Path) -> None:
        """Takes the lock of the log in `directory`; does not wait.

        Raises:
            LogLocked: another process holds it; `pid` names that process if known.
            OSError: the directory cannot be opened.
        """
        path = directory / "lock"
        self._directory = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(self._directory, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            pid = _pid_in(path) or _pid_of_holder(self._directory)
            os.close(self._directory)
            raise LogLocked(
                f"Another workspaced (pid {pid or 'unknown'}) already uses this data directory.",
                hint="For another vault beside it: `workspaced serve --workspace NAME --vault DIR`. Otherwise use "
                "that one, or stop it with `workspaced stop`.",
                pid=pid,
            ) from None
        self._file: int | None = None
        with suppress(OSError):  # the file only names this process; the lock is on the directory
            self._file = os.open(
                path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600
            )
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if self._file is not None:
            with suppress(OSError):
                os.ftruncate(self._file, 0)
                os.pwrite(self._file, f"{os.getpid()}\n".encode(), 0)

    def close(self) -> None:
        """Releases the lock. The file `lock` stays."""
        if self._file is not None:
            os.close(self._file)
        os.close(self._directory)


def _pid_in(path: Path) -> int | None:
    try:
        return int(read_regular(path))
    except (OSError, ValueError):
        return None


def _pid_of_holder(descriptor: int) -> int | None:
    """The pid of the process that holds the flock on this file, if /proc/locks is available (Linux)."""
    try:
        lines = Path("/proc/locks").read_text().splitlines()
    except OSError:
        return None
    inode = str(os.fstat(descriptor).st_ino)
    held = (line.split() for line in lines if " FLOCK " in line and " -> " not in line)
    return next((int(parts[4]) for parts in held if parts[5].rpartition(":")[2] == inode), None)
