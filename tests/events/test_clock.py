"""The clock of a log: when it takes the wall clock for set, what it says then, what a time names afterwards."""

import pytest

from workspaced_events.clock import (
    STEP_US,
    ClockStep,
    LogClock,
    Stretch,
    clock_advance_us,
    event_time,
    just_after,
    microseconds,
    stretches,
    stretches_at,
)

START = "2026-03-01T12:00:00.000000Z"
HOUR_US = 3_600_000_000


def after(us: int, start: str = START) -> str:
    return event_time((microseconds(start) + us) * 1_000)


class Clocks:
    """A wall clock and an uptime that tests move, and a log's clock over them."""

    def __init__(self, last: str = "") -> None:
        self.wall, self.uptime_us = START, 0
        self.clock = LogClock(lambda: self.wall, lambda: self.uptime_us * 1_000, last)
        self.clock.now()

    def move(self, wall_us: int, uptime_us: int) -> None:
        self.wall = after(wall_us, self.wall)
        self.uptime_us += uptime_us


@pytest.mark.parametrize("time", [START, "1970-01-01T00:00:00.000000Z", "9999-12-31T23:59:59.999999Z"])
def test_microseconds_are_exact(time: str) -> None:
    assert event_time(microseconds(time) * 1_000) == time


def test_the_microsecond_after_a_second_is_the_next_second() -> None:
    assert just_after("2026-12-31T23:59:59.999999Z") == "2027-01-01T00:00:00.000000Z"


@pytest.mark.parametrize("off_us", [0, STEP_US, -STEP_US])
def test_up_to_five_minutes_apart_the_wall_clock_counts(off_us: int) -> None:
    clocks = Clocks()
    clocks.move(HOUR_US + off_us, HOUR_US)
    assert clocks.clock.read() == (clocks.wall, None, None)


@pytest.mark.fault(row=57)
@pytest.mark.parametrize("off_us", [STEP_US + 1, -STEP_US - 1, 10_000 * HOUR_US])
def test_further_apart_the_old_time_goes_on_until_the_log_follows(off_us: int) -> None:
    clocks = Clocks()
    clocks.move(HOUR_US + off_us, HOUR_US)
    reading = clocks.clock.read()
    assert (reading.time, reading.stepped_to) == (after(HOUR_US), clocks.wall)
    clocks.move(HOUR_US, HOUR_US)
    assert clocks.clock.now() == after(2 * HOUR_US)
    clocks.clock.follow(clocks.clock.read())
    assert clocks.clock.read() == (clocks.wall, None, None)


def test_a_machine_that_slept_was_not_set() -> None:
    clocks = Clocks()
    clocks.move(100 * HOUR_US, 100 * HOUR_US)
    assert clocks.clock.read().stepped_to is None


@pytest.mark.parametrize(("ahead_us", "stepped"), [(STEP_US, False), (STEP_US + 1, True), (-10 * HOUR_US, False)])
def test_at_the_start_only_a_clock_far_before_the_last_event_was_set(ahead_us: int, stepped: bool) -> None:
    reading = Clocks(last=after(ahead_us)).clock.read()
    assert (reading.stepped_to is not None) == stepped
    assert reading.time == (after(ahead_us) if stepped else START)


STEPS = (
    ClockStep(10, after(HOUR_US), after(50 * HOUR_US)),
    ClockStep(20, after(51 * HOUR_US), after(HOUR_US // 2)),
)


def test_by_how_much_the_clock_was_set_is_a_sum() -> None:
    there, back = 49 * HOUR_US, -50 * HOUR_US - HOUR_US // 2
    assert clock_advance_us(STEPS, 0) == there + back
    assert (clock_advance_us(STEPS, 9), clock_advance_us(STEPS, 10), clock_advance_us(STEPS, 20)) == (
        there + back,
        back,
        0,
    )
    assert (clock_advance_us(STEPS, 0, 9), clock_advance_us(STEPS, 0, 10), clock_advance_us(STEPS, 9, 19)) == (
        0,
        there,
        there,
    )


def test_a_time_names_the_newest_stretch_that_holds_it_and_else_the_newest_that_began_before() -> None:
    found = stretches(STEPS, (1, START), (30, after(2 * HOUR_US)))
    first, second, third = found
    assert [(each.first, each.last) for each in found] == [(1, 9), (10, 19), (20, 30)]
    assert stretches_at(found, after(HOUR_US // 4)) == [first]
    assert stretches_at(found, after(3 * HOUR_US // 4)) == [third, first]
    assert stretches_at(found, after(50 * HOUR_US)) == [second]
    assert stretches_at(found, after(3 * HOUR_US)) == [third]
    assert stretches_at(found, after(-1)) == []
    assert stretches((), (1, START), (0, "")) == [Stretch(1, 0, START, "")]
