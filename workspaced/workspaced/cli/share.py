"""`workspaced share`."""

from typing import Any

import click

from .common import daemon, daemon_options, json_option, print_json, shown


@click.command()
@click.argument("client", required=False)
@click.argument("level", required=False, type=click.Choice(["all", "names", "none"]))
@daemon_options
@json_option
def share_command(
    client: str | None, level: str | None, socket_path: str | None, workspace: str | None, as_json: bool
) -> None:
    """How much a client of the tools is shown; with a level, from now on.

    \b
    all     everything but notes that are withheld from every agent
    names   paths and titles only
    none    nothing: its calls fail with SHARING_OFF

    CLIENT is the name the client gives itself; '*' is every client without a level of its own. Without CLIENT:
    the levels of all. It lasts until it is set anew.
    """
    with daemon(socket_path, workspace) as connected:
        if client is None:
            sharing = connected.call("workspaced/status")["sharing"]
        else:
            asked = {"client": client} if level is None else {"client": client, "level": level}
            answer = connected.call("workspaced/share", asked)
    if as_json:
        print_json(sharing if client is None else answer)
    elif client is None:
        print_sharing(sharing)
    else:
        click.echo(f"{shown(answer['client'])} {answer['level']}")


def print_sharing(sharing: dict[str, Any]) -> None:
    """The levels for a person."""
    click.echo(f"*          {sharing['default']}")
    for each in sharing["clients"]:
        marks = [word for word in ("set", "connected") if each[word]]
        click.echo(f"{shown(each['client']):<10} {each['level']:<5} {', '.join(marks)}".rstrip())
