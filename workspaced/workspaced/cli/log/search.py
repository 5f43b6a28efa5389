"""`workspaced log search`."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import click

from ...inspector.lanes import LANES
from ..shared.log import viewed_log
from ..shared.options import daemon_options, utc_option
from ..shared.output import output
from ..shared.printing import say, styled
from ..shared.terminal import local_time

if TYPE_CHECKING:
    from ...inspector.inspected import Inspected
    from ...inspector.views.texts import TextHit, Texts

_LIMIT: Final = 50
_WORDS: Final = {"messages": "messages sent", "told": "told without asking"}
"""Places whose names in the answer do not say enough."""


@click.command("search")
@click.argument("text")
@click.argument("log", required=False, metavar="[LOG]")
@click.option("--in", "lanes", multiple=True, type=click.Choice(LANES), help="Only there; may be repeated.")
@click.option("--from", "since", type=click.IntRange(min=1), metavar="SEQ", help="Only from this event on.")
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    default=_LIMIT,
    show_default=True,
    metavar="N",
    help="The first N events.",
)
@utc_option
@daemon_options
def search_command(text: str, log: str | None, lanes: tuple[str, ...], since: int | None, limit: int) -> int:
    """Find TEXT in events, messages, calls, prompts and what agents were told; the earliest event first.

    Prompts are searched as they were sent, calls as they were answered; upper and lower case are the same.
    LOG is a data directory, an export, a bundle, or - for standard input; without it that of the running daemon
    is read, or where none runs the workspace's own. Exit code 1 where TEXT stands nowhere.

    \b
    workspaced log search 'Release 1 comes on 22 June' --in prompts
    """
    hits, not_kept, following = 0, 0, None
    with viewed_log(log) as inspected:
        for found in _read(inspected, text, ",".join(lanes), since, limit):
            for hit in found.hits:
                output(hit, _print)
            hits, not_kept, following = hits + len(found.hits), not_kept + found.not_kept, found.next
    if not_kept:
        say(f"{not_kept} recordings are not kept, so they were not searched", err=True)
    if following is not None:
        say(f"there may be more: add --from {following}", err=True)
    elif not hits:
        say("it stands nowhere here", err=True)
    return 0 if hits else 1


def _read(inspected: "Inspected", text: str, lanes: str, since: int | None, limit: int) -> Iterator["Texts"]:
    """The answers of the page's search, until there are `limit` hits or the log ends."""
    from ...inspector.views.texts import HITS_MAX, TextsParameters, texts

    while True:
        wanted = TextsParameters(text, from_=since, lanes=lanes, limit=min(limit, HITS_MAX))
        found = texts(inspected, wanted)
        yield found
        since, limit = found.next, limit - len(found.hits)
        if since is None or limit == 0:
            return


def _print(hit: "TextHit") -> None:
    row, where = hit.row, _WORDS.get(hit.where, hit.where)
    times = f", {hit.times} times" if hit.times > 1 else ""
    block = f" {hit.block}" if hit.block else ""
    about = f" {row.type} {local_time(row.time)} {row.who}: {where}{block}{times}"
    say(styled(str(row.seq), bold=True), about)
    say(f"    {hit.before}", styled(hit.found, fg="yellow", bold=True), hit.after)
