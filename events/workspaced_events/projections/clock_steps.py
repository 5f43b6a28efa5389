"""Where in a log its clock was set, and what follows: how long something lasted, and which moments a time names.

Between two such places the times of events never decrease. The events from one to the next are a stretch.
"""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from ..clock import microseconds
from ..limits import CLOCK_STEPS_MAX


class ClockStep(msgspec.Struct, frozen=True, rename="camel"):
    """The event `clock_stepped` at `seq`."""

    seq: int
    before: str
    after: str


def set_by_us(steps: Sequence[ClockStep], after: int, upto: int | None = None) -> int:
    """By how many microseconds the clock was set forward at the events after `after` up to `upto` (None: the end).

    So long less than their times tell lies between an event at `after` and one at `upto`.
    """
    found = 0
    for step in reversed(steps):
        if step.seq <= after:
            break
        if upto is None or step.seq <= upto:
            found += microseconds(step.after) - microseconds(step.before)
    return found


class Stretch(NamedTuple):
    """Events between which the clock was not set, and the times that they tell of."""

    first: int
    last: int
    begin: str
    end: str

    def holds(self, time: str) -> bool:
        return self.begin <= time <= self.end


def stretches(steps: Sequence[ClockStep], first: tuple[int, str], last: tuple[int, str]) -> list[Stretch]:
    """The stretches of a log, oldest first; those before the oldest of CLOCK_STEPS_MAX steps are not known.

    Args:
        steps: of the log up to `last`.
        first: sequence and time of its first event.
        last: sequence and time of its end.
    """
    found = []
    if len(steps) >= CLOCK_STEPS_MAX:
        first = (steps[0].seq, steps[0].after)
    seq, time = first
    for step in steps:
        if step.seq > seq:
            found.append(Stretch(seq, step.seq - 1, time, step.before))
        seq, time = step.seq, step.after
    found.append(Stretch(seq, last[0], time, last[1]))
    return found


def naming(found: Sequence[Stretch], time: str) -> list[Stretch]:
    """The stretches that a time names, the newest first; where none holds it, the newest that began before it."""
    holding = [each for each in reversed(found) if each.holds(time)]
    return holding or [each for each in reversed(found) if each.begin <= time][:1]
