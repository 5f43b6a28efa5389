"""Connects a command to its daemon."""

from collections.abc import Sequence
from pathlib import Path

from ...client.sync_client import SyncClient, connect
from ...discovery.autostart import reach_or_start
from ...errors import NoDaemon
from .printing import say
from .target import announce, choose

_NAME = "workspaced-cli"


def daemon(
    socket_path: str | None,
    workspace: str | None,
    *,
    vaults: Sequence[str] = (),
    timeout_s: float = 10.0,
    write: bool = False,
    always_named: bool = False,
) -> SyncClient:
    """Connects to the user's daemon; with `vaults` starts one if none runs.

    Args:
        write: the command changes the workspace: its name is printed, and confirmed unless it is named or the
            default one.
        always_named: its name is printed, whether or not the user gave it.

    Raises:
        NoDaemon: none runs, and none could be started; or several run and none can be meant.
        WorkspaceNotNamed: see `write`; nobody can be asked.
    """
    target = choose(socket_path, workspace, vaults)
    client = _connected(target.socket, workspace, vaults, timeout_s)
    try:
        announce(target, client, always=write or always_named, confirm=write)
    except BaseException:
        client.close()
        raise
    return client


def _connected(path: Path, workspace: str | None, vaults: Sequence[str], timeout_s: float) -> SyncClient:
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
            say(
                f"the daemon that runs does not serve {vault}; it answers for its own vaults. To serve it: "
                f"workspaced serve --workspace NAME --vault {vault}",
                err=True,
            )
