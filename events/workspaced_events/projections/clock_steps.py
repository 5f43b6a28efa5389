"""The places in a log where its clock was set: the true length of intervals, and the moments that a time names.

A stretch is the run of events between two such places; its times never decrease.
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


def clock_advance_us(steps: Sequence[ClockStep], after: int, upto: int | None = None) -> int:
    """The microseconds by which the clock was set forward after event `after` up to `upto` (None: the end).

    The true time between events at `after` and `upto` is the difference of their times minus this.
    """
    set_us = 0
    for step in reversed(steps):
        if step.seq <= after:
            break
        if upto is None or step.seq <= upto:
            set_us += microseconds(step.after) - microseconds(step.before)
    return set_us


class Stretch(NamedTuple):
    """Events between which the clock was not set, with the range of their times."""

    first: int
    last: int
    begin: str
    end: str

    def holds(self, time: str) -> bool:
        return self.begin <= time <= self.end


def stretches(steps: Sequence[ClockStep], first: tuple[int, str], last: tuple[int, str]) -> list[Stretch]:
    """The stretches of a log, oldest first; those before the oldest of CLOCK_STEPS_MAX steps are unknown.

    Args:
        steps: of the log up to `last`.
        first: sequence and time of the log's first event.
        last: sequence and time of the log's end.
    """
    parts = []
    if len(steps) >= CLOCK_STEPS_MAX:
        first = (steps[0].seq, steps[0].after)
    seq, time = first
    for step in steps:
        if step.seq > seq:
            parts.append(Stretch(seq, step.seq - 1, time, step.before))
        seq, time = step.seq, step.after
    parts.append(Stretch(seq, last[0], time, last[1]))
    return parts


def stretches_at(found: Sequence[Stretch], time: str) -> list[Stretch]:
    """The stretches that contain a time, newest first; if none does, the newest that began before it."""
    holding = [each for each in reversed(found) if each.holds(time)]
    return holding or [each for each in reversed(found) if each.begin <= time][:1]
