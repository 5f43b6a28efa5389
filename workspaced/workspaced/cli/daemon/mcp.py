"""`workspaced mcp`. If its arguments only select a daemon, `__main__` runs the bridge without this module."""

import click

from ...bridge.stdio import run
from ...bridge.target import Target
from ...connecting.command_lines import bridge_line
from ...connecting.plans import entry_text, plan_entry
from ...connecting.runtimes import RUNTIMES
from ...connecting.servers import NAME
from ...limits import ON_DEMAND_IDLE_MINUTES
from ..shared.options import daemon_options, json_option
from ..shared.printing import print_json, say, say_text
from .connect import apply

_CLIENT = click.Choice(list(RUNTIMES))


@click.command()
@click.option("--print-config", "printed", type=_CLIENT, help="Print what this client's configuration needs.")
@click.option(
    "--install",
    "installed",
    type=_CLIENT,
    help="Put it into the user's configuration of this client; `workspaced connect` does more.",
)
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
        path, text = RUNTIMES[printed].servers.path(), entry_text(printed, NAME, bridge_line(target))
        if as_json:
            print_json({"client": printed, "path": str(path), "config": text})
            return 0
        say_text(text)
        say(f"for {RUNTIMES[printed].title}: {path}", err=True)
        return 0
    if installed:
        return _install(installed, target, dry_run, as_json=as_json)
    return run(target)


def _install(client: str, target: Target, dry_run: bool, *, as_json: bool) -> int:
    (result,) = apply(plan_entry(client, target), dry_run=dry_run, is_quiet=as_json)
    if as_json:
        print_json({"client": client, **result})
    elif result["written"]:
        say(f"Start {RUNTIMES[client].title} anew to see it.", err=True)
    return 0
