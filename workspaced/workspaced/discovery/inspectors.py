"""Inspectors that run on this machine, for `workspaced uninstall` to end: one file each, locked while its process
lives."""

import fcntl
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple

from ..errors import TimedOut
from ..limits import HTTP_DRAIN_S
from .records import make_state_directory, state_directory

SUFFIX: Final = ".inspector"
_END_S: Final = HTTP_DRAIN_S + 10.0
_LOOKED_S: Final = 0.02


class Inspector(NamedTuple):
    """One that runs."""

    pid: int
    log: str
    """What it shows."""
    file: Path


@contextmanager
def noted_inspector(log: Path) -> Iterator[None]:
    """Notes this process as an inspector of the log; where no file can be written, nobody finds it."""
    try:
        path = Path(make_state_directory()) / f"{os.uname().nodename}-{os.getpid()}{SUFFIX}"
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError:
        yield
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        os.write(file, os.fsencode(log.absolute()))
        yield
    finally:
        path.unlink(missing_ok=True)
        os.close(file)


def inspectors() -> list[Inspector]:
    """Those of this user on this machine."""
    found = list[Inspector]()
    for file in sorted(Path(state_directory()).glob(f"{os.uname().nodename}-*{SUFFIX}")):
        pid = file.name.removesuffix(SUFFIX).rpartition("-")[2]
        if pid.isdecimal() and _lives(file):
            with suppress(OSError):  # it has just ended
                found.append(Inspector(int(pid), file.read_text(errors="replace"), file))
    return found


def end_inspector(inspector: Inspector) -> None:
    """Ends one in good order, and waits until it has.

    Raises:
        TimedOut: it goes on.
    """
    with suppress(ProcessLookupError):
        os.kill(inspector.pid, signal.SIGTERM)
    deadline = time.monotonic() + _END_S
    while _lives(inspector.file):
        if time.monotonic() > deadline:
            about = f"The inspector (pid {inspector.pid}) has not ended after {_END_S:g} s."
            raise TimedOut(about, hint=f"kill {inspector.pid}")
        time.sleep(_LOOKED_S)


def _lives(file: Path) -> bool:
    """Whether the process that wrote the file holds its lock: its number may be another's by now."""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return os.fstat(descriptor).st_uid == os.getuid()
    finally:
        os.close(descriptor)
    return False
