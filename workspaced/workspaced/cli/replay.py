"""`workspaced replay`."""

import sys
from pathlib import Path

import click
import msgspec

from workspaced_events.replay import replay
from workspaced_events.state import to_json

from .common import json_option, segment_progress
from .state import print_state


@click.command()
@click.argument("log", metavar="LOG")
@click.option("--until", type=click.IntRange(min=0), metavar="SEQ", help="Fold up to this event.")
@json_option
def replay_command(log: str, until: int | None, as_json: bool) -> None:
    """Fold LOG without a daemon and print the state it leads to.

    LOG is a data directory, the file of an export, or - for an export on standard input.
    """
    with segment_progress("folding") as progress:
        result = replay(sys.stdin.buffer if log == "-" else Path(log), until=until, progress=progress)
    for warning in result.warnings:
        click.echo(f"{click.style('warning:', fg='yellow')} {warning}", err=True)
    if as_json:
        sys.stdout.buffer.write(msgspec.json.encode(to_json(result.state)) + b"\n")
        return
    click.echo(f"{result.events} events folded")
    print_state(msgspec.to_builtins(to_json(result.state)))
