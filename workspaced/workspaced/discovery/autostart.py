"""Starting a daemon when it is first needed, exactly one however many need it at once.

Whoever gets the lock starts it; all others, and the one itself, try again and again to reach it. Should two get
that far nevertheless, the lock of the log decides: the second daemon ends at once, its starter finds the first.

Only a small part of the standard library is imported: the bridge uses this module.
"""

import fcntl
import os
import sys
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, TypeVar

from ..errors import NoDaemon
from ..limits import ON_DEMAND_IDLE_MINUTES, OTHER_S, START_LOG_BYTES_MAX, START_S
from .records import make_state_directory, running

if TYPE_CHECKING:
    import subprocess

T = TypeVar("T")

_PAUSE_S: Final = 0.02
_SAID_BYTES: Final = 4096
_started: Final[list["subprocess.Popen[bytes]"]] = []
"""Kept to the end: nobody waits for a daemon that outlives its starter."""


def reach_or_start(
    reach: Callable[[], T | None],
    *,
    vaults: Sequence[str] = (),
    socket_path: str | None = None,
    workspace: str | None = None,
) -> T:
    """What `reach` returns once it is not None; a daemon is started if it is None.

    Args:
        reach: reaches the daemon that is meant; called every 20 ms while one starts.
        vaults: folders the daemon is to serve, beside what the settings say.
        socket_path: where it is to listen, if not where the settings say.
        workspace: its workspace, if not the one the settings name.

    Raises:
        NoDaemon: none could be started; the message holds what it said.
    """
    if (reached := reach()) is not None:
        return reached
    lock, log = _open_files()
    child: subprocess.Popen[bytes] | None = None
    deadline = time.monotonic() + START_S
    other_until: float | None = None
    try:
        while True:
            mine = child is not None or _take(lock)
            # After the lock: whoever held it before may have started one.
            if (reached := reach()) is not None:
                return reached
            if mine and child is None:
                begin = os.lseek(log, 0, os.SEEK_END)
                child = _spawn(_command(vaults, socket_path, workspace), log)
            if child is not None and child.poll() is not None:
                said = _said(log, begin)
                other_until = other_until or time.monotonic() + OTHER_S
                if not _is_passing(said) or time.monotonic() > other_until:
                    if (reached := reach()) is not None:  # it may have come to listen just now
                        return reached
                    raise NoDaemon(f"A daemon could not be started: {said}", hint=_what_runs())
                child = None
            if time.monotonic() > deadline:
                raise NoDaemon(
                    f"The daemon that was started does not listen after {START_S:g} s.",
                    hint=f"Its log is {_log_path()}.",
                )
            time.sleep(_PAUSE_S)
    finally:
        os.close(lock)
        os.close(log)


def installed_command() -> list[str]:
    """How this very installation is run, wherever that is: absolute, and never from the current directory."""
    script = os.path.join(os.path.dirname(sys.executable), "workspaced")
    return [script] if os.access(script, os.X_OK) else [sys.executable, "-P", "-m", "workspaced"]


def _command(vaults: Sequence[str], socket_path: str | None, workspace: str | None) -> list[str]:
    made = [sys.executable, "-P", "-m", "workspaced", "serve"]
    made += ["--idle-exit-minutes", str(ON_DEMAND_IDLE_MINUTES)]
    made += ["--socket", os.path.abspath(socket_path)] if socket_path else []
    made += ["--workspace", workspace] if workspace else []
    for vault in vaults:
        made += ["--vault", os.path.abspath(os.path.expanduser(vault))]
    return made


def _spawn(arguments: list[str], log: int) -> "subprocess.Popen[bytes]":
    """Starts it detached: of its own session, in no folder that somebody wants to unmount."""
    import subprocess

    child = subprocess.Popen(  # noqa: S603
        arguments,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=log,
        start_new_session=True,
        cwd="/",
    )
    _started.append(child)
    return child


def _open_files() -> tuple[int, int]:
    try:
        directory = make_state_directory()
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        lock = os.open(os.path.join(directory, "start.lock"), flags, 0o600)
        log = os.open(_log_path(), flags | os.O_APPEND, 0o600)
    except OSError as error:
        raise NoDaemon(
            f"A daemon cannot be started on demand: {error.strerror or error}: {error.filename}.",
            hint="Start one with `workspaced serve --vault DIR`.",
        ) from None
    if os.fstat(log).st_size > START_LOG_BYTES_MAX:
        os.ftruncate(log, 0)
    return lock, log


def _log_path() -> str:
    return os.path.join(make_state_directory(), "started.log")


def _take(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_passing(said: str) -> bool:
    """Whether it failed only over a daemon that is about to listen, or about to be gone."""
    return "[ALREADY_RUNNING]" in said and not any(f"(pid {each.pid})" in said for each in running())


def _what_runs() -> str:
    """For a person who has to choose: what there is already."""
    found = [f"{each.workspace!r} serves {', '.join(each.vaults) or 'nothing'}" for each in running()]
    return f"Running now: {'; '.join(found) or 'none'}. Try `workspaced serve` with the same --vault to see why."


def _said(log: int, begin: int) -> str:
    """The last lines of the log since `begin`, in one."""
    end = os.lseek(log, 0, os.SEEK_END)
    text = os.pread(log, _SAID_BYTES, max(begin, end - _SAID_BYTES)).decode(errors="replace")
    return " ".join(text.split()) or "it said nothing."
