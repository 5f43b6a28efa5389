"""`workspaced mcp`. If its arguments only select a daemon, `__main__` runs the bridge without this module."""

from typing import Any

import click

from ...bridge.stdio import run
from ...bridge.target import Target
from ...connecting.command_lines import bridge_line
from ...connecting.connect_command import apply, start_anew
from ...connecting.plans import entry_text, plan_entry
from ...connecting.runtimes import RUNTIMES
from ...connecting.servers import NAME
from ...limits import ON_DEMAND_IDLE_MINUTES
from ...terminal.options import at_option, daemon_options, given
from ...terminal.output import output
from ...terminal.printing import say, say_text

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
@click.option(
    "--replay",
    metavar="LOG",
    help="Let the agent run in the past: as of a moment of this log, a data directory, an export or a bundle.",
)
@at_option
@daemon_options
def mcp_command(
    printed: str | None,
    installed: str | None,
    dry_run: bool,
    vaults: tuple[str, ...],
    tools: str | None,
    replay: str | None,
    at: int | str | None,
) -> int:
    """Serve an agent over standard input and output: a bridge to the daemon. An agent's runtime runs this.

    Finds the daemon by --socket, --workspace or --vault; else it is the only one that runs, else the one that
    serves the current directory.

    \b
    workspaced mcp --install claude --vault ~/notes
    workspaced mcp --print-config codex --vault ~/notes
    workspaced mcp --replay bug.wsb --at 162

    With --replay it starts a daemon as `workspaced serve --replay` does, which ends with it.
    """
    if printed and installed:
        raise click.UsageError("Give one of --print-config and --install.")
    if dry_run and not installed:
        raise click.UsageError("--dry-run goes with --install.")
    if given("json") and not (printed or installed):
        raise click.UsageError("--json goes with --print-config and --install: standard output is the agent's.")
    if replay is not None:
        if printed or installed or vaults or given("socket") or given("workspace"):
            raise click.UsageError("--replay starts a daemon of its own: only --at and --tools go with it.")
        from ...past.bridging import run_bridge

        return run_bridge(replay, at, tools)
    if at is not None:
        raise click.UsageError("--at goes with --replay.")
    target = Target(given("socket"), given("workspace"), vaults, tools)
    if printed:
        path, text = RUNTIMES[printed].servers.path(), entry_text(printed, NAME, bridge_line(target))
        output({"client": printed, "path": str(path), "config": text}, _print_entry)
    elif installed:
        (result,) = apply(installed, plan_entry(installed, target), dry_run=dry_run)
        output({"client": installed, **result}, lambda each: start_anew(installed, [each]))
    else:
        return run(target)
    return 0


def _print_entry(answer: dict[str, Any]) -> None:
    say_text(answer["config"])
    say(f"for {RUNTIMES[answer['client']].title}: {answer['path']}", err=True)
