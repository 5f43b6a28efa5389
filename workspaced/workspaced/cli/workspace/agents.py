"""`workspaced agents`."""

from typing import Any

import click

from ..shared.connection import daemon
from ..shared.options import daemon_options, json_option
from ..shared.output import print_table
from ..shared.printing import print_ndjson, say


@click.command()
@daemon_options
@json_option
def agents_command(socket_path: str | None, workspace: str | None, as_json: bool) -> None:
    """List the roles that conversations may begin with: start(agent=NAME).

    A role is a table [agents.NAME] of the settings, or a note in the folder that `agents_folder` names. A narrow
    terminal does without PINS, PIPELINE and TOOLS, in this order.
    """
    with daemon(socket_path, workspace) as client:
        listed = client.call("workspaced/context/agents")
    agents = listed["agents"]
    if as_json:
        print_ndjson(agents)
    elif agents:
        print_table(
            [("AGENT", "SOURCE", "TOOLS", "PINS", "PIPELINE", ""), *map(_row, agents)], set(), drop=(3, 4, 2)
        )
    else:
        say("no agents", err=True)
    if listed["total"] > len(agents):
        say(f"and {listed['total'] - len(agents)} more notes", err=True)


def _row(agent: dict[str, Any]) -> tuple[str, ...]:
    return (
        agent["name"],
        agent.get("path", "settings"),
        ", ".join(agent["tools"]) if "tools" in agent else "-",
        ", ".join(agent.get("pins", ())),
        agent.get("pipeline", ""),
        agent.get("problem", ""),
    )
