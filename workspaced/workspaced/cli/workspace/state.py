"""`workspaced state` and `workspaced watch`."""

from typing import Any, Final

import click

from ..shared.connection import daemon
from ..shared.options import at_option, daemon_options, json_option
from ..shared.output import print_warnings
from ..shared.printing import print_json, say
from ..shared.reader import end_with_reader
from ..shared.state_text import print_state
from ..shared.terminal import columns, local_time, print_labelled, utc_option


@click.command()
@at_option
@utc_option
@click.option("--of-vault", metavar="ID", help="Of this vault instead of the current one.")
@click.option("--of", metavar="PERSON", help="Whose, of a link: me, here, everyone or a person.")
@daemon_options
@json_option
def state_command(
    at: int | str | None,
    of_vault: str | None,
    of: str | None,
    socket_path: str | None,
    workspace: str | None,
    as_json: bool,
) -> None:
    """What the user is looking at, folded from the log."""
    with daemon(socket_path, workspace) as client:
        state = client.state(at=at, vault=of_vault, of=of)
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
@click.option("--of", metavar="PERSON", help="What is done at the machines of a link: of everyone, or a person.")
@utc_option
@daemon_options
@json_option
def watch_command(
    since: str | None,
    types: tuple[str, ...],
    of: str | None,
    socket_path: str | None,
    workspace: str | None,
    as_json: bool,
) -> None:
    """Follow events as they are recorded, until Ctrl-C or until the reader of the output ends.

    A terminal of fewer than 100 columns shows neither source nor date.
    """
    from workspaced_events.replay.position import sequence

    seq = sequence(since) if since is not None else None
    start = since if seq is None else seq
    end_with_reader()
    with daemon(socket_path, workspace) as client:
        if of is not None:
            from .machines import Machines

            machines = Machines(client.call("workspaced/link/status")["link"], of)
        for notice in client.events(since=start, types=types or None if of is None else None):
            if notice.method == "workspaced/gap":
                say(f"events {notice.params['from']} to {notice.params['to']} were skipped", err=True)
                continue
            for event in notice.params["events"]:
                for each in (event,) if of is None else machines.done(event):
                    if of is None or not types or each["type"] in types:
                        print_event(each, as_json)


_WIDE_COLUMNS: Final = 100
"""A narrower terminal does without the source, then without the date."""


def print_event(event: dict[str, Any], as_json: bool) -> None:
    """Prints one event, on one line where the terminal is wide enough."""
    if as_json:
        print_json(event)
        return
    data = event["data"]
    about = data.get("note") or data.get("to") or data.get("tool") or ""
    time, width = local_time(event["time"]), columns()
    if width is None or width >= _WIDE_COLUMNS:
        source, type_ = event["source"], event["type"]
        say(f"{event['seq']:>8} {time} {source:<12} {type_:<24} {about}".rstrip())
        return
    clock = time.partition(" ")[2]
    print_labelled(f"{event['seq']:>6} {clock}", f"{event['type']} {about}".rstrip())
