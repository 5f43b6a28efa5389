"""Where commands about recorded calls read: a running daemon, or a log without one."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import msgspec

from workspaced_events.projections.workspace_state import StateJson, to_json
from workspaced_events.replay.open import open_source
from workspaced_events.replay.replay import replay
from workspaced_events.replay.source import Source
from workspaced_events.schema.catalogue import ToolCalled
from workspaced_events.schema.codec import decode_event
from workspaced_tools.recording.format import Recording
from workspaced_tools.recording.recorded_calls import KeptCall, Listed, Wanted, find, kept_call, latest, listed

from ...client.sync_client import SyncClient
from ...discovery.records import running
from ...errors import NoDaemon
from .connection import daemon
from .output import print_warnings, segment_progress

_ANSWER_S = 60.0
"""A daemon may have to look through a long log for rare calls."""
_PAGE_CALLS = 1_000


class CallReader(Protocol):
    """Recorded calls, wherever they are kept."""

    def latest(self, wanted: Wanted, limit: int) -> list[Listed]:
        """The latest calls, newest last."""
        ...

    def call(self, seq: int) -> KeptCall:
        """The call recorded at a sequence.

        Raises:
            InvalidArgument, RemoteError: there is none.
        """
        ...

    def state(self, called: ToolCalled) -> StateJson | None:
        """The state that a call was answered from; None where the log does not reach back so far."""
        ...


@contextmanager
def call_reader(log: str | None, socket_path: str | None, workspace: str | None) -> Iterator[CallReader]:
    """Reads in `log` if one is given; else asks the daemon; else reads the log of the workspace.

    Raises:
        NoDaemon: the one that is named does not run.
        InvalidArgument: `log` is none, or there is none.
    """
    client = _running(socket_path, workspace) if log is None else None
    if client is not None:
        with client:
            yield DaemonCalls(client)
        return
    with open_log(log, workspace) as source:
        yield LogCalls(source)


@contextmanager
def call_source(log: str | None, socket_path: str | None, workspace: str | None) -> Iterator[Source]:
    """The same, always as a log: that of the daemon is read beside it.

    Raises:
        NoDaemon: the one that is named does not run, or does not say where its log is.
        InvalidArgument: `log` is none, or there is none.
    """
    client = _running(socket_path, workspace) if log is None else None
    if client is not None:
        with client:
            log = str(data_directory(client))
    with open_log(log, workspace) as source:
        yield source


def open_log(log: str | None, workspace: str | None) -> Source:
    """The log that `LOG` means; without it that of the workspace.

    Raises:
        InvalidArgument: there is none.
    """
    if log is not None:
        return open_source(sys.stdin.buffer if log == "-" else Path(log))
    from ...daemon.settings import load_settings

    return open_source(load_settings(workspace=workspace).data_path.expanduser())


def data_directory(client: SyncClient) -> Path:
    """Where the daemon's log lies, with every call in it that was answered.

    Raises:
        NoDaemon: it does not say.
    """
    client.call("workspaced/calls", {"limit": 1})  # waits until they are
    place = client.path.resolve()
    for record in running():
        if Path(record.socket).resolve() == place:
            return Path(record.data_dir)
    raise NoDaemon(
        f"The daemon at {client.path} does not say where its log is.", hint="Name its directory instead."
    )


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
        found: list[Listed] = []
        while len(found) < limit:
            page = msgspec.convert(self._client.call("workspaced/calls", params)["calls"], list[Listed])
            fitting = [each for each in page if not wanted.is_before(each) and not (wanted.failed and each.ok)]
            found = fitting[-(limit - len(found)) :] + found
            if not page or wanted.is_before(page[0]):
                break
            params["before"] = page[0].seq
        return found

    def call(self, seq: int) -> KeptCall:
        wire = self._client.call("workspaced/call", {"seq": seq})
        recording = wire["recording"]
        return KeptCall(
            event=decode_event(msgspec.json.encode(wire["event"])),
            arguments=wire["arguments"],
            result=wire["result"].encode() if wire["result"] is not None else None,
            recording=msgspec.json.decode(msgspec.json.encode(recording), type=Recording) if recording else None,
            why=wire["why"],
        )

    def state(self, called: ToolCalled) -> StateJson | None:
        return msgspec.convert(self._client.state(at=called.as_of_seq), StateJson)


class LogCalls:
    """Implements `CallReader` over a log."""

    def __init__(self, source: Source) -> None:
        self._source = source

    def latest(self, wanted: Wanted, limit: int) -> list[Listed]:
        with segment_progress("reading") as progress:
            found, warnings = latest(self._source, wanted, limit, progress)
        print_warnings(warnings)
        return [listed(event, self._source.blob) for event in found]

    def call(self, seq: int) -> KeptCall:
        return kept_call(find(self._source, seq), self._source.blob)

    def state(self, called: ToolCalled) -> StateJson | None:
        if called.as_of_seq < self._source.start.seq:
            return None
        return to_json(replay(self._source, until=called.as_of_seq).state)
