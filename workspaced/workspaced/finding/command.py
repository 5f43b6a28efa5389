"""`workspaced log find` and `workspaced log shrink`: where a predicate becomes true, and the smallest such log."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, TypeVar

import click

from workspaced_events.errors import InvalidArgument, PredicateFailed
from workspaced_events.finding.bisect import find_between, find_first
from workspaced_events.finding.predicate import TIMEOUT_S, Command, Expression, Predicate
from workspaced_events.finding.shrink import Shrinking
from workspaced_events.ids import VaultId
from workspaced_events.projections.state_diff import changes
from workspaced_events.projections.workspace_state import to_json
from workspaced_events.replay.json_lines import export_lines
from workspaced_events.replay.position import parse_position

from ..terminal.log import open_log
from ..terminal.options import given, json_option, utc_option
from ..terminal.output import output, segment_progress, write_lines
from ..terminal.printing import print_json, say, say_text, warn
from ..terminal.step_text import step_block

F = TypeVar("F", bound=Callable[..., object])

_TIMEOUT_S_MAX: Final = 24 * 60 * 60


def _predicate_options(function: F) -> F:
    """LOG, and the options of the predicate."""
    for decorate in (
        json_option,
        click.option("--of-vault", metavar="ID", help="Of this vault instead of the current one."),
        click.option(
            "--timeout",
            "timeout_s",
            type=click.IntRange(min=1, max=_TIMEOUT_S_MAX),
            default=round(TIMEOUT_S),
            show_default=True,
            metavar="SECONDS",
            help="How long COMMAND may take over one state.",
        ),
        click.option("--run", "command", metavar="COMMAND", help="A shell command that gets the state on stdin."),
        click.option("--when", "expression", metavar="EXPR", help="JMESPath over the state."),
        click.argument("log", metavar="LOG"),
    ):
        function = decorate(function)
    return function


@click.command("find")
@click.option(
    "--between", nargs=2, metavar="A B", help="Bisect: not so after event A (or time), so after event B."
)
@_predicate_options
@utc_option
def find_command(
    log: str,
    expression: str | None,
    command: str | None,
    between: tuple[str, str] | None,
    timeout_s: int,
    of_vault: str | None,
) -> None:
    """Find the event in LOG at which the state begins to show something.

    What is looked for is --when EXPR, an expression that becomes true, or --run COMMAND, whose exit code says
    whether the state on its standard input shows it: 0 it does, 1 it does not, 125 it cannot tell. Both see the
    state as `workspaced replay --json` prints it.

    \b
      workspaced log find LOG --when "activeNote.id == 'work/plan.md'"
      workspaced log find LOG --run 'jq -e ".pinnedNotes | length > 3"' --between 100 2000

    With --between, and always with --run, the log is bisected (by default the whole of it): that finds the event
    if what is shown once is shown from then on.
    """
    predicate = _predicate(expression, command, of_vault, timeout_s)
    with open_log(log) as source:
        if between is None and isinstance(predicate, Expression):
            with segment_progress("searching") as progress:
                found = find_first(source, predicate, progress=progress)
        else:
            after, upto = (parse_position(each) for each in between) if between is not None else (None, None)
            with _status() as tell:
                found = find_between(
                    source,
                    predicate,
                    after,
                    upto,
                    report=lambda low, high: tell(f"between events {low} and {high}"),
                )
    event, vault = found.event, predicate.vault
    difference = changes(to_json(found.before, vault), to_json(found.after, vault))
    report = {"seq": event.seq, "time": event.time, "event": event, "changes": difference}
    output(report, lambda _: say_text(step_block(event, difference)))


@click.command("shrink")
@click.option(
    "-o",
    "--output",
    "to",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Default: standard output.",
)
@click.option("--until", metavar="SEQ|TIME", help="With --run: an event after which it shows. Default: the last.")
@_predicate_options
def shrink_command(
    log: str,
    expression: str | None,
    command: str | None,
    until: str | None,
    to: Path | None,
    timeout_s: int,
    of_vault: str | None,
) -> int:
    """Make LOG as small as it can be while its last state still shows something.

    Writes an export that leads to such a state and from which no event can be left out. Its events are numbered
    anew; notes get short names where that makes no difference. What is looked for is said as for `find`.

    Ctrl-C writes the smallest that was found until then.
    """
    if until is not None and command is None:
        raise click.UsageError("--until belongs to --run; --when finds the first event by itself.")
    if given("json") and to is None:
        raise click.UsageError("--json reports on standard output, so the log needs a file: give -o FILE.")
    if to is not None:
        _check_output(to, log)
    predicate = _predicate(expression, command, of_vault, timeout_s)
    place = parse_position(until) if until is not None else None
    with open_log(log) as source, segment_progress("searching") as progress:
        shrinking = Shrinking(source, predicate, until=place, progress=progress)
    return _shrink(shrinking, to)


def _shrink(shrinking: Shrinking, to: Path | None) -> int:
    """Shrinks, writes the result even after an interruption, and reports; returns the exit code."""
    stopped: KeyboardInterrupt | PredicateFailed | None = None
    try:
        with _status() as tell:
            shrinking.run(
                lambda left, asked: tell(f"{left} of {shrinking.given} events left, asked {asked} times")
            )
    except (KeyboardInterrupt, PredicateFailed) as error:
        stopped = error
    write_lines(export_lines("", shrinking.events), to)
    say(f"{shrinking.given} events -> {len(shrinking.events)}", err=True)
    if stopped is not None:
        say("stopped early: a smaller log may show it too", err=True)
    shows = stopped is None and shrinking.is_shown_when_read()
    if given("json"):
        counts = {"from": shrinking.given, "to": len(shrinking.events), "asked": shrinking.asked}
        print_json({**counts, "smallest": stopped is None, "shows": shows})
    if stopped is not None:
        raise stopped
    if not shows:
        warn(
            "Asked about the result once more, the command said that it does not show it: it cannot be relied on."
        )
    return 0 if shows else 1


def _check_output(output: Path, log: str) -> None:
    """Checks before all the work that the result can be written."""
    if not output.absolute().parent.is_dir():
        raise InvalidArgument(
            f"There is no directory {output.absolute().parent}.", hint="Give -o an existing one."
        )
    if output.exists() and Path(log).exists() and output.samefile(log):
        raise InvalidArgument(f"{output} is the log itself.", hint="Give -o another file.")


def _predicate(expression: str | None, command: str | None, of_vault: str | None, timeout_s: int) -> Predicate:
    vault = VaultId(of_vault) if of_vault is not None else None
    if expression is not None and command is None:
        return Expression(expression, vault)
    if command is not None and expression is None:
        return Command(command, vault, timeout_s=timeout_s)
    raise click.UsageError("Say what to look for: either --when EXPR or --run COMMAND.")


@contextmanager
def _status() -> Iterator[Callable[[str], None]]:
    """A function that shows progress on stderr if it is a terminal, and otherwise does nothing."""
    if not sys.stderr.isatty():
        yield lambda _text: None
        return
    from rich.console import Console

    with Console(stderr=True).status("asking") as status:
        yield status.update
