"""The life of a daemon over the past: it opens the log, begins a log of its own, serves, and ends.

No record of it is published, so only who knows its socket or its name finds it.
"""

import asyncio
import gc
import shutil
import signal
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

import anyio
import platformdirs
from anyio import to_thread

from workspaced_events.errors import LogLocked
from workspaced_events.journal.opening import open_journal
from workspaced_events.journal.writer import Committed
from workspaced_events.log.data_directory import LOG
from workspaced_events.log.disk import RealDisk
from workspaced_events.log.lock import LogLock
from workspaced_events.private_files import make_folder
from workspaced_events.replay.open import open_source

from ..__about__ import __version__
from ..daemon.lifecycle import run_loop, stop_on_signal, stop_when_idle
from ..discovery.records import make_state_directory
from ..errors import SettingsInvalid
from ..ipc.socket_path import bind_socket, default_socket, remove_socket
from ..server.connection import Server
from .recorded_log import RecordedLog
from .service import PastService

FOLDER: Final = "past"
"""Beside the records of daemons, where nobody looks for any: a folder for each run."""
_RUN_DAYS: Final = 30.0
"""So long after its last call a run is kept."""


class PastSettings(NamedTuple):
    """What a daemon over the past serves, and where."""

    log: Path
    at: int | str | None
    """The moment; None: the end of the log."""
    workspace: str
    socket_path: Path
    idle_exit_minutes: float | None = None


def past_socket(workspace: str) -> Path:
    """The socket of a daemon over the past with that name, which no daemon of the present has.

    Raises:
        SettingsInvalid: it is no name, or that of a workspace that the user has: its clients would find the past.
    """
    path = default_socket(workspace)
    if workspace == "default" or (platformdirs.user_data_path("workspaced") / workspace).exists():
        raise SettingsInvalid(
            f"{workspace!r} names a workspace of yours, whose clients would be answered from the past.",
            hint="Give another name.",
        )
    return path


def run_past(settings: PastSettings, *, ready: Callable[[PastService, Path], None]) -> int:
    """Serves until asked to stop; returns the exit code.

    Args:
        ready: called once the daemon listens, with the folder of the log of this run.

    Raises:
        WorkspacedError: there is no such log or moment, or the daemon could not start.
        OSError: the log cannot be read.
    """
    with open_source(settings.log) as source:
        past = RecordedLog(source, settings.at)
        return run_loop(partial(_serve, settings, past, ready))


async def _serve(
    settings: PastSettings,
    past: RecordedLog,
    ready: Callable[[PastService, Path], None],
    signals: AsyncIterator[signal.Signals],
) -> int:
    listening = bind_socket(settings.socket_path)
    bound = settings.socket_path.lstat()
    try:
        data = _run_folder(settings)
        lock = LogLock(data)
        service = _open(settings, past, data)
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(stop_on_signal, service, signals)
                server = Server(service, tasks)
                service.client_names = server.client_names
                await server.start(listening)
                if settings.idle_exit_minutes is not None:
                    tasks.start_soon(stop_when_idle, service, server, settings.idle_exit_minutes)
                gc.freeze()
                ready(service, data)
                await service.stopping.wait()
                await server.stop()
                tasks.cancel_scope.cancel()
            await to_thread.run_sync(service.call_recorder.close)
        finally:
            service.stop("failed")
            service.threads.close()
            service.call_recorder.close()
            service.writer.close()
            service.levels.close()
            if service.log.tail.seq == past.here.seq:
                shutil.rmtree(data, ignore_errors=True)  # nothing was asked
            lock.close()
    finally:
        remove_socket(settings.socket_path, bound)
    return 0


def _open(settings: PastSettings, past: RecordedLog, data: Path) -> PastService:
    holder: list[PastService] = []

    def deliver(committed: Committed) -> None:
        holder[0].tail.deliver(committed)

    disk = RealDisk(data)
    past.start.write(disk)
    journal = open_journal(disk, version=__version__, clock=lambda: past.here.time, deliver=deliver)
    loop = asyncio.get_running_loop()
    service = PastService(journal, past, workspace=settings.workspace, loop=loop, data=data)
    holder.append(service)
    service.writer.start()
    service.call_recorder.start()
    return service


def _run_folder(settings: PastSettings) -> Path:
    """A new folder for the log of this run.

    Raises:
        SettingsInvalid: it cannot be made.
    """
    try:
        runs = Path(make_state_directory()).parent / FOLDER
        make_folder(runs)
        # Runs that no daemon serves and whose log was last written long ago go.
        before = time.time() - _RUN_DAYS * 86_400
        for run in runs.iterdir():
            with suppress(OSError, LogLocked), closing(LogLock(run)):
                if max(each.stat().st_mtime for each in (run / LOG, *(run / LOG).iterdir())) < before:
                    shutil.rmtree(run)
        return Path(tempfile.mkdtemp(prefix=f"{settings.workspace}-", dir=runs))
    except OSError as error:
        raise SettingsInvalid(
            f"The folder for the log of this run cannot be made: {error.strerror or error}: {error.filename}.",
            hint="Check the state directory's permissions and its disk.",
        ) from error
