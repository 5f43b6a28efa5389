"""`workspaced mcp`: copies bytes between an agent's pipes and the daemon's socket, without looking at them. Only a
choice of tools is sent before the agent's first byte.

Two threads, one for each direction, block in system calls: a side that does not read is not read from, each
direction holds at most one chunk, and neither waits for the other. What was asked before the agent closed its end
is answered.

Imports only a small part of the standard library, because every agent has its own bridge process.
"""

import _thread
import os
import socket
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Final, NamedTuple

from workspaced_events.errors import WorkspacedError

from ..discovery.records import Record, is_listening, running, serving
from ..errors import NoDaemon
from ..ipc.peer import open_socket
from ..ipc.tool_choice import CHOICES, chosen
from ..limits import BRIDGE_CHUNK_BYTES, BRIDGE_LINGER_S

_USAGE_EXIT: Final = 2
_NO_DAEMON_EXIT: Final = 3
_INTERRUPTED_EXIT: Final = 130


class Target(NamedTuple):
    """The requested daemon; missing fields are unspecified."""

    socket_path: str | None = None
    workspace: str | None = None
    vaults: tuple[str, ...] = ()
    tools: str | None = None
    """The tools that the agent's list shows: `core` or `all`."""


def target_of(arguments: Sequence[str]) -> Target | None:
    """Parses plain arguments; None if there are others, which the full command line handles."""
    names = {"--socket": "socket_path", "--workspace": "workspace", "--vault": "vaults", "--tools": "tools"}
    values_of: dict[str, list[str]] = {name: [] for name in names.values()}
    rest = list(arguments)
    while rest:
        option, equals, value = rest.pop(0).partition("=")
        if option not in names or not (equals or rest):
            return None
        values_of[names[option]].append(value if equals else rest.pop(0))
    if not CHOICES.issuperset(values_of["tools"]):
        return None
    last = {name: values[-1] for name, values in values_of.items() if values and name != "vaults"}
    return Target(**last, vaults=tuple(values_of["vaults"]))


def run(target: Target) -> int:
    """Connects standard input and output with the daemon until either side ends; returns the exit code.

    0 if the agent ended it, 3 if no daemon could be reached or it went away, 130 if interrupted.
    """
    if sys.stdin is None or sys.stdout is None:
        _say("workspaced: Standard input or output is closed; an agent's runtime opens them. [INVALID_ARGUMENT]")
        return _USAGE_EXIT
    if os.isatty(0):
        _say("workspaced mcp talks to an agent, not to a person; see `workspaced mcp --print-config CLIENT`.")
    first = chosen(target.tools) if target.tools is not None else b""
    try:
        connection = connect(target)
        connection.sendall(first)
        return _Bridge(connection).run()
    except WorkspacedError as error:
        return _complain(error.message, error.hint)
    except KeyboardInterrupt:
        return _INTERRUPTED_EXIT


def connect(target: Target) -> socket.socket:
    """Connects to the requested daemon; starts one if none runs and there is a folder to serve.

    Raises:
        NoDaemon: none runs and none can be started, or several run and the request is ambiguous.
    """
    path, workspace = _named(target)

    def reach() -> socket.socket | None:
        socket_found = path or _locate(workspace, target.vaults)
        return open_socket(socket_found) if socket_found is not None else None

    if (connection := reach()) is not None:
        return connection
    if not target.vaults and not _settings_name_vaults():
        where = f" on {path}" if path else f" for the workspace {workspace!r}" if workspace else ""
        raise NoDaemon(
            f"No daemon runs{where}, and no folder is named for which one could be started.",
            hint="Give `--vault DIR`, or start one with `workspaced serve --vault DIR`.",
        )
    from ..discovery.autostart import reach_or_start

    return reach_or_start(reach, vaults=target.vaults, socket_path=path, workspace=workspace)


