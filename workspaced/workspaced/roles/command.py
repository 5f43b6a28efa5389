"""`workspaced agents`."""

from typing import Any

import click

from ..terminal.daemon import ask
from ..terminal.options import daemon_options
from ..terminal.output import output_rows, print_table
from ..terminal.printing import say

_HEAD = ("AGENT", "SOURCE", "TOOLS", "PINS", "")


@click.command()
@daemon_options
def agents_command() -> None:
    """List the roles that conversations may begin with: start(agent=NAME).

    A role is a table [agents.NAME] of the settings, or a note in the folder that `agents_folder` names.
    """
    listed = ask("workspaced/context/agents")
    agents = listed["agents"]
    output_rows(agents, lambda rows: print_table([_HEAD, *map(_row, rows)], set(), drop=(3, 2)), "no agents")
    if listed["total"] > len(agents):
        say(f"and {listed['total'] - len(agents)} more notes", err=True)


def _row(agent: dict[str, Any]) -> tuple[str, ...]:
    return (
        agent["name"],
        agent.get("path", "settings"),
        ", ".join(agent["tools"]) if "tools" in agent else "-",
        ", ".join(agent.get("pins", ())),
        agent.get("problem", ""),
    )
