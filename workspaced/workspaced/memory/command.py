"""`workspaced memory`: what agents wrote into the memory folder, and undoing it."""

from typing import Any

import click

from ..terminal.daemon import ask, daemon
from ..terminal.options import daemon_options
from ..terminal.output import output, output_rows, print_table


@click.group()
def memory_command() -> None:
    """What agents wrote into the memory folder (the setting `memory`): list it, undo it."""


@memory_command.command("list")
@click.option("--limit", type=click.IntRange(1, 1_000), default=20, show_default=True, help="How many, at most.")
@click.option("--before", type=click.IntRange(1), metavar="SEQ", help="Only writes before this one.")
@daemon_options
def list_command(limit: int, before: int | None) -> None:
    """List the latest writes, newest last; with --json one line each."""
    writes = ask("workspaced/memory/list", {"limit": limit, "before": before})["writes"]
    output_rows(writes, lambda rows: print_table([_HEAD, *map(_row, rows)], right={0}, wrap=4), "no writes")


_HEAD = ("SEQ", "TIME", "CLIENT", "COMMAND", "PATH")
_OUTCOMES = {"failed": "failed", "unknown": "outcome unknown", None: "no end yet"}


def _row(write: dict[str, Any]) -> tuple[str, ...]:
    source = f"{write['from']} -> " if write["from"] is not None else ""
    undoes = f" (undoes {write['undoes']})" if write["undoes"] is not None else ""
    state = "" if write["outcome"] == "done" else f" ({_OUTCOMES[write['outcome']]})"
    path = f"{source}{write['path']}{undoes}{state}"
    return str(write["seq"]), write["time"][:19] + "Z", write["client"], write["command"], path


@memory_command.command("undo")
@click.argument("seqs", nargs=-1, required=True, type=click.IntRange(1), metavar="SEQ...")
@daemon_options
def undo_command(seqs: tuple[int, ...]) -> None:
    """Undo the writes SEQ, in the order given. Each file must be as its write left it.

    An undoing is a write itself, so it can be undone. The first one that is refused ends the command.
    """
    with daemon(write=True) as connected:
        for seq in seqs:
            answer = connected.call("workspaced/memory/undo", {"seq": seq})
            output({"undone": seq, "seq": answer["seq"]}, f"{seq} is undone by {answer['seq']}")
