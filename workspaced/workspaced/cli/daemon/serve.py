"""`workspaced serve`."""

import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ...__about__ import __version__
from ...service.status import offline_vaults, status
from ..shared.logs import log_to_stderr
from ..shared.options import given, json_option
from ..shared.printing import print_json, say, styled

if TYPE_CHECKING:
    from ...service.service import Service


@click.command()
@click.option("--vault", "vaults", multiple=True, type=click.Path(path_type=Path), metavar="DIR", help="A folder.")
@click.option("--data-dir", type=click.Path(path_type=Path), metavar="D", help="Where the log lies.")
@click.option("--socket", "socket_path", type=click.Path(path_type=Path), metavar="S", help="Where to listen.")
@click.option("--workspace", metavar="NAME", help="Names socket and data directory (default: default).")
@click.option("--files", multiple=True, metavar="GLOBS", help="Text files that are notes too: 'src/**,docs/**'.")
@click.option(
    "--gitignore/--no-gitignore", default=None, help="Leave out files that .gitignore names (default: yes)."
)
@click.option("--deny", multiple=True, metavar="GLOB", help="Notes no agent is shown, as in .gitignore.")
@click.option("--on-request", multiple=True, metavar="GLOB", help="Notes shown only to agents that ask for one.")
@click.option("--cache-dir", type=click.Path(path_type=Path), metavar="D", help="Where indexes lie.")
@click.option("--templates", type=click.Path(path_type=Path), metavar="D", help="Own templates of bodies.")
@click.option(
    "--memory", type=click.Path(path_type=Path), metavar="D", help="The folder that agents may write to."
)
@click.option("--cache-bytes", type=int, metavar="N", help="Bound of the content cache.")
@click.option("--reconcile-s", type=float, metavar="S", help="How often the vault is compared with the disk.")
@click.option("--watch/--no-watch", default=None, help="Watch the vault for changes (default: yes).")
@click.option("--idle-exit-minutes", type=float, metavar="M", help="End after this long without a client.")
@click.option("--log-level", type=click.Choice(["debug", "info", "warning", "error"]), help="Default: warning.")
@json_option
def serve_command(
    socket_path: Path | None,
    vaults: tuple[Path, ...],
    files: tuple[str, ...],
    deny: tuple[str, ...],
    on_request: tuple[str, ...],
    **flags: object,
) -> int:
    """Run the daemon until SIGTERM, SIGINT or `workspaced stop`.

    With --json it prints one line on standard output once it listens.

    Every flag is also a setting: WORKSPACED_VAULTS, or `vaults = [...]` in config.toml, and so on.
    """
    # Until the daemon handles signals, Ctrl-C just ends the process: an exception could get lost in the imports
    # that follow.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from ...daemon.lifecycle import run_daemon
    from ...daemon.settings import load_settings
    from .index_progress import IndexingBars

    as_json = given("json")
    settings = load_settings(
        vaults=vaults or None,
        files=",".join(files) or None,
        deny=deny or None,
        on_request=on_request or None,
        socket=socket_path,
        **flags,
    )
    log_to_stderr(settings.log_level.upper())

    def ready(service: "Service") -> None:
        with suppress(OSError):  # stderr may be on a full disk or unread; the daemon must serve nevertheless
            announce(service)
            bars.append(IndexingBars(service))

    def announce(service: "Service") -> None:
        served = ", ".join(str(vault.path) for vault in service.served.values()) or "no vault (give --vault DIR)"
        say(f"workspaced {__version__} serving {served}", err=True)
        for problem in status(service)["degraded"]:
            say(styled("degraded:", fg="yellow"), f" {problem}", err=True)
        for vault in offline_vaults(service):
            say(f"vault {vault} of the log is offline: its folder was not given", err=True)
        if service.pausing.paused is not None:
            say("paused: nothing is recorded or answered until `workspaced resume`", err=True)
        say(f"listening on {settings.socket_path}", err=True)
        if as_json:
            paths = [str(vault.path) for vault in service.served.values()]
            report = {"workspace": service.workspace, "pid": os.getpid(), "vaults": paths}
            print_json({**report, "socket": str(settings.socket_path), "version": __version__})

    bars: list[IndexingBars] = []
    try:
        return run_daemon(settings, ready=ready)
    finally:
        for each in bars:
            each.close()
