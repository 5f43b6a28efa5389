"""One process per log: an flock on a file that is never unlinked.

The kernel drops the lock with the process, so there is no stale one. Whoever holds it writes its pid into the
file for the loser's message; the lock, not the pid, is the truth.
"""

import fcntl
import os
from pathlib import Path

from ..errors import LogLocked


class LogLock:
    """Holds the lock until closed."""

    def __init__(self, directory: Path) -> None:
        """Takes the lock of the log in `directory`, at once or not at all.

        Raises:
            LogLocked: another process holds it; `pid` names it where it can be read.
            OSError: the file cannot be made.
        """
        self._path = directory / "lock"
        while True:
            self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            try:
                fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                pid = os.read(self._descriptor, 32).decode(errors="replace").strip()
                os.close(self._descriptor)
                raise LogLocked(
                    f"Another workspaced (pid {pid or 'unknown'}) already uses this data directory.",
                    hint="Use that one, stop it with `workspaced stop`, or give another --data-dir.",
                    pid=int(pid) if pid.isdigit() else None,
                ) from None
            if self._is_in_place():
                break
            os.close(self._descriptor)  # somebody replaced the file between open and flock
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, f"{os.getpid()}\n".encode(), 0)

    def close(self) -> None:
        """Lets go. The file stays: removing it would let two processes hold two locks."""
        os.close(self._descriptor)

    def _is_in_place(self) -> bool:
        try:
            named = os.stat(self._path, follow_symlinks=False)
        except FileNotFoundError:
            return False
        return os.path.samestat(named, os.fstat(self._descriptor))
