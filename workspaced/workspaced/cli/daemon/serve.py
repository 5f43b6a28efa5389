"""`workspaced serve`."""

import gc
import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from ...__about__ import __version__
from ...service.status import offline_vaults, status
from ...terminal.options import at_option, given, json_option
from ...terminal.printing import log_to_stderr, print_json, say, styled

if TYPE_CHECKING:
    from ...service.service import Service

_OF_PAST: Final = {"workspace", "idle_exit_minutes", "log_level"}
"""The flags that go with --replay, beside --socket."""


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
@click.option(
    "--replay",
    metavar="LOG",
    help="Stand at a moment of this log, a data directory, an export or a bundle, instead of serving folders.",
)
@at_option
@click.option("--log-level", type=click.Choice(["debug", "info", "warning", "error"]), help="Default: warning.")
@json_option
def serve_command(
    socket_path: Path | None,
    vaults: tuple[Path, ...],
    files: tuple[str, ...],
    deny: tuple[str, ...],
    on_request: tuple[str, ...],
    replay: str | None,
    at: int | str | None,
    **flags: Any,
) -> int:
    """Run the daemon until SIGTERM, SIGINT or `workspaced stop`.

    With --json it prints one line on standard output once it listens.

    With --replay it answers as of the moment --at (default: the log's end) from what was recorded, and takes
    nothing. Only --socket, --workspace, --idle-exit-minutes and --log-level go with it.

    Every flag is also a setting: WORKSPACED_VAULTS, or `vaults = [...]` in config.toml, and so on.
    """
    # Until the daemon handles signals, Ctrl-C just ends the process: an exception could get lost in the imports
    # that follow.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if replay is not None:
        folders = (*vaults, *files, *deny, *on_request)
        if folders or any(value is not None for name, value in flags.items() if name not in _OF_PAST):
            raise click.UsageError("--replay serves a log: options about folders do not go with it.")
        return _serve_past(replay, at, socket_path, **flags)
    if at is not None:
        raise click.UsageError("--at goes with --replay.")
    from ...daemon.lifecycle import run_daemon
    from ...settings.settings import load_settings

    _collect_again()
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

    return run_daemon(settings, ready=ready)


def _collect_again() -> None:
    """Lets Python collect garbage as usual, without looking at all that was imported."""
    gc.freeze()
    gc.enable()


def _serve_past(
    log: str,
    at: int | str | None,
    socket_path: Path | None,
    *,
    workspace: str | None,
    log_level: str | None,
    **flags: Any,
) -> int:
    from ...past.lifecycle import PastSettings, past_socket, run_past

    _collect_again()
    log_to_stderr((log_level or "warning").upper())
    name = workspace or f"past-{os.getpid()}"
    path = socket_path or past_socket(name)
    settings = PastSettings(Path(log), at, name, path, flags["idle_exit_minutes"])

    def ready(service: "Service", run: Path) -> None:
        with suppress(OSError):  # as above
            for warning in service.warnings:
                say(warning, err=True)
            say(f"what is asked here is recorded in {run}", err=True)
            say(f"listening on {path}", err=True)
            if given("json"):
                report = {"workspace": name, "pid": os.getpid(), "vaults": [], "run": str(run)}
                print_json({**report, "socket": str(path), "version": __version__})

    return run_past(settings, ready=ready)
