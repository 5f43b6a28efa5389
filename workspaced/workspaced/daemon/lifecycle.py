"""The daemon's lifecycle on one screen: start, run, stop.

One task group owns every task. Starting takes the lock first and opens the socket last, so that every connected
client gets full service; stopping runs in reverse order and writes HEAD last.
"""

import asyncio
import gc
import logging
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import anyio
from anyio import to_thread
from anyio.abc import TaskGroup

from workspaced_events.blobs.evictable import EvictableBlobStore
from workspaced_events.clock import system_clock, system_uptime
from workspaced_events.errors import DiskFull, LogFailed
from workspaced_events.journal.actions import Action
from workspaced_events.journal.opening import open_journal
from workspaced_events.journal.writer import Committed
from workspaced_events.log.disk import RealDisk
from workspaced_events.log.lock import LogLock
from workspaced_events.log.segments import NO_SPACE
from workspaced_events.privacy.erasure import finish_forgetting
from workspaced_events.schema import catalogue as c
from workspaced_tools.vault.files.selected_files import FileChoice
from workspaced_tools.vault.vault import Vault

from ..__about__ import __version__
from ..discovery.own_files import own_folder
from ..discovery.records import Record, announced
from ..ipc.socket_path import bind_socket, inherited_socket, remove_socket
from ..limits import FREE_PAGES_INTERVAL_S, STEP_S, STOP_S, SWITCH_INTERVAL_S
from ..memory.writing import checked_place
from ..recording.call_recorder import Sweeper
from ..server.connection import Server
from ..service.service import Service
from ..service.upkeep import check_known_notes, check_texts, expire_tabs, flush_findings
from ..settings.settings import Settings
from ..traces.live import LiveTraces
from ..traces.wire import TextsFrom
from ..vaults.registration import check_apart, registrations, usable_folder
from ..vaults.served_vault import ServedVault, rules_file
from .freed_memory import give_back_free_pages, give_back_freed_memory

_TAB_EXPIRY_INTERVAL_S: Final = 600.0
logger = logging.getLogger(__name__)

SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def run_daemon(settings: Settings, *, ready: Callable[[Service], None] = lambda _service: None) -> int:
    """Serves until asked to stop; returns the exit code (4 if the log failed).

    Raises:
        WorkspacedError: the daemon could not start.
    """
    return run_loop(partial(_serve, settings, ready))


Serve = Callable[[AsyncIterator[signal.Signals]], Awaitable[int]]


def run_loop(serve: Serve) -> int:
    """Runs a daemon's whole life in this process; returns what `serve` does.

    Args:
        serve: gets the signals that ask the daemon to stop, from its start to its end.
    """
    os.umask(0o077)  # SQLite and the standard library create files by the umask
    give_back_freed_memory()
    # Most objects here are long-lived or free of cycles, so the garbage collector may run less often.
    gc.set_threshold(50_000, 20, 100)
    # Threads parse notes and answer calls; by default each may keep the loop waiting for 5 ms.
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    options = {"use_uvloop": find_spec("uvloop") is not None}
    return anyio.run(_receiving_signals, serve, backend="asyncio", backend_options=options)


async def _receiving_signals(serve: Serve) -> int:
    # Signals are received from start to end: one during start or stop must not leave things half done.
    with anyio.open_signal_receiver(*SIGNALS) as signals:
        return await serve(signals)


async def _serve(
    settings: Settings, ready: Callable[[Service], None], signals: AsyncIterator[signal.Signals]
) -> int:
    folders = list(dict.fromkeys(usable_folder(path) for path in settings.vaults))
    data = settings.data_path.expanduser().absolute()
    cache = settings.cache_path.expanduser().absolute()
    check_apart(folders, data, settings.socket_path, cache)
    memory = None
    if settings.memory is not None:
        memory = checked_place(settings.memory, folders, [data, cache])
    own_folder(data, "data")
    own_folder(cache, "cache")
    lock = LogLock(data)
    try:
        service = await _open(settings, data, memory)
        try:
            inherited = inherited_socket()
            listening = inherited or bind_socket(settings.socket_path)
            bound = None if inherited else settings.socket_path.lstat()
            try:
                await _run(service, settings, folders, listening, signals, ready)
                # The last event: everything that could append another has ended.
                await to_thread.run_sync(service.call_recorder.close)
                flush_findings(service)
                with anyio.move_on_after(STOP_S / 2):
                    await service.publishing.note([Action(c.DaemonStopped(service.stop_reason))])
                await service.traces.finish()
            finally:
                if bound is not None:
                    remove_socket(settings.socket_path, bound)
        finally:
            _close(service)
        return 4 if service.log.failure is not None else 0
    finally:
        lock.close()


async def _run(
    service: Service,
    settings: Settings,
    folders: list[Path],
    listening: socket.socket,
    signals: AsyncIterator[signal.Signals],
    ready: Callable[[Service], None],
) -> None:
    async with anyio.create_task_group() as tasks:
        try:
            tasks.start_soon(stop_on_signal, service, signals)
            await _start(service, settings, folders, tasks)
            server = Server(service, tasks)
            service.client_names = server.client_names
            await server.start(listening)
            if settings.idle_exit_minutes is not None:
                tasks.start_soon(stop_when_idle, service, server, settings.idle_exit_minutes)
            gc.freeze()  # Modules and settings live to the end; a collection that scans them delays calls.
            with _announced(service, settings, listening):
                ready(service)
                await service.stopping.wait()
            await server.stop()
        finally:
            service.stop("failed")  # if a task failed: the watchers' threads ignore a mere cancellation
        tasks.cancel_scope.cancel()


