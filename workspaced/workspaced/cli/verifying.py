"""`workspaced replay --verify`: recorded calls made again, and the first answer that is another one."""

import difflib
from collections import Counter
from typing import Any

import click

from workspaced_events.source import Source
from workspaced_events.state_diff import shown
from workspaced_events.until import Until

from .common import print_json, print_warnings, segment_progress


def verify_log(source: Source, until: Until | None, *, as_json: bool) -> int:
    """Says what became of the calls; the exit code is 1 where an answer differs."""
    from workspaced_tools.call_diff import readable_json
    from workspaced_tools.verify import Outcome, Verified, verify

    counts: Counter[Outcome] = Counter()
    reasons: Counter[str] = Counter()
    first: list[Verified] = []

    def each(made: Verified) -> None:
        counts[made.outcome] += 1
        if made.outcome is Outcome.NOT_RECORDED:
            reasons[made.why] += 1
        elif made.outcome is Outcome.DIFFERENT and not first:
            first.append(made)
        if as_json:
            print_json(_json(made))

    with segment_progress("verifying") as progress:
        print_warnings(verify(source, each, until=until, progress=progress))
    if as_json:
        return 1 if first else 0
    click.echo(
        f"{counts.total()} calls: {counts[Outcome.SAME]} answer the same, {counts[Outcome.DIFFERENT]} differ, "
        f"{counts[Outcome.NOT_RECORDED]} are not recorded."
    )
    for why, count in reasons.most_common():
        click.echo(f"  not recorded ({count}): {shown(why)}")
    for made in first:
        by = shown(made.called.caller)
        click.echo(f"The first that differs is call {made.seq}, {made.called.tool} by {by}:")
        if made.served is None or made.answered is None:
            click.echo("  what was served is not kept; its hash is another one.")
            continue
        served, answered = readable_json(made.served), readable_json(made.answered)
        for line in difflib.unified_diff(served, answered, "served", "answered now", lineterm=""):
            click.echo(shown(line))
    return 1 if first else 0


def _json(made: Any) -> dict[str, Any]:
    said = {"seq": made.seq, "tool": made.called.tool, "caller": made.called.caller, "outcome": made.outcome}
    if made.why:
        said["why"] = made.why
    if made.outcome == "different":
        said["served"] = made.served.decode() if made.served is not None else None
        said["answered"] = made.answered.decode()
    return said
