"""The source of recorded calls for a command: a running daemon, or a log without one."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import NamedTuple, Protocol

import msgspec

from workspaced_events.errors import InvalidArgument
from workspaced_events.projections.workspace_state import StateJson, to_json
from workspaced_events.replay.open import open_source
from workspaced_events.replay.source import StoredSource
from workspaced_events.schema.catalogue import ToolCalled
from workspaced_events.schema.codec import decode_event
from workspaced_events.schema.decoding import converted, decoded
from workspaced_tools.recording.format import Recording
from workspaced_tools.recording.recorded_calls import (
    Listed,
    RecordedCall,
    Wanted,
    checked_call,
    listed,
    recorded_call,
)

from ...client.sync_client import SyncClient
from ...discovery.records import running
from ...errors import NoDaemon
from .connection import daemon
from .output import print_warnings, segment_progress

_ANSWER_S = 60.0
"""A daemon may have to search a long log for rare calls."""
_PAGE_CALLS = 1_000


class CallReader(Protocol):
    """Reads recorded calls from a daemon or a log."""

    def latest(self, wanted: Wanted, limit: int) -> list[Listed]:
        """The latest calls, newest last."""
        ...

    def call(self, seq: int) -> RecordedCall:
        """The call recorded at a sequence.

        Raises:
            InvalidArgument, RemoteError: there is no such call.
        """
        ...

    def state(self, called: ToolCalled) -> StateJson | None:
        """The state that answered a call; None if the log begins later."""
        ...


@contextmanager
def call_reader(log: str | None, socket_path: str | None, workspace: str | None) -> Iterator[CallReader]:
    """Reads `log` if given; otherwise asks the daemon; if none runs, reads the workspace's log.

    Raises:
        NoDaemon: the named daemon does not run.
        InvalidArgument: `log` is no log, or there is none.
    """
    client = _running(socket_path, workspace) if log is None else None
    if client is not None:
        with client:
            yield DaemonCalls(client)
        return
    with open_log(log, workspace) as source:
        yield LogCalls(source)


@contextmanager
def call_source(log: str | None, socket_path: str | None, workspace: str | None) -> Iterator[StoredSource]:
    """Like `call_reader`, but always as a log: the daemon's own log is read from its files.

    Raises:
        NoDaemon: the named daemon does not run, or its log's location is unknown.
        InvalidArgument: `log` is no log, or there is none.
    """
    client = _running(socket_path, workspace) if log is None else None
    if client is not None:
        with client:
            log = str(data_directory(client))
    with open_log(log, workspace) as source:
        yield source


def open_log(log: str | None, workspace: str | None) -> StoredSource:
    """The log named by `LOG`, by default that of the workspace.

    Raises:
        InvalidArgument: there is no such log.
        NoDaemon: the workspace has no log yet.
    """
    if log is not None:
        return open_source(sys.stdin.buffer if log == "-" else Path(log))
    return open_source(directory_of_workspace(workspace))


def directory_of_workspace(workspace: str | None) -> Path:
    """The data directory of a workspace, whose daemon need not run.

    Raises:
        InvalidArgument, NoDaemon: there is no log in it.
    """
    from ...daemon.settings import load_settings
    from .log_target import announce_log, check_log

    settings = load_settings(workspace=workspace)
    data = settings.data_path.expanduser()
    check_log(settings, data)
    announce_log(settings, data, why="no daemon was asked; ")
    return data


class RunningDaemon(NamedTuple):
    """A daemon that answers."""

    socket: Path
    data: Path
    """Its data directory."""


def data_directory(client: SyncClient) -> Path:
    """The daemon's data directory, after every answered call was recorded there.

    Raises:
        NoDaemon: the directory is unknown.
    """
    client.call("workspaced/calls", {"limit": 1})  # waits until the calls are recorded
    place = client.path.resolve()
    for record in running():
        if Path(record.socket).resolve() == place:
            return Path(record.data_dir)
    raise NoDaemon(
        f"The daemon at {client.path} does not say where its log is.", hint="Name its directory instead."
    )


def directory_of_daemon(socket_path: str | None, workspace: str | None) -> Path | None:
    """The data directory of the command's daemon; None if it does not run.

    Raises:
        NoDaemon: the named socket has no daemon, or its directory is unknown.
    """
    found = daemon_that_runs(socket_path, workspace)
    return found.data if found is not None else None


def daemon_that_runs(socket_path: str | None, workspace: str | None) -> RunningDaemon | None:
    """The command's daemon; None if it does not run.

    Raises:
        NoDaemon: the named socket has no daemon, or its directory is unknown.
    """
    client = _running(socket_path, workspace)
    if client is None:
        return None
    with client:
        return RunningDaemon(client.path, data_directory(client))


def daemon_of_directory(data: Path) -> RunningDaemon | None:
    """The daemon that writes the log of a data directory; None if none runs."""
    place = data.resolve()
    for record in running():
        if Path(record.data_dir).resolve() == place:
            return RunningDaemon(Path(record.socket), data)
    return None


def _running(socket_path: str | None, workspace: str | None) -> SyncClient | None:
    try:
        return daemon(socket_path, workspace, timeout_s=_ANSWER_S)
    except NoDaemon:
        if socket_path or os.environ.get("WORKSPACED_SOCKET"):
            raise
        return None


class DaemonCalls:
    """Implements `CallReader` over a running daemon."""

    def __init__(self, client: SyncClient) -> None:
        self._client = client

    def latest(self, wanted: Wanted, limit: int) -> list[Listed]:
        params = {"tool": wanted.tool, "caller": wanted.caller, "limit": min(limit, _PAGE_CALLS)}
        calls: list[Listed] = []
        while len(calls) < limit:
            page = converted(self._client.call("workspaced/calls", params)["calls"], list[Listed])
            fitting = [each for each in page if not wanted.is_before(each) and not (wanted.failed and each.ok)]
            calls = fitting[-(limit - len(calls)) :] + calls
            if not page or wanted.is_before(page[0]):
                break
            params["before"] = page[0].seq
        return calls

    def call(self, seq: int) -> RecordedCall:
        wire = self._client.call("workspaced/call", {"seq": seq})
        event = decode_event(msgspec.json.encode(wire.pop("event")))
        recording = decoded(msgspec.json.encode(wire.pop("recording")), Recording | None)
        return RecordedCall(event=event, recording=recording, **wire)

    def state(self, called: ToolCalled) -> StateJson | None:
        return converted(self._client.state(at=called.as_of_seq), StateJson)


class LogCalls:
    """Implements `CallReader` over a log; a damaged one has the calls before its damage."""

    def __init__(self, source: StoredSource) -> None:
        from ... import replay

        with segment_progress("reading") as progress:
            self._log = replay.Log(source, until_damage=True, progress=progress)

    def latest(self, wanted: Wanted, limit: int) -> list[Listed]:
        print_warnings(self._log.warnings)
        if self._log.damage is not None:
            raise self._log.damage
        found = islice(filter(wanted.takes, reversed(self._log.events())), limit)
        return [listed(event, self._log.blob) for event in found][::-1]

    def call(self, seq: int) -> RecordedCall:
        event = next(self._log.events_of(after=seq - 1, before=seq + 1), None)
        if event is None and self._log.damage is not None:
            raise self._log.damage
        return recorded_call(checked_call(event, seq), self._log.blob)

    def state(self, called: ToolCalled) -> StateJson | None:
        try:
            return to_json(self._log.at(called.as_of_seq).state)
        except InvalidArgument:
            return None
