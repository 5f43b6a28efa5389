"""Our programs that run in a terminal beside a daemon, for `workspaced uninstall` to end: one file each, locked
while its process lives."""

import fcntl
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, Literal, NamedTuple, get_args

from ..errors import TimedOut
from ..limits import HTTP_DRAIN_S
from .records import make_state_directory, state_directory

Kind = Literal["inspector", "proxy", "ide"]
SUFFIXES: Final = tuple(f".{kind}" for kind in get_args(Kind))
_END_S: Final = HTTP_DRAIN_S + 10.0
_LOOKED_S: Final = 0.02


class Beside(NamedTuple):
    """One that runs."""

    kind: str
    pid: int
    about: str
    """What it does: `shows LOG`."""
    file: Path


@contextmanager
def noted(kind: Kind, about: str) -> Iterator[None]:
    """Notes this process as one of a kind that does `about`; where no file can be written, nobody finds it."""
    try:
        path = Path(make_state_directory()) / f"{os.uname().nodename}-{os.getpid()}.{kind}"
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError:
        yield
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        os.write(file, os.fsencode(about))
        yield
    finally:
        path.unlink(missing_ok=True)
        os.close(file)


def running_beside() -> list[Beside]:
    """Those of this user on this machine."""
    found = list[Beside]()
    for file in sorted(Path(state_directory()).glob(f"{os.uname().nodename}-*")):
        pid = file.stem.rpartition("-")[2]
        if file.suffix in SUFFIXES and pid.isdecimal() and _lives(file):
            with suppress(OSError):  # it has just ended
                about = file.read_text(errors="replace")
                found.append(Beside(file.suffix.removeprefix("."), int(pid), about, file))
    return found


def end_beside(program: Beside) -> None:
    """Ends one in good order, and waits until it has.

    Raises:
        TimedOut: it goes on.
    """
    with suppress(ProcessLookupError):
        os.kill(program.pid, signal.SIGTERM)
    deadline = time.monotonic() + _END_S
    while _lives(program.file):
        if time.monotonic() > deadline:
            about = f"The {program.kind} (pid {program.pid}) has not ended after {_END_S:g} s."
            raise TimedOut(about, hint=f"kill {program.pid}")
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
