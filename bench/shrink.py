"""Finding and shrinking: how fast an expression follows a log; how long it takes until few events are left."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from workspaced_events.errors import NeverTrue
from workspaced_events.finding.expression import Expression
from workspaced_events.finding.first_event import find_first
from workspaced_events.finding.shrink import Shrinking
from workspaced_events.projections.workspace_state import to_json
from workspaced_events.replay.open import open_source
from workspaced_events.replay.replay import replay

from .daemon import Place
from .measure import Figure, at_least, at_most, interleaved, median, progress, seconds
from .replay import EVENTS_A_LINE, make_log

NEVER: Final = {
    "pins": ("length(pinnedNotes) > `1000`", at_least(0.5)),
    "active_note": ("activeNote.id == 'none.md'", at_least(0.25)),
}
"""Expressions that are never true, by what they read of a state; how much of a replay's speed must be left."""


def find(at: Place) -> Iterator[Figure]:
    """Events a second that are followed, against those of a bare replay in turns."""
    count = at.sizes.replay_events // 4
    progress(f"making a log of {count} events")
    log = at.new("log")
    make_log(log, count, EVENTS_A_LINE)

    def follow(text: str) -> Callable[[], float]:
        return lambda: count / seconds(lambda: _never_found(log, text))

    bare, *followed = interleaved(
        at.sizes.rounds,
        lambda: count / seconds(lambda: replay(log)),
        *(follow(text) for text, _goal in NEVER.values()),
    )
    for (name, (text, goal)), rates in zip(NEVER.items(), followed, strict=True):
        ratios = [rate / replayed for rate, replayed in zip(rates, bare, strict=True)]
        fields = {"events": count, "rounds": len(rates), "events_per_s": median(rates), "when": text}
        yield Figure(f"find.when.{name}", median(ratios), "x replay", goal, fields=fields)


def shrink(at: Place) -> Iterator[Figure]:
    """Seconds from a log to the fewest events of it that show what its end shows, and how many those are."""
    count = at.sizes.replay_events // 20
    progress(f"making a log of {count} events")
    log = at.new("log")
    make_log(log, count, EVENTS_A_LINE)
    text = _order_of_last_pins(log)
    results: list[Shrinking] = []
    [took] = interleaved(at.sizes.rounds, lambda: seconds(lambda: results.append(_shrunk(log, text))))
    last = results[-1]
    fields = {"events": last.given, "left": len(last.events), "asked": last.asked, "rounds": len(took)}
    assert len(last.events) < 10, fields
    yield Figure("shrink.when", median(took), "s", at.sizes.whole(at_most(5)), at_most(1), fields)


def _order_of_last_pins(log: Path) -> str:
    state = to_json(replay(log).state)
    places = ((at, state.pinned_notes[at].id) for at in range(-4, 0))
    return " && ".join(f"pinnedNotes[{at}].id == '{note}'" for at, note in places)


def _shrunk(log: Path, text: str) -> Shrinking:
    with open_source(log) as source:
        shrinking = Shrinking(source, Expression(text))
    shrinking.run()
    return shrinking


def _never_found(log: Path, text: str) -> None:
    with open_source(log) as source, contextlib.suppress(NeverTrue):
        find_first(source, Expression(text))
        raise AssertionError(text)