def _named(target: Target) -> tuple[str | None, str | None]:
    """The socket or workspace from the flags, else from the environment; the socket takes precedence."""
    if target.socket_path is None and target.workspace is not None:
        return None, target.workspace
    path = target.socket_path or os.environ.get("WORKSPACED_SOCKET") or None
    return path, None if path else os.environ.get("WORKSPACED_WORKSPACE") or None


def _locate(workspace: str | None, vaults: Sequence[str]) -> str | None:
    records = running()
    if workspace is not None:
        named = [each for each in records if each.workspace == workspace]
        if not named:
            return _default_socket(workspace)
        return _that_serves(named, vaults).socket
    if vaults:
        record = serving(records, vaults)
        return record.socket if record else None
    if not records:
        return _default_socket("default")
    if len(records) == 1:
        return records[0].socket
    with suppress(FileNotFoundError):  # the current directory may be gone
        if (record := serving(records, [os.getcwd()])) is not None:
            return record.socket
    listed = "; ".join(f"--workspace {each.workspace} (serves {', '.join(each.vaults)})" for each in records)
    raise NoDaemon("Several daemons run, and none serves the current directory.", hint=f"Give one of: {listed}.")


def _that_serves(named: Sequence[Record], vaults: Sequence[str]) -> Record:
    """Refuses a daemon that does not serve the folders named for the agent."""
    record = serving(named, vaults) if vaults else named[0]
    if record is None:
        served = ", ".join(named[0].vaults) or "nothing"
        raise NoDaemon(
            f"The daemon of the workspace {named[0].workspace!r} serves {served}, not {', '.join(vaults)}.",
            hint="Start it with that folder too, or give another --workspace.",
        )
    return record


def _default_socket(workspace: str) -> str | None:
    """The default socket, if a daemon listens there; it may have been unable to write its record."""
    from ..ipc.socket_path import default_socket

    path = str(default_socket(workspace))
    return path if is_listening(path) else None


def _settings_name_vaults() -> bool:
    if os.environ.get("WORKSPACED_VAULTS"):
        return True
    import tomllib

    import platformdirs

    config = os.environ.get("WORKSPACED_CONFIG") or os.path.join(
        platformdirs.user_config_path("workspaced"), "config.toml"
    )
    with suppress(OSError, ValueError), open(config, "rb") as file:
        return bool(tomllib.load(file).get("vaults"))
    return False


# -- copying --


class _Bridge:
    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._agent_ended = False

    def run(self) -> int:
        """Copies both ways until either side ends; returns the exit code."""
        for descriptor in (0, 1):
            os.set_blocking(descriptor, True)  # a former user of the pipes may have made them non-blocking
        _thread.start_new_thread(self._agent_to_daemon, ())
        with suppress(ConnectionError):
            while data := self._connection.recv(BRIDGE_CHUNK_BYTES):
                try:
                    _write_all(data)
                except OSError:
                    return 0  # the agent no longer reads: it is gone
        if self._agent_ended:
            return 0
        return _complain("The daemon has ended the connection.", "See `workspaced status`, and reconnect.")

    def _agent_to_daemon(self) -> None:
        with suppress(OSError):  # of the socket: the other direction sees the end too, and reports it
            while data := _read():
                self._connection.sendall(data)
            self._agent_ended = True
            self._connection.shutdown(socket.SHUT_WR)
            # A daemon that does not answer must not keep a bridge without an agent.
            time.sleep(BRIDGE_LINGER_S)
            os._exit(0)


def _read() -> bytes:
    try:
        return os.read(0, BRIDGE_CHUNK_BYTES)
    except OSError:
        return b""


def _write_all(data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(1, left) :]


def _complain(message: str, hint: str) -> int:
    _say(f"workspaced: {message} [NO_DAEMON]")
    _say(f"  {hint}")
    return _NO_DAEMON_EXIT


def _say(line: str) -> None:
    if sys.stderr is not None:
        with suppress(OSError):
            os.write(2, line.encode("utf-8", "backslashreplace") + b"\n")
