"""`workspaced memory`: what agents wrote into the memory folder, and undoing it."""

from typing import Any

import click

from ..shared.connection import daemon
from ..shared.options import daemon_options, json_option
from ..shared.output import print_table
from ..shared.printing import print_json, print_ndjson, say


@click.group()
def memory_command() -> None:
    """What agents wrote into the memory folder (the setting `memory`): list it, undo it."""


@memory_command.command("list")
@click.option("--limit", type=click.IntRange(1, 1_000), default=20, show_default=True, help="How many, at most.")
@click.option("--before", type=click.IntRange(1), metavar="SEQ", help="Only writes before this one.")
@daemon_options
@json_option
def list_command(
    limit: int, before: int | None, socket_path: str | None, workspace: str | None, as_json: bool
) -> None:
    """List the latest writes, newest last; with --json one line each."""
    params = {"limit": limit, **({"before": before} if before is not None else {})}
    with daemon(socket_path, workspace) as connected:
        writes = connected.call("workspaced/memory/list", params)["writes"]
    if as_json:
        print_ndjson(writes)
    elif not writes:
        say("no writes", err=True)
    else:
        print_table([("SEQ", "TIME", "CLIENT", "COMMAND", "PATH"), *map(_row, writes)], right={0}, wrap=4)


_OUTCOMES = {"failed": "failed", "unknown": "outcome unknown", None: "no end yet"}


def _row(write: dict[str, Any]) -> tuple[str, ...]:
    source = f"{write['from']} -> " if write["from"] is not None else ""
    undoes = f" (undoes {write['undoes']})" if write["undoes"] is not None else ""
    state = "" if write["outcome"] == "done" else f" ({_OUTCOMES[write['outcome']]})"
    path = f"{source}{write['path']}"
    client = write["client"]
    return str(write["seq"]), write["time"][:19] + "Z", client, write["command"], f"{path}{undoes}{state}"


@memory_command.command("undo")
@click.argument("seqs", nargs=-1, required=True, type=click.IntRange(1), metavar="SEQ...")
@daemon_options
@json_option
def undo_command(seqs: tuple[int, ...], socket_path: str | None, workspace: str | None, as_json: bool) -> None:
    """Undo the writes SEQ, in the order given. Each file must be as its write left it.

    An undoing is a write itself, so it can be undone. The first one that is refused ends the command.
    """
    with daemon(socket_path, workspace, write=True) as connected:
        for seq in seqs:
            answer = connected.call("workspaced/memory/undo", {"seq": seq})
            if as_json:
                print_json({"undone": seq, "seq": answer["seq"]})
            else:
                say(f"{seq} is undone by {answer['seq']}")
