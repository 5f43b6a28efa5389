"""Starts a daemon on demand: exactly one, however many clients need it at once.

The client that gets the lock starts the daemon; every client tries repeatedly to reach it. If two daemons start
nevertheless, the log's lock decides: the second one ends at once, and its client finds the first.

Imports only a small part of the standard library, because the bridge uses this module.
"""

import fcntl
import os
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, TypeVar

from workspaced_events.interpreter import own_module

from ..errors import NoDaemon, TimedOut
from ..limits import ON_DEMAND_IDLE_MINUTES, START_S
from .records import make_state_directory, running, state_directory

if TYPE_CHECKING:
    import subprocess

_START_LOG_BYTES_MAX: Final = 1024 * 1024
"""The log file of daemons started on demand is emptied above this size."""
_OTHER_S: Final = 3.0
"""How long to wait for a daemon that holds the log but does not listen: it is starting or ending."""
GONE_S: Final = 15.0
"""How long to wait for a daemon that was asked to end."""
T = TypeVar("T")

_PAUSE_S: Final = 0.02
_OUTPUT_BYTES_MAX: Final = 4096
_started: Final[list["subprocess.Popen[bytes]"]] = []
"""Kept until exit, so that nobody waits for a daemon that outlives its starter."""


def reach_or_start(
    reach: Callable[[], T | None],
    *,
    vaults: Sequence[str] = (),
    socket_path: str | None = None,
    workspace: str | None = None,
    idle_minutes: float | None = ON_DEMAND_IDLE_MINUTES,
    pause: Callable[[float], object] = time.sleep,
) -> T:
    """Returns the result of `reach` once it is not None; starts a daemon if it is None.

    Args:
        reach: tries to reach the daemon; called every 20 ms while one starts.
        vaults: folders for the daemon to serve, in addition to the settings'.
        socket_path: where the daemon is to listen; default: the settings'.
        workspace: the daemon's workspace; default: the settings'; where the default one serves other folders, that
            of the first folder's own.
        idle_minutes: the daemon ends after so long without a client; None: never.
        pause: waits for so many seconds at most; what it raises ends the wait, and a daemon that starts goes on.

    Raises:
        NoDaemon: no daemon could be started; the message holds its output.
    """
    if (reached := reach()) is not None:
        return reached
    lock, log = _open_files()
    child: subprocess.Popen[bytes] | None = None
    deadline = time.monotonic() + START_S
    other_until: float | None = None
    try:
        while True:
            is_starter = child is not None or _take(lock)
            # After taking the lock: its former holder may have started a daemon.
            if (reached := reach()) is not None:
                return reached
            if is_starter and child is None:
                begin = os.lseek(log, 0, os.SEEK_END)
                wanted = workspace or (own_workspace(vaults[0]) if vaults and socket_path is None else None)
                child = _spawn(_command(vaults, socket_path, wanted, idle_minutes), log)
            if child is not None and child.poll() is not None:
                output = _output(log, begin)
                other_until = other_until or time.monotonic() + _OTHER_S
                if not _is_passing(output) or time.monotonic() > other_until:
                    if (reached := reach()) is not None:  # another daemon may be listening by this time
                        return reached
                    raise NoDaemon(f"A daemon could not be started: {output}", hint=_what_runs())
                child = None
            if time.monotonic() > deadline:
                raise NoDaemon(
                    f"The daemon that was started does not listen after {START_S:g} s.",
                    hint=f"Its log is {_log_path()}; is there room on that disk?",
                )
            pause(_PAUSE_S)
    finally:
        os.close(lock)
        os.close(log)


def end_started() -> bool:
    """Ends the daemons that this process started, and waits until they are gone; returns whether there were any.

    Raises:
        TimedOut: one lives on.
    """
    import subprocess

    living = [child for child in _started if child.poll() is None]
    for child in living:
        child.terminate()
    for child in living:
        try:
            child.wait(GONE_S)
        except subprocess.TimeoutExpired:
            raise lives_on(child.pid) from None
    return bool(living)


def lives_on(pid: int) -> TimedOut:
    """The error that a daemon was asked to end and has not."""
    return TimedOut(f"The daemon (pid {pid}) has not ended after {GONE_S:g} s.", hint=f"kill {pid}")


def own_workspace(vault: str) -> str | None:
    """The workspace of a folder's own, if it had one before, or needs one because the default one serves others.

    None: the default one; also where the user has said what a workspace holds.
    """
    if any(os.environ.get(name) for name in ("WORKSPACED_WORKSPACE", "WORKSPACED_DATA_DIR", "WORKSPACED_CONFIG")):
        return None
    import hashlib
    import re

    import platformdirs

    path = os.path.realpath(os.path.expanduser(vault))
    words = re.sub(r"[^a-z0-9]+", "-", os.path.basename(path).lower()).strip("-")
    name = f"{words[:20].strip('-') or 'notes'}-{hashlib.sha256(os.fsencode(path)).hexdigest()[:6]}"
    had_one = os.path.isdir(platformdirs.user_data_path("workspaced") / name)
    return name if had_one or any(each.workspace == "default" for each in running()) else None


def _command(
    vaults: Sequence[str], socket_path: str | None, workspace: str | None, idle_minutes: float | None
) -> list[str]:
    arguments = own_module("workspaced", "serve")
    arguments += ["--idle-exit-minutes", str(idle_minutes)] if idle_minutes is not None else []
    arguments += ["--socket", os.path.abspath(socket_path)] if socket_path else []
    arguments += ["--workspace", workspace] if workspace else []
    for vault in vaults:
        arguments += ["--vault", os.path.abspath(os.path.expanduser(vault))]
    return arguments


def _spawn(arguments: list[str], log: int) -> "subprocess.Popen[bytes]":
    """Starts the daemon detached: in its own session, outside of any folder that may be unmounted."""
    import subprocess

    from workspaced_events.interrupts import interrupts_held_back

    with interrupts_held_back():  # else it may run, and `_started` not know of it
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
            f"A daemon cannot be started on demand, because its records belong in {state_directory()}: "
            f"{error.filename}: {error.strerror or error}.",
            hint="Set HOME to a folder that you may write to, or run it without records: "
            "`workspaced serve --vault DIR --data-dir DIR`.",
        ) from None
    if os.fstat(log).st_size > _START_LOG_BYTES_MAX:
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


def _is_passing(output: str) -> bool:
    """Whether the failure is only due to another daemon that is about to listen or to exit."""
    return "[ALREADY_RUNNING]" in output and not any(f"(pid {each.pid})" in output for each in running())


def _what_runs() -> str:
    """The running daemons, as the hint of an error that says what to do."""
    serving = [f"{each.workspace!r} serves {', '.join(each.vaults) or 'nothing'}" for each in running()]
    return f"Running now: {'; '.join(serving) or 'none that this home has a record of'}."


def _output(log: int, begin: int) -> str:
    """The last output in the log since `begin`, on one line."""
    end = os.lseek(log, 0, os.SEEK_END)
    text = os.pread(log, _OUTPUT_BYTES_MAX, max(begin, end - _OUTPUT_BYTES_MAX)).decode(errors="replace")
    return " ".join(text.split()).removeprefix("workspaced: ") or "it said nothing."
