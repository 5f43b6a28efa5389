"""The daemon that `workspaced mcp` is asked for: its arguments, and how it is found or started.

Imports only a small part of the standard library, because every agent has its own bridge process.
"""

import os
import socket
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from ..discovery.records import Record, is_listening, running, serving
from ..errors import NoDaemon
from ..ipc.greeting import CHOICES
from ..ipc.peer import open_socket


class Target(NamedTuple):
    """The requested daemon; missing fields are unspecified."""

    socket_path: str | None = None
    workspace: str | None = None
    vaults: tuple[str, ...] = ()
    tools: str | None = None
    """The tools that the agent's list shows: `core` or `all`."""


def plain_options(arguments: Sequence[str], *names: str) -> tuple[list[str], dict[str, list[str]]] | None:
    """The words that are none of these options, and the values of each; None if the last one lacks its value."""
    values: dict[str, list[str]] = {name: [] for name in names}
    words, rest = list[str](), list(arguments)
    while rest:
        word, equals, value = rest.pop(0).partition("=")
        name = word.removeprefix("--")
        if name == word or name not in values:
            words.append(word)
        elif equals or rest:
            values[name].append(value if equals else rest.pop(0))
        else:
            return None
    return words, values


def target_of(arguments: Sequence[str]) -> Target | None:
    """Parses plain arguments; None if there are others, which the full command line handles."""
    parsed = plain_options(arguments, "socket", "workspace", "vault", "tools")
    if parsed is None or parsed[0] or not CHOICES.issuperset(parsed[1]["tools"]):
        return None
    last = {name: values[-1] for name, values in parsed[1].items() if values}
    vaults = tuple(parsed[1]["vault"])
    return Target(last.get("socket"), last.get("workspace"), vaults, last.get("tools"))


def connect(target: Target) -> tuple[socket.socket, str]:
    """Connects to the requested daemon; starts one if none runs and there is a folder to serve.

    Returns the connection, and the path of the daemon's socket.

    Raises:
        NoDaemon: none runs and none can be started, or several run and the request is ambiguous.
    """
    path, workspace = named(target)

    def reach() -> tuple[socket.socket, str] | None:
        found = path or _locate(workspace, target.vaults)
        connection = open_socket(found) if found is not None else None
        return (connection, str(found)) if connection is not None else None

    if (reached := reach()) is not None:
        return reached
    if not target.vaults and not _settings_name_vaults():
        where = f" on {path}" if path else f" for the workspace {workspace!r}" if workspace else ""
        raise NoDaemon(
            f"No daemon runs{where}, and no folder is named for which one could be started.",
            hint="Give `--vault DIR`, or start one with `workspaced start DIR`.",
        )
    from ..discovery.autostart import reach_or_start

    return reach_or_start(reach, vaults=target.vaults, socket_path=path, workspace=workspace)


def named(target: Target) -> tuple[str | None, str | None]:
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