async def _open(settings: Settings, data: Path, memory: Path | None) -> Service:
    loop = asyncio.get_running_loop()
    holder: list[Service] = []

    def deliver(committed: Committed) -> None:
        holder[0].tail.deliver(committed)

    warnings: list[str] = []
    if _finish_forgetting(data, warnings):
        logger.warning("a note was being forgotten, which was interrupted; it is finished now")
    journal = open_journal(
        RealDisk(data), version=__version__, clock=system_clock, uptime=system_uptime, deliver=deliver
    )
    sweeper = Sweeper(EvictableBlobStore(data), settings.record_bytes, settings.record_days)
    record = settings.record == "served" and journal.log.damage is None
    service = Service(
        journal,
        workspace=settings.workspace,
        loop=loop,
        sweeper=sweeper,
        record=record,
        templates=settings.templates_path,
        memory=memory,
        publisher_grace_s=settings.publisher_grace_s,
        is_on_demand=settings.idle_exit_minutes is not None,
        data=data,
        link=settings.link,
        traces=LiveTraces(
            settings.traces, journal.log.log_id, TextsFrom(str(data), settings.deny, settings.on_request)
        ),
    )
    holder.append(service)
    service.warnings[:0] = warnings
    for warning in service.warnings:
        logger.warning("%s", warning)
    service.writer.start()
    service.call_recorder.start()
    if journal.log.damage is None:
        sweeper.start()
    return service


def _finish_forgetting(data: Path, warnings: list[str]) -> bool:
    """Calls `finish_forgetting`; until it succeeds the log is neither the old nor the new one.

    Raises:
        LogError: a disk operation failed.
    """
    try:
        return finish_forgetting(data, warnings)
    except OSError as error:
        kind = DiskFull if error.errno in NO_SPACE else LogFailed
        raise kind(
            f"A note was being forgotten in {data}, and that cannot be finished: {error.strerror}.",
            hint="Free some space or check the disk, and start again.",
        ) from error


async def _start(service: Service, settings: Settings, folders: list[Path], tasks: TaskGroup) -> None:
    served, actions = registrations(service.tail.state, folders, settings.files)
    cache = settings.cache_path.expanduser().absolute()
    first = [*actions, Action(c.DaemonStarted(__version__, os.getpid(), tuple(served)))]
    if not await service.publishing.begin(first):
        tasks.start_soon(service.publishing.begin_once_there_is_room, first)
    await service.pausing.end_if_due()
    tasks.start_soon(service.pausing.run)
    service.views.begin(service.tail.state)
    data = settings.data_path.expanduser().absolute()
    for vault_id, path in served.items():
        folder = Vault(
            path,
            files=FileChoice(settings.files, settings.gitignore),
            cache_dir=cache,
            deny=settings.deny,
            on_request=settings.on_request,
            rules_file=rules_file(data, vault_id),
            cache_bytes_max=settings.cache_bytes,
            on_compared=give_back_free_pages,
        )
        vault = ServedVault(vault_id, path, folder, service.publishing.record_findings)
        service.serve(vault)
        folder.start()
        tasks.start_soon(vault.settle)
        tasks.start_soon(check_known_notes, service, vault)
        if settings.watch:
            tasks.start_soon(vault.watch, service.stopping)
        tasks.start_soon(_every, settings.reconcile_s, vault.reconcile)
    await to_thread.run_sync(service.memory.end_interrupted, service.interrupted_writes)
    tasks.start_soon(check_texts, service)
    await expire_tabs(service)
    tasks.start_soon(service.link.run)
    tasks.start_soon(service.traces.run)
    tasks.start_soon(_every, _TAB_EXPIRY_INTERVAL_S, expire_tabs, service)
    tasks.start_soon(_every, FREE_PAGES_INTERVAL_S, to_thread.run_sync, give_back_free_pages)


@contextmanager
def _announced(service: Service, settings: Settings, listening: socket.socket) -> Iterator[None]:
    """Publishes a record for clients that look for a daemon; without it they must know the socket."""
    record = Record(
        pid=os.getpid(),
        socket=str(Path(os.fsdecode(listening.getsockname())).absolute()),
        workspace=service.workspace,
        version=__version__,
        data_dir=str(settings.data_path.expanduser().absolute()),
        vaults=tuple(str(vault.path) for vault in service.served.values()),
    )
    with ExitStack() as stack:
        try:
            stack.enter_context(announced(record))
        except OSError as error:
            logger.warning("clients cannot find this daemon by itself: %s: %s", error.strerror, error.filename)
        yield


def _close(service: Service) -> None:
    for vault in service.served.values():
        vault.vault.close()
    service.threads.close()
    service.call_recorder.close()
    service.sweeper.close()
    service.writer.close()
    service.levels.close()


async def _every(interval_s: float, function: Callable[..., Awaitable[None]], *args: object) -> None:
    while True:
        await anyio.sleep(interval_s)
        await function(*args)


async def stop_on_signal(service: Service, signals: AsyncIterator[signal.Signals]) -> None:
    """Stops the daemon at the first signal."""
    async for number in signals:
        service.stop(signal.Signals(number).name)


async def stop_when_idle(service: Service, server: Server, minutes: float) -> None:
    """Stops the daemon after `minutes` without a client."""

    def left_s() -> float:
        idle_s = 0.0 if server.idle_since is None else anyio.current_time() - server.idle_since
        return minutes * 60 - idle_s

    while True:
        await anyio.sleep(max(left_s(), 0))
        await anyio.sleep(STEP_S)  # the process may have been stopped; clients that came meanwhile connect first
        if left_s() <= 0:
            service.stop("idle")
            return
