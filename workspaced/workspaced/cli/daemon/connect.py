"""`workspaced connect`: writes MCP entries and hooks into the settings of agents' programs, and takes them out."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import click

from ...connecting.command_lines import absolute, is_folder
from ...connecting.plans import PARTS, Part, plan_connection, plan_removal
from ...connecting.runtimes import RUNTIMES
from ...connecting.settings_files import Change, write
from ...errors import SettingsInvalid
from ..shared.options import given, json_option, utc_option
from ..shared.output import output
from ..shared.printing import say, say_text
from .connections import list_connections


def _parts(_context: click.Context, _option: click.Parameter, text: str | None) -> tuple[Part, ...]:
    given = PARTS if text is None else tuple(part.strip() for part in text.split(","))
    if not given or not set(given) <= set(PARTS):
        raise click.BadParameter(f"expected {', '.join(PARTS)}, or one of them; got {text!r}.")
    return cast(tuple[Part, ...], given)


@click.command()
@click.argument("runtime", type=click.Choice(list(RUNTIMES)), required=False)
@click.option("--vault", metavar="DIR", help="The folder of notes to connect.")
@click.option("--only", "parts", metavar="mcp,hook", callback=_parts, help="One of the two parts (default: both).")
@click.option("--name", metavar="NAME", help="Name of the MCP entry (default: after the folder).")
@click.option("--dry-run", is_flag=True, help="Only show what would change.")
@click.option("--remove", is_flag=True, help="Take out what connects the folder; without --vault, every folder.")
@utc_option
@json_option
def connect_command(
    runtime: str | None,
    vault: str | None,
    parts: tuple[Part, ...],
    name: str | None,
    dry_run: bool,
    remove: bool,
) -> None:
    """Connect an agent's program with a folder of notes. Without a program: list them, and what is connected.

    Its settings get an MCP entry, so that it can ask; and those of claude, codex, gemini and cursor get hooks, by
    which it is told what changed.

    Its settings keep whatever else they hold, and a file that is changed for the first time is kept beside as it
    was. A file with comments is not changed: the command prints what to put in.

    \b
    workspaced connect claude --vault ~/notes
    workspaced connect claude --vault ~/notes --remove
    """
    if runtime is None:
        if vault is not None or name is not None or dry_run or remove:
            raise click.UsageError(f"Name the program: {', '.join(RUNTIMES)}.")
        list_connections()
        return
    spec = RUNTIMES[runtime]
    if parts == ("hook",) and spec.hooks is None:
        raise click.UsageError(f"{spec.title} has no hooks: leave --only out.")
    if remove:
        changes, unneeded = plan_removal(runtime, vault, parts, name), "holds nothing of ours to take out"
    elif vault is None:
        raise click.UsageError("Give the folder to connect: --vault DIR.")
    else:
        _check_folder(vault)
        changes, unneeded = plan_connection(runtime, vault, parts, name), "has it already"
    results = apply(changes, dry_run=dry_run, unneeded=unneeded)
    next_step = spec.next_step if not remove and "hook" in parts else ""
    output({"runtime": runtime, "files": results}, lambda _: start_anew(runtime, results, next_step))


def start_anew(runtime: str, files: Sequence[dict[str, Any]], next_step: str = "") -> None:
    """Says what the user does after files of a program were written."""
    if any(each["written"] for each in files):
        say(f"Start {RUNTIMES[runtime].title} anew to see it.", err=True)
        if next_step:
            say(next_step, err=True)


def apply(changes: Sequence[Change], *, dry_run: bool, unneeded: str = "has it already") -> list[dict[str, Any]]:
    """Writes changes unless `dry_run`, shows them without --json, and returns what became of each file.

    Args:
        unneeded: what is said of a file that stays as it is.

    Raises:
        SettingsInvalid: a file cannot be written; then none is.
    """
    needed = [change for change in changes if change.is_needed]
    shown = not given("json")
    for change in needed if shown else ():
        say_text(change.difference(), err=not dry_run)
    backups = {} if dry_run else dict(zip([each.path for each in needed], write(needed), strict=True))
    for change in changes if shown else ():
        say(_outcome(change, backups.get(change.path), dry_run=dry_run, unneeded=unneeded), err=True)
    return [
        {
            "path": str(change.path),
            "needed": change.is_needed,
            "written": change.is_needed and not dry_run,
            "difference": change.difference() if change.is_needed else "",
            "backup": str(backup) if (backup := backups.get(change.path)) else None,
        }
        for change in changes
    ]


def _outcome(change: Change, backup: Path | None, *, dry_run: bool, unneeded: str) -> str:
    path = str(change.path)
    if not change.is_needed:
        return f"{path} {unneeded}"
    if dry_run:
        return f"{path} would {'go' if change.after is None else 'be changed like this'}; nothing was written"
    if change.after is None:
        return f"{path} removed: nothing else was in it"
    return f"{path} changed" + (f"; as it was: {backup!s}" if backup else "")


def _check_folder(vault: str) -> None:
    if not is_folder(vault):
        raise SettingsInvalid(f"{vault} is no folder.", hint="Give the folder of your notes: --vault DIR.")
    if not os.access(absolute(vault), os.R_OK | os.X_OK):
        raise SettingsInvalid(f"{vault} cannot be read.", hint="Check its permissions.")
