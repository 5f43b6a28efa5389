"""Chooses the daemon a command acts on, names it to the user, and connects to it.

A command acts on the named daemon; without a name on the one that serves the current directory where several
run, else on the default one, else on the only one that runs. The user confirms a write to a daemon that was
neither named nor is the default one.
"""

import os
import shlex
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from workspaced_events.errors import WorkspacedError

from ..client.sync_client import SyncClient, connect, socket_from_environment
from ..discovery.autostart import GONE_S, lives_on, reach_or_start
from ..discovery.records import Record, running, serving
from ..errors import NoDaemon
from .options import given
from .printing import confirm, say

_NAME = "workspaced-cli"


def ask(
    method: str, params: dict[str, Any] | None = None, *, write: bool = False, always_named: bool = False
) -> Any:
    """The answer of the command's daemon; a parameter that is None is left out. For the rest see `daemon`."""
    with daemon(write=write, always_named=always_named) as client:
        return client.call(method, {name: value for name, value in (params or {}).items() if value is not None})


def daemon(
    *, vaults: Sequence[str] = (), timeout_s: float = 10.0, write: bool = False, always_named: bool = False
) -> SyncClient:
    """Connects to the user's daemon; with `vaults` starts one if none runs.

    Args:
        write: the command changes the workspace: its name is printed, and confirmed unless it is named or the
            default one.
        always_named: its name is printed, whether or not the user gave it.

    Raises:
        NoDaemon: none runs, and none could be started; or several run and none can be meant.
        WorkspacedError: WORKSPACE_NOT_NAMED: see `write`; nobody can be asked.
    """
    target = choose(vaults)
    client = _connected(target.socket, vaults, timeout_s)
    try:
        _announce(target, client, always=write or always_named, is_write=write)
    except BaseException:
        client.close()
        raise
    return client


def _connected(path: Path, vaults: Sequence[str], timeout_s: float) -> SyncClient:
    def reach() -> SyncClient | None:
        try:
            return connect(path, name=_NAME, timeout_s=timeout_s)
        except NoDaemon as error:
            if vaults:
                return None
            if not (others := choices(running())):
                raise
            raise NoDaemon(error.message, hint=f"{error.hint} Or add one of: {others}.") from None

    if (client := reach()) is None:
        return reach_or_start(reach, vaults=vaults, socket_path=str(path), workspace=given("workspace"))
    served = {each["path"] for each in client.server["vaults"]}
    for vault in vaults:
        if str(Path(vault).expanduser().resolve()) not in served:
            say(
                f"the daemon that runs does not serve {vault}; it answers for its own vaults. To serve it: "
                f"workspaced start {shlex.quote(vault)}",
                err=True,
            )
    return client


class Target(NamedTuple):
    """The socket of a command's daemon, and why it is this one."""

    socket: Path
    why: str = ""
    """Why a daemon that was not named was chosen; empty for a named or the default one."""


def choose(vaults: Sequence[str] = ()) -> Target:
    """Chooses the daemon by the command's options; it need not run.

    Raises:
        NoDaemon: several daemons run, and none of them can be meant.
    """
    socket_path, workspace = given("socket"), given("workspace")
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
        return _of(records[0], "the only one that runs", is_default=records[0].workspace == name)
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


def end(client: SyncClient) -> dict[str, Any]:
    """Has a daemon end in good order, and waits until its process is gone; returns its workspace and process.

    Raises:
        TimedOut: it lives on.
    """
    status = client.call("workspaced/status")
    pid = int(status["pid"])
    client.call("workspaced/shutdown")
    deadline = time.monotonic() + GONE_S
    while _lives(pid):
        if time.monotonic() > deadline:
            raise lives_on(pid)
        time.sleep(0.02)
    return {"workspace": status["workspace"], "pid": pid}


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError as error:
        return not isinstance(error, ProcessLookupError)
    return True


def record_of(socket: Path) -> Record | None:
    """The record of the daemon that listens there; None if it has left none."""
    place = socket.resolve()
    return next((each for each in running() if Path(each.socket).resolve() == place), None)


def choices(records: Sequence[Record]) -> str:
    """The options that name each daemon, for a hint."""
    served = ((each.workspace, ", ".join(each.vaults) or "no vault") for each in records)
    return "; ".join(f"--workspace {name} (serves {vaults})" for name, vaults in served)


def _announce(target: Target, client: SyncClient, *, always: bool, is_write: bool) -> None:
    """Names the daemon on stderr: one that was named, or is the default one, only if `always`."""
    if not target.why and not always:
        return
    vaults = ", ".join(each["path"] for each in client.server["vaults"]) or "no vault"
    name = str(client.server["workspace"])
    say(f"workspace {name}: {vaults}{f' ({target.why})' if target.why else ''}", err=True)
    if not (is_write and target.why):
        return
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise WorkspacedError(
            f"Workspace {name!r} was not named and is not the default one, so nothing was changed.",
            hint=f"Add --workspace {name}, or set WORKSPACED_WORKSPACE={name}.",
            code="WORKSPACE_NOT_NAMED",
            workspace=name,
        )
    confirm(f"You did not name a workspace. Change {name}?")


def _preferred() -> tuple[Path, str]:
    """The default daemon's socket and workspace, by the settings file if there is one."""
    if not _has_config_file():
        return socket_from_environment(), "default"
    from ..settings.settings import load_settings

    settings = load_settings()
    return settings.socket_path, settings.workspace


def _here() -> list[str]:
    try:
        return [str(Path.cwd())]
    except FileNotFoundError:
        return []


def _has_config_file() -> bool:
    """As `settings.config_file`, which would import all that settings need."""
    if path := os.environ.get("WORKSPACED_CONFIG"):
        return Path(path).exists()
    import platformdirs

    return (platformdirs.user_config_path("workspaced") / "config.toml").exists()
