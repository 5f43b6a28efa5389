"""Chooses the daemon a command acts on, and names it to the user.

A command acts on the named daemon; without a name on the one that serves the current directory where several
run, else on the default one, else on the only one that runs. The user confirms a write to a daemon that was
neither named nor is the default one.
"""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ...client.sync_client import socket_from_environment
from ...discovery.records import Record, running, serving
from ...errors import NoDaemon, WorkspaceNotNamed
from .printing import confirm, say

if TYPE_CHECKING:
    from ...client.sync_client import SyncClient

_DEFAULT = "default"


class Target(NamedTuple):
    """The socket of a command's daemon, and why it is this one."""

    socket: Path
    why: str = ""
    """Why a daemon that was not named was chosen; empty for a named or the default one."""


def choose(socket_path: str | None, workspace: str | None, vaults: Sequence[str] = ()) -> Target:
    """Chooses the daemon; it need not run.

    Raises:
        NoDaemon: several daemons run, and none of them can be meant.
    """
    if socket_path or (not workspace and os.environ.get("WORKSPACED_SOCKET")):
        return Target(socket_from_environment(socket_path, workspace))
    records = running()
    if named := workspace or os.environ.get("WORKSPACED_WORKSPACE"):
        default = socket_from_environment(None, named)
        sockets = [Path(each.socket) for each in records if each.workspace == named]
        return Target(default if not sockets or default in sockets else sockets[0])
    if vaults:
        record = serving(records, vaults)
        return Target(Path(record.socket)) if record is not None else Target(_preferred()[0])
    return _unnamed(records)


def _unnamed(records: list[Record]) -> Target:
    socket, name = _preferred()
    if len(records) == 1:
        (only,) = records
        return _of(only, "the only one that runs", is_default=only.workspace == name)
    defaults = [each for each in records if each.workspace == name]
    default = next((each for each in defaults if Path(each.socket) == socket), None)
    if default is None and len(defaults) == 1:
        (default,) = defaults
    if (here := serving(records, _here())) is not None:
        return _of(here, "it serves the current directory", is_default=here == default)
    if default is not None or not records:
        return Target(Path(default.socket) if default is not None else socket)
    raise NoDaemon(
        f"No workspace was named, and the default one ({name!r}) does not run.",
        hint=f"Add one of: {choices(records)}.",
    )


def _of(record: Record, why: str, *, is_default: bool) -> Target:
    return Target(Path(record.socket), "" if is_default else why)


def choices(records: Sequence[Record]) -> str:
    """The options that name each daemon, for a hint."""
    served = [", ".join(each.vaults) or "no vault" for each in records]
    names = [each.workspace for each in records]
    return "; ".join(f"--workspace {name} (serves {vaults})" for name, vaults in zip(names, served, strict=True))


def announce(target: Target, client: "SyncClient", *, always: bool, confirm: bool) -> None:
    """Names the daemon on stderr.

    Args:
        always: also a daemon that was named, or is the default one.
        confirm: the user must agree to any other one.

    Raises:
        WorkspaceNotNamed: the daemon was not named, is not the default one, and nobody can be asked.
        Abort: the user declined.
    """
    if not target.why and not always:
        return
    vaults = ", ".join(each["path"] for each in client.server["vaults"]) or "no vault"
    name = str(client.server["workspace"])
    say(f"workspace {name}: {vaults}{f' ({target.why})' if target.why else ''}", err=True)
    if confirm and target.why:
        _confirm(name)


def _confirm(name: str) -> None:
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise WorkspaceNotNamed(
            f"Workspace {name!r} was not named and is not the default one, so nothing was changed.",
            hint=f"Add --workspace {name}, or set WORKSPACED_WORKSPACE={name}.",
            workspace=name,
        )
    confirm(f"You did not name a workspace. Change {name}?")


def _preferred() -> tuple[Path, str]:
    """The default daemon's socket and workspace, by the settings file if there is one."""
    if not _has_config_file():
        return socket_from_environment(), _DEFAULT
    from ...daemon.settings import load_settings

    settings = load_settings()
    return settings.socket_path, settings.workspace


def _here() -> list[str]:
    try:
        return [str(Path.cwd())]
    except FileNotFoundError:
        return []


def _has_config_file() -> bool:
    if path := os.environ.get("WORKSPACED_CONFIG"):
        return Path(path).exists()
    import platformdirs

    return (platformdirs.user_config_path("workspaced") / "config.toml").exists()
