"""Chooses a command's daemon and connects to it."""

import os
from collections.abc import Sequence
from pathlib import Path

import click

from ...client.sync_client import SyncClient, connect, socket_from_environment
from ...discovery.autostart import reach_or_start
from ...discovery.records import running, serving
from ...errors import NoDaemon

_NAME = "workspaced-cli"


def daemon(
    socket_path: str | None, workspace: str | None, *, vaults: Sequence[str] = (), timeout_s: float = 10.0
) -> SyncClient:
    """Connects to the user's daemon; with `vaults` starts one if none runs.

    Raises:
        NoDaemon: none runs, and none could be started.
    """
    path = _socket(socket_path, workspace, vaults)
    try:
        client = connect(path, name=_NAME, timeout_s=timeout_s)
        _mention_unserved(client, vaults)
        return client
    except NoDaemon:
        if not vaults:
            raise

    def reach() -> SyncClient | None:
        try:
            return connect(path, name=_NAME, timeout_s=timeout_s)
        except NoDaemon:
            return None

    return reach_or_start(reach, vaults=vaults, socket_path=str(path), workspace=workspace)


def _mention_unserved(client: SyncClient, vaults: Sequence[str]) -> None:
    served = {each["path"] for each in client.server["vaults"]}
    for vault in vaults:
        if str(Path(vault).expanduser().resolve()) not in served:
            click.echo(f"the daemon that runs does not serve {vault}; it answers for its own vaults", err=True)


def _socket(socket_path: str | None, workspace: str | None, vaults: Sequence[str]) -> Path:
    """The socket of the daemon: the named socket or workspace; else the daemon that serves the named folders; else
    the only running daemon, or of several the one that serves the current directory; else the default one."""
    if socket_path or (not workspace and os.environ.get("WORKSPACED_SOCKET")):
        return socket_from_environment(socket_path, workspace)
    records = running()
    if named := workspace or os.environ.get("WORKSPACED_WORKSPACE"):
        default = socket_from_environment(None, named)
        sockets = [Path(each.socket) for each in records if each.workspace == named]
        return default if not sockets or default in sockets else sockets[0]
    record = records[0] if len(records) == 1 and not vaults else serving(records, vaults or _here())
    return Path(record.socket) if record is not None else _preferred()


def _preferred() -> Path:
    """The default daemon's socket, by the settings file or the workspace's name."""
    if not _has_config_file():
        return socket_from_environment()
    from ...daemon.settings import load_settings

    return load_settings().socket_path


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
