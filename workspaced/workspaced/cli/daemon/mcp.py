"""`workspaced mcp`. If its arguments only select a daemon, `__main__` runs the bridge without this module.

With --replay it starts a daemon over the past for its one agent: both end together.
"""

import signal
import subprocess
import tempfile
from pathlib import Path
from typing import Final

import click

from workspaced_events.interpreter import own_module

from ...bridge import stdio
from ...bridge.stdio import run
from ...bridge.target import Target
from ...limits import ON_DEMAND_IDLE_MINUTES
from ...terminal.options import at_option, daemon_options, given

_ORPHAN_MINUTES: Final = 1
"""The daemon ends by itself so long after the bridge was killed."""


def run_bridge(log: str, at: int | str | None, tools: str | None) -> int:
    """Serves an agent over standard input and output until it ends; returns the exit code.

    The daemon says on standard error where it stands, or why it could not start; then the exit code is its own.
    """
    for ends in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(ends, signal.default_int_handler)  # as Ctrl-C, so that the daemon ends too
    with tempfile.TemporaryDirectory(prefix="workspaced-past-") as folder:
        socket = str(Path(folder) / "s")
        daemon = subprocess.Popen(_command(log, at, socket), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)  # noqa: S603
        assert daemon.stdout is not None
        try:
            if b'"socket"' not in daemon.stdout.readline():  # an error, which it has told
                return daemon.wait()
            return stdio.run(Target(socket, tools=tools))
        finally:
            daemon.terminate()
            daemon.stdout.close()
            daemon.wait()


def _command(log: str, at: int | str | None, socket: str) -> list[str]:
    command = own_module("workspaced", "serve", "--json", "--replay", log, "--socket", socket)
    command += ["--idle-exit-minutes", str(_ORPHAN_MINUTES)]
    return command if at is None else [*command, "--at", str(at)]


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

        return run_bridge(replay, at, tools)
    if at is not None:
        raise click.UsageError("--at goes with --replay.")
    return run(Target(given("socket"), given("workspace"), vaults, tools))
