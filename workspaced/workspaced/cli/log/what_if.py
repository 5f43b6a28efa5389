"""`workspaced log what-if`."""

from typing import TYPE_CHECKING, Any

import click
import msgspec

from workspaced_events.errors import InvalidArgument
from workspaced_events.schema.decoding import decoded

from ..shared.log import viewed_log
from ..shared.options import at_option, daemon_options
from ..shared.output import output
from ..shared.printing import say

if TYPE_CHECKING:
    from ...inspector.views.what_if import WhatIf


@click.command("what-if")
@click.argument("log", required=False, metavar="[LOG]")
@at_option
@click.option("--without", type=int, multiple=True, metavar="SEQ", help="Without this event; may be repeated.")
@click.option(
    "--action", "actions", multiple=True, metavar="JSON", help="With this action more; may be repeated, in order."
)
@click.option("--tool", default="", metavar="NAME", help="And then an agent calls this tool.")
@click.option("--arguments", default="{}", metavar="JSON", help="The tool's arguments.")
@daemon_options
def what_if_command(
    log: str | None,
    at: int | str | None,
    without: tuple[int, ...],
    actions: tuple[str, ...],
    tool: str,
    arguments: str,
) -> None:
    """Fold LOG without some events, or with actions more, and say what would differ. Nothing of it is recorded.

    Later events that make no sense then are left out too. A tool answers from recordings. LOG is a data directory,
    an export, a bundle, or - for standard input; default: as of `log search`.

    \b
    workspaced log what-if bug.wsb --at 150 --without 143
    workspaced log what-if --action '{"type": "note_pinned", "data": {"note": "a.md"}}'
    """
    from ...inspector.views.what_if import WhatIfParameters, what_if

    wanted = WhatIfParameters(
        at="" if at is None else str(at),
        without=list(without),
        actions=[_object(each, "--action") for each in actions],
        tool=tool,
        arguments=_object(arguments, "--arguments"),
    )
    with viewed_log(log) as inspected:
        found = what_if(inspected, wanted)
    output(found, _print)


def _object(text: str, option: str) -> dict[str, Any]:
    try:
        return decoded(text.encode(), dict[str, Any])
    except (msgspec.MsgspecError, RecursionError) as error:
        raise InvalidArgument(f"Expected a JSON object after {option}: {error}.") from None


def _print(found: "WhatIf") -> None:
    say(f"hypothetical, after event {found.seq}:")
    for line in found.lines or ["nothing would differ"]:
        say(f"  {line}")
    for each in found.not_applied:
        event = each.event
        say(f"left out too: {event.seq} {event.sentence}: {each.why}")
    if (more := found.not_applied_count - len(found.not_applied)) > 0:
        say(f"and {more} more")
    if found.answers is not None:
        same = "the same" if found.answers.are_same else "something else"
        say(f"{found.answers.tool} would answer {same}:")
        say(bytes(found.answers.hypothetical).decode())
    for limit in found.limits:
        say(limit, err=True)
