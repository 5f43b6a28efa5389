"""What the commands share: how to reach the daemon, how to print, how to read `key=value`."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import click

from ..errors import NoDaemon, SettingsInvalid
from ..sync_client import SyncClient, connect, socket_from_environment

F = TypeVar("F", bound=Callable[..., Any])

START_S = 15.0
ON_DEMAND_IDLE_MINUTES = 30


def daemon_options(function: F) -> F:
    """`--socket` and `--workspace`: which daemon."""
    function = click.option("--workspace", metavar="NAME", help="Name of the workspace (default: default).")(
        function
    )
    return click.option("--socket", "socket_path", metavar="PATH", help="The daemon's socket.")(function)


def json_option(function: F) -> F:
    """`--json`: for programs."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(function)


def vault_option(function: F) -> F:
    """`--vault`: start a daemon for it if none runs."""
    return click.option(
        "--vault",
        "vaults",
        multiple=True,
        metavar="DIR",
        help=f"Start a daemon for this folder if none runs; it ends after {ON_DEMAND_IDLE_MINUTES} idle minutes.",
    )(function)


def daemon(
    socket_path: str | None, workspace: str | None, *, vaults: Sequence[str] = (), timeout_s: float = 10.0
) -> SyncClient:
    """A connection to the daemon the user means; with `vaults` one is started if none runs.

    Raises:
        NoDaemon: none runs, and none could be started.
    """
    path = _socket(socket_path, workspace)
    try:
        client = connect(path, name="workspaced-cli", timeout_s=timeout_s)
        _mention_unserved(client, vaults)
        return client
    except NoDaemon:
        if not vaults:
            raise
    _start(path, workspace, vaults)
    return _connect_once_it_listens(path, timeout_s)


def _mention_unserved(client: SyncClient, vaults: Sequence[str]) -> None:
    served = {each["path"] for each in client.server["vaults"]}
    for vault in vaults:
        if str(Path(vault).expanduser().resolve()) not in served:
            click.echo(f"the daemon that runs does not serve {vault}; it answers for its own vaults", err=True)


def _socket(socket_path: str | None, workspace: str | None) -> Path:
    """As the client finds it, and where that says nothing, as the settings file does."""
    given = (
        socket_path or workspace or os.environ.get("WORKSPACED_SOCKET") or os.environ.get("WORKSPACED_WORKSPACE")
    )
    if given or not _has_config_file():
        return socket_from_environment(socket_path, workspace)
    from ..config import load_settings

    return load_settings().socket_path


def _has_config_file() -> bool:
    if given := os.environ.get("WORKSPACED_CONFIG"):
        return Path(given).exists()
    import platformdirs

    return (platformdirs.user_config_path("workspaced") / "config.toml").exists()


def _start(path: Path, workspace: str | None, vaults: Sequence[str]) -> None:
    command = [sys.executable, "-m", "workspaced", "serve", "--socket", str(path)]
    command += ["--idle-exit-minutes", str(ON_DEMAND_IDLE_MINUTES)]
    command += ["--workspace", workspace] if workspace else []
    for vault in vaults:
        command += ["--vault", vault]
    process = subprocess.Popen(  # noqa: S603
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stderr is not None
    said = []
    for line in process.stderr:
        said.append(line.decode(errors="replace").rstrip())
        if b"listening on" in line:
            return
        if b"[ALREADY_RUNNING]" in line:
            return  # somebody else started one at the same moment: that one will do
    click.echo("\n".join(said), err=True)
    raise NoDaemon("A daemon could not be started.", hint="Try `workspaced serve` to see why.")


def _connect_once_it_listens(path: Path, timeout_s: float) -> SyncClient:
    deadline = time.monotonic() + START_S
    while True:
        try:
            return connect(path, name="workspaced-cli", timeout_s=timeout_s)
        except NoDaemon:
            if time.monotonic() > deadline:
                raise
        time.sleep(0.02)


@contextmanager
def segment_progress(what: str) -> Iterator[Callable[[int, int], None] | None]:
    """A bar on stderr that counts segments, where a person watches; else None."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def shown(text: str) -> str:
    """Text from notes or logs for a terminal: control characters are made visible instead of obeyed."""
    return "".join(ch if ch.isprintable() else ch.encode("unicode_escape").decode() for ch in text)


def print_json(value: Any) -> None:
    """One JSON value on a line, for programs."""
    click.echo(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def pairs(texts: Sequence[str]) -> dict[str, str]:
    """`key=value` arguments.

    Raises:
        SettingsInvalid: one has no `=`.
    """
    found = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise SettingsInvalid(f"Expected key=value, got {text[:200]!r}.")
        found[key] = value
    return found
