"""`workspaced mcp`. If its arguments only select a daemon, `__main__` runs the bridge without this module."""

from pathlib import Path

import click

from ...bridge.client_config import CLIENTS, plan, snippet, write
from ...bridge.stdio import Target, run
from ...discovery.autostart import installed_command
from ...limits import ON_DEMAND_IDLE_MINUTES
from ..shared.options import daemon_options, json_option
from ..shared.output import print_json

_CLIENT = click.Choice(list(CLIENTS))


@click.command()
@click.option("--print-config", "printed", type=_CLIENT, help="Print what this client's configuration needs.")
@click.option("--install", "installed", type=_CLIENT, help="Put it into the user's configuration of this client.")
@click.option("--dry-run", is_flag=True, help="With --install: only show what would change.")
@click.option(
    "--vault",
    "vaults",
    multiple=True,
    metavar="DIR",
    help="The daemon that serves this folder or one above it. If none runs, one is started for it; "
    f"it ends after {ON_DEMAND_IDLE_MINUTES} idle minutes.",
)
@click.option(
    "--tools",
    type=click.Choice(["core", "all"]),
    help="The tools that the agent's list shows: the four most used, or all (the default). The agent pays for "
    "the list in every request.",
)
@daemon_options
@json_option
def mcp_command(
    printed: str | None,
    installed: str | None,
    dry_run: bool,
    vaults: tuple[str, ...],
    tools: str | None,
    socket_path: str | None,
    workspace: str | None,
    as_json: bool,
) -> int:
    """Serve an agent over standard input and output: a bridge to the daemon. An agent's runtime runs this.

    Finds the daemon by --socket, --workspace or --vault; else it is the only one that runs, else the one that
    serves the current directory.

    \b
    workspaced mcp --install claude --vault ~/notes
    workspaced mcp --print-config codex --vault ~/notes
    """
    if printed and installed:
        raise click.UsageError("Give one of --print-config and --install.")
    if dry_run and not installed:
        raise click.UsageError("--dry-run goes with --install.")
    if as_json and not (printed or installed):
        raise click.UsageError("--json goes with --print-config and --install: standard output is the agent's.")
    target = Target(socket_path, workspace, vaults, tools)
    if printed:
        config, text = CLIENTS[printed], snippet(printed, _command(target))
        if as_json:
            print_json({"client": printed, "path": str(config.path()), "config": text})
            return 0
        click.echo(text, nl=False)
        click.echo(f"for {config.title}: {config.path()}", err=True)
        return 0
    if installed:
        return _install(installed, _command(target), dry_run, as_json=as_json)
    return run(target)


def _command(target: Target) -> list[str]:
    """The bridge's command line, absolute, with the options that select the daemon."""
    command = [*installed_command(), "mcp"]
    command += ["--socket", _absolute(target.socket_path)] if target.socket_path else []
    command += ["--workspace", target.workspace] if target.workspace else []
    command += ["--tools", target.tools] if target.tools else []
    for vault in target.vaults:
        command += ["--vault", _absolute(vault)]
    "".join(command).encode()  # raises for a path that is not UTF-8, because no configuration file can hold it
    return command


def _absolute(path: str) -> str:
    return str(Path(path).expanduser().absolute())


def _install(client: str, command: list[str], dry_run: bool, *, as_json: bool) -> int:
    change = plan(client, command)
    if as_json:
        is_written = change.is_needed and not dry_run
        report = {"client": client, "path": str(change.path), "needed": change.is_needed, "written": is_written}
        difference = change.difference() if change.is_needed else ""
        backup = write(change) if is_written else None
        print_json({**report, "difference": difference, "backup": str(backup) if backup else None})
        return 0
    if not change.is_needed:
        click.echo(f"{change.path} has it already", err=True)
        return 0
    if dry_run:
        click.echo(change.difference(), nl=False)
        click.echo(f"{change.path} would be changed like this; nothing was written", err=True)
        return 0
    backup = write(change)
    click.echo(f"{change.path} changed" + (f"; as it was: {backup}" if backup else ""), err=True)
    click.echo(f"Start {CLIENTS[client].title} anew to see it.", err=True)
    return 0
