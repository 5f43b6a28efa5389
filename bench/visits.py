"""Visits of a log in which notes are renamed all the time: folded, asked for, and asked for again."""

from collections.abc import Iterator
from typing import Final

from workspaced_events.ids import EventId, NoteId, VaultId
from workspaced_events.projections.visits import VisitStream
from workspaced_events.schema import catalogue as c
from workspaced_events.schema.catalogue import ENTRY_OF, Event

from .daemon import Place
from .measure import Figure, at_most, median, seconds

VAULT: Final = VaultId("bench")
NOTES: Final = 1_000
FED: Final = 1_000
"""Events in one part, as a log is read."""


def renamed(at: Place) -> Iterator[Figure]:
    """Every other event sets the active note, every other one renames a note."""
    count = at.sizes.replay_events
    events = [_event(seq) for seq in range(1, count + 1)]
    folds, firsts, agains = [], [], []
    for _ in range(at.sizes.rounds):
        stream = VisitStream()
        folds.append(seconds(lambda stream=stream: _feed(stream, events)))
        firsts.append(1_000 * seconds(lambda stream=stream: stream.visits(VAULT, count)))
        agains.append(1_000 * seconds(lambda stream=stream: stream.visits(VAULT, count)))
    fields = {
        "events": count,
        "first_ask_ms": median(firsts),
        "asked_again_ms": median(agains),
        "rounds": len(folds),
    }
    goal, aim = at.sizes.whole(at_most(1)), at.sizes.whole(at_most(0.5))
    yield Figure("visits.renames", median(folds) + median(firsts) / 1_000, "s", goal, aim, fields)


def _feed(stream: VisitStream, events: list[Event]) -> None:
    for start in range(0, len(events), FED):
        stream.feed(events[start : start + FED])


def _event(seq: int) -> Event:
    number = seq // 2
    if seq % 2:
        data: c.Data = c.ActiveNoteSet(NoteId(f"n{number % NOTES}.md"))
    else:
        data = c.NoteRenamed(NoteId(f"n{number % (NOTES - 3)}.md"), NoteId(f"n{number * 7 % NOTES}.md"))
    time = f"2026-03-01T00:00:00.{seq:06}Z"
    made: Event = ENTRY_OF[type(data)].event(seq, EventId(f"id-{seq}"), time, "ui", VAULT, data)
    return made
