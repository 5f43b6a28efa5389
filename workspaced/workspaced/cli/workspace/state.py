"""`workspaced state` and `workspaced watch`."""

import os
import select
import stat
import sys
import threading
from typing import Any, Final

import click

from ...terminal.daemon import daemon
from ...terminal.options import at_option, daemon_options, utc_option
from ...terminal.output import output, print_warnings
from ...terminal.printing import say
from ...terminal.screen import columns, local_time, print_labelled
from ...terminal.state_text import print_state


@click.command()
@at_option
@utc_option
@click.option("--of-vault", metavar="ID", help="Of this vault instead of the current one.")
@click.option("--of", metavar="PERSON", help="Whose, of a link: me, here, everyone or a person.")
@daemon_options
def state_command(at: int | str | None, of_vault: str | None, of: str | None) -> None:
    """What the user is looking at, folded from the log."""
    with daemon() as client:
        state = client.state(at=at, vault=of_vault, of=of)
    if "alsoAt" in state:
        from workspaced_events.replay.position import also_named

        print_warnings(also_named(str(at), state["alsoAt"]))
    output(state, print_state)


@click.command()
@click.option("--since", metavar="SEQ|CLOCK", help="Begin after this event; default: now.")
@click.option("--type", "types", multiple=True, help="Only these types; may be given several times.")
@utc_option
@daemon_options
def watch_command(since: str | None, types: tuple[str, ...]) -> None:
    """Follow events as they are recorded, until Ctrl-C or until the reader of the output ends."""
    from workspaced_events.replay.position import sequence

    seq = sequence(since) if since is not None else None
    start = since if seq is None else seq
    _end_with_reader()
    with daemon() as client:
        for notice in client.events(since=start, types=types or None):
            if notice.method == "workspaced/gap":
                say(f"events {notice.params['from']} to {notice.params['to']} were skipped", err=True)
                continue
            for event in notice.params["events"]:
                output(event, _print_event)


_WIDE_COLUMNS: Final = 100
"""A narrower terminal does without the source, then without the date."""


def _print_event(event: dict[str, Any]) -> None:
    """Prints one event, on one line where the terminal is wide enough."""
    data = event["data"]
    about = data.get("note") or data.get("to") or data.get("tool") or ""
    time, width = local_time(event["time"]), columns()
    if width is None or width >= _WIDE_COLUMNS:
        source, type_ = event["source"], event["type"]
        say(f"{event['seq']:>8} {time} {source:<12} {type_:<24} {about}".rstrip())
        return
    clock = time.partition(" ")[2]
    print_labelled(f"{event['seq']:>6} {clock}", f"{event['type']} {about}".rstrip())


def _end_with_reader() -> None:
    """Has the process end with exit code 0 as soon as nobody reads the pipe or socket on standard output.

    Without this a command that waits for something to print would notice only at its next line.
    """
    try:
        descriptor = sys.stdout.fileno()
        mode = os.fstat(descriptor).st_mode
    except (OSError, ValueError):
        return
    if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode):
        threading.Thread(target=_wait, args=(descriptor,), daemon=True).start()


def _wait(descriptor: int) -> None:
    poll = select.poll()
    poll.register(descriptor, 0)  # errors and hang-ups are always reported
    if any(events & (select.POLLERR | select.POLLHUP) for _descriptor, events in poll.poll()):
        os._exit(0)
