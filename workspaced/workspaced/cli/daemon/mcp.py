"""`workspaced mcp`. If its arguments only select a daemon, `__main__` runs the bridge without this module."""

import click

from ...bridge.stdio import run
from ...bridge.target import Target
from ...limits import ON_DEMAND_IDLE_MINUTES
from ...terminal.options import at_option, daemon_options, given


@click.command()
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
@click.option(
    "--replay",
    metavar="LOG",
    help="Let the agent run in the past: as of a moment of this log, a data directory, an export or a bundle.",
)
@at_option
@daemon_options
def mcp_command(vaults: tuple[str, ...], tools: str | None, replay: str | None, at: int | str | None) -> int:
    """Serve an agent over standard input and output: a bridge to the daemon. An agent's runtime runs this.

    `workspaced connect` writes it into the settings of agents' programs. It finds the daemon by --socket,
    --workspace or --vault; else it is the only one that runs, else the one that serves the current directory.

    \b
    workspaced mcp --vault ~/notes
    workspaced mcp --replay bug.wsb --at 162

    With --replay it starts a daemon as `workspaced serve --replay` does, which ends with it.
    """
    if given("json"):
        raise click.UsageError("There is no --json here: standard output is the agent's.")
    if replay is not None:
        if vaults or given("socket") or given("workspace"):
            raise click.UsageError("--replay starts a daemon of its own: only --at and --tools go with it.")
        from ...past.bridging import run_bridge

        return run_bridge(replay, at, tools)
    if at is not None:
        raise click.UsageError("--at goes with --replay.")
    return run(Target(given("socket"), given("workspace"), vaults, tools))
