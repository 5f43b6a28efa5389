"""`workspaced context coverage`."""

from typing import TYPE_CHECKING, Final

import click

from ...terminal.options import daemon_options
from ...terminal.output import output, print_table
from ...terminal.printing import say

if TYPE_CHECKING:
    from ...inspector.views.prompts.coverage import CoverageShown, CoveredNote

_LIMIT: Final = 100
_COLOURS: Final = {"unused": "yellow", "used": "green"}


@click.command("coverage")
@click.argument("log", required=False, metavar="[LOG]")
@click.option("--from", "begin", type=click.IntRange(min=1), metavar="SEQ", help="From this event on.")
@click.option("--to", "end", type=click.IntRange(min=1), metavar="SEQ", help="Up to this event.")
@click.option("--status", type=click.Choice(("unused", "unknown", "used")), help="Only such notes.")
@click.option(
    "--limit",
    type=click.IntRange(1, 200),
    default=_LIMIT,
    show_default=True,
    metavar="N",
    help="The first N notes.",
)
@daemon_options
def coverage_command(log: str | None, begin: int | None, end: int | None, status: str | None, limit: int) -> None:
    """Which notes agents were given, and which of them an answer named or a later call asked for.

    A note is unused if every agent that had it answered afterwards, and no answer and no later call names it;
    unknown if the log holds no answer of an agent that had it. An answer may rest on a note that it does not name.
    """
    from ...inspector.viewed_log import viewed_log
    from ...inspector.views.prompts.coverage import CoverageParameters, coverage

    with viewed_log(log) as inspected:
        shown = coverage(inspected, CoverageParameters(begin, end, status, limit=limit))  # type: ignore[arg-type]
    output(shown, _print)


def _print(shown: "CoverageShown") -> None:
    if not shown.notes:
        say("no notes", err=True)
        return
    head = ("NOTE", "STATUS", "GIVEN", "~TOKENS", "BYTES", "USED BY")
    colours = {row: _COLOURS[each.status] for row, each in enumerate(shown.notes, 1) if each.status in _COLOURS}
    print_table([head, *map(_row, shown.notes)], right={2, 3, 4}, colours=colours, drop=(4, 5), wrap=0)
    for total in shown.totals:
        say(f"{total.status}: {total.notes} notes, about {total.tokens:,} tokens", err=True)
    if shown.notes_total > len(shown.notes):
        say(f"the first {len(shown.notes)} of {shown.notes_total} notes; see --limit, --status", err=True)
    if shown.is_cut:
        say(f"read from event {shown.first} on; earlier ones: --to {shown.first - 1}", err=True)
    if shown.not_kept:
        say(f"{shown.not_kept} are not kept: what they gave is not known", err=True)


def _row(each: "CoveredNote") -> tuple[str, ...]:
    first = each.used[0] if each.used else None
    used = f"{first.how} {first.seq}" if first is not None else ""
    more = f" and {each.used_count - 1} more" if each.used_count > 1 else ""
    return (each.note, each.status, str(each.given_count), f"{each.tokens:,}", f"{each.bytes:,}", used + more)
