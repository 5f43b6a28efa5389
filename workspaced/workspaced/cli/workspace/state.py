"""`workspaced state` and `workspaced watch`."""

from typing import Any

import click

from ..shared.connection import daemon
from ..shared.options import at_option, daemon_options, json_option, shown
from ..shared.output import print_json, print_warnings
from ..shared.state_text import print_state


@click.command()
@at_option
@click.option("--of-vault", metavar="ID", help="Of this vault instead of the current one.")
@daemon_options
@json_option
def state_command(
    at: int | str | None, of_vault: str | None, socket_path: str | None, workspace: str | None, as_json: bool
) -> None:
    """What the user is looking at, folded from the log."""
    with daemon(socket_path, workspace) as client:
        state = client.state(at=at, vault=of_vault)
    if "alsoAt" in state:
        from workspaced_events.replay.position import also_named

        print_warnings(also_named(str(at), state["alsoAt"]))
    if as_json:
        print_json(state)
    else:
        print_state(state)


@click.command()
@click.option("--since", metavar="SEQ|CLOCK", help="Begin after this event; default: now.")
@click.option("--type", "types", multiple=True, help="Only these types; may be given several times.")
@daemon_options
@json_option
def watch_command(
    since: str | None, types: tuple[str, ...], socket_path: str | None, workspace: str | None, as_json: bool
) -> None:
    """Follow events as they are recorded, until Ctrl-C."""
    from workspaced_events.replay.position import sequence

    seq = sequence(since) if since is not None else None
    start = since if seq is None else seq
    with daemon(socket_path, workspace) as client:
        for notice in client.events(since=start, types=types or None):
            if notice.method == "workspaced/gap":
                click.echo(f"events {notice.params['from']} to {notice.params['to']} were skipped", err=True)
                continue
            for event in notice.params["events"]:
                print_event(event, as_json)


def print_event(event: dict[str, Any], as_json: bool) -> None:
    """Prints one event on one line."""
    if as_json:
        print_json(event)
        return
    data = event["data"]
    about = data.get("note") or data.get("to") or data.get("tool") or ""
    click.echo(
        f"{event['seq']:>8} {event['time']} {shown(event['source']):<12} {shown(event['type']):<24} {shown(about)}"
    )
