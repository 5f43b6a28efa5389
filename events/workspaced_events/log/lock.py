"""One process per log: an flock on its directory, which nobody can delete while it is in use.

The kernel drops the lock with the process, so there is no stale one. Whoever holds it writes its pid into the file
`lock` for the loser's message and holds that too, for programs that look there; the lock, not the pid, is true.
"""

import fcntl
import os
from contextlib import suppress
from pathlib import Path

from ..errors import LogLocked
from .disk import read_regular


class LogLock:
    """Holds the lock until closed."""

    def __init__(self, directory: Path) -> None:
        """Takes the lock of the log in `directory`, at once or not at all.

        Raises:
            LogLocked: another process holds it; `pid` names it where it can be read.
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
                hint="Use that one, stop it with `workspaced stop`, or give another --data-dir.",
                pid=pid,
            ) from None
        self._file: int | None = None
        with suppress(OSError):  # it only names us: whatever is wrong with it, the lock is on the directory
            self._file = os.open(
                path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600
            )
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if self._file is not None:
            with suppress(OSError):
                os.ftruncate(self._file, 0)
                os.pwrite(self._file, f"{os.getpid()}\n".encode(), 0)

    def close(self) -> None:
        """Lets go. The file stays."""
        if self._file is not None:
            os.close(self._file)
        os.close(self._directory)


def _pid_in(path: Path) -> int | None:
    try:
        return int(read_regular(path))
    except (OSError, ValueError):
        return None


def _pid_of_holder(descriptor: int) -> int | None:
    """Who holds the flock on this file, where the system tells (Linux)."""
    try:
        lines = Path("/proc/locks").read_text().splitlines()
    except OSError:
        return None
    inode = str(os.fstat(descriptor).st_ino)
    held = (line.split() for line in lines if " FLOCK " in line and " -> " not in line)
    return next((int(parts[4]) for parts in held if parts[5].rpartition(":")[2] == inode), None)
