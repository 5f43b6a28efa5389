"""`workspaced eval`: tests from judged answers."""

import os
import re
from pathlib import Path
from typing import Final

import click

from workspaced_events.errors import InvalidArgument
from workspaced_tools.errors import NotRecorded

from ..terminal.log import read_log
from ..terminal.options import daemon_options
from ..terminal.output import output, write_lines
from ..terminal.printing import counted, say, warn
from .files import inspect_files, promptfoo_files, pytest_files
from .samples import LeftOut, samples

SCORERS: Final = ("includes", "exact", "regex", "model-graded")
_RUN: Final = {
    "pytest": "pytest {}",
    "inspect": "inspect eval {}/task.py --model NAME",
    "promptfoo": "npx promptfoo eval -c {}/promptfooconfig.json",
}


@click.group()
def eval_command() -> None:
    """Tests from answers that were judged (`workspaced judge`)."""


@eval_command.command("export")
@click.argument("log", required=False, metavar="[LOG]")
@click.option("--to", "target", type=click.Choice(list(_RUN)), required=True, help="The program that runs them.")
@click.option(
    "-o", "--output", "folder", type=click.Path(path_type=Path, file_okay=False), required=True, metavar="DIR"
)
@click.option(
    "--scorer",
    type=click.Choice(SCORERS),
    default="includes",
    show_default=True,
    help="How an answer is compared with what was wanted.",
)
@daemon_options
def export_command(log: str | None, target: str, folder: Path, scorer: str) -> None:
    """Write the judged answers of LOG into DIR, as tests for another program.

    \b
    pytest      was the agent shown what a right answer says? No model, no network. Beside the tests lie the notes
                as they were shown: change one, and see whether that would have been enough
    inspect     a task of Inspect: the prompts for any model, tools that answer what was recorded
    promptfoo   the same as a configuration of promptfoo, for models below OPENAI_BASE_URL

    LOG is a data directory or a bundle; without it that of the running daemon is read, or where none runs the
    workspace's own. Tests of pytest need LOG, too. What shows or names a note that is withheld by now, and what is
    not kept, is left out and named.
    """
    if folder.exists() and any(folder.iterdir()):
        raise InvalidArgument(
            f"{folder} is no new folder.", hint="Name another: notes in it may have been changed."
        )
    with read_log(log) as opened:
        if opened.damage is not None:
            raise opened.damage
        found, left_out = samples(opened)
    if target != "pytest":
        why = "It is a call of {}, which no model answers; --to pytest takes it."
        left_out += [LeftOut(each.seq, "NO_PROMPT", why.format(each.tool)) for each in found if each.tool]
        found = [each for each in found if not each.tool]
    if scorer == "regex":
        broken = {each.seq: error for each in found if (error := _trouble_of(each.wanted)) is not None}
        left_out += [
            LeftOut(seq, "NO_REGEX", f"What was wanted is no regular expression: {why}.")
            for seq, why in broken.items()
        ]
        found = [each for each in found if each.seq not in broken]
    for each in left_out:
        warn(f"event {each.seq} is left out: {each.why} [{each.code}]")
    if not found:
        raise _nothing(left_out)
    if target == "pytest":
        if log is None or log == "-":
            raise InvalidArgument(
                "These tests read the log again, so it must be a file that stays.",
                hint="Make one with `workspaced bundle -o bug.wsb`, and give it.",
            )
        files = pytest_files(found, scorer, os.path.relpath(Path(log).resolve(), folder.resolve()))
    else:
        files = inspect_files(found, scorer) if target == "inspect" else promptfoo_files(found, scorer)
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_lines(iter([text.encode()]), path)
    report = {"output": str(folder), "samples": [each.seq for each in found], "leftOut": left_out}
    run = _RUN[target].format(folder)
    output(report, lambda _: say(f"{folder}: {counted(len(found), 'test')}, for `{run}`", err=True))


def _trouble_of(expression: str) -> str | None:
    try:
        re.compile(expression)
    except (re.error, RecursionError, OverflowError) as error:
        return str(error)
    return None


def _nothing(left_out: list[LeftOut]) -> Exception:
    if left_out:
        return NotRecorded(f"None of the {len(left_out)} judged answers can be a test", hint=left_out[0].why)
    return InvalidArgument(
        "No answer of this log was judged.", hint="Judge one first: `workspaced judge PROMPT wrong --wanted TEXT`."
    )
