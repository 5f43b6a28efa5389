"""get_navigation_history over a history made up for the test."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.tool_fixtures import Call, MakeVault, MakeView

from workspaced_events.ids import NoteId
from workspaced_events.projections.visits import Visit
from workspaced_events.projections.workspace_state import EMPTY_VAULT

TOOL = "get_navigation_history"


def at(minute: int, second: int = 0) -> str:
    """A time in the hour before the view's now, 12:00."""
    return f"2026-03-01T11:{minute:02}:{second:02}.000000Z"


def visit(note: str, begin: int, end: int | None) -> Visit:
    return Visit(NoteId(note), begin, at(begin), at(end) if end is not None else None)


VISITS = [visit("a.md", 0, 5), visit("w/b.md", 5, 6), visit("a.md", 10, 10), visit("gone.md", 20, None)]
FILES = {"a.md": "# Alpha", "w/b.md": "# Beta"}


@pytest.fixture
def ask(make_vault: MakeVault, make_view: MakeView, call: Call) -> Call:
    """ask(visits, **arguments) -> the result."""
    vault = make_vault(FILES)

    def make(visits: Sequence[Visit] = VISITS, **arguments: Any) -> dict[str, Any]:
        return call(TOOL, make_view(vault, EMPTY_VAULT, visits), **arguments)

    return make


def begins(result: dict[str, Any]) -> list[int]:
    return [int(each["at"][14:16]) for each in result["data"]["visits"]]


def shown(minute: int) -> str:
    """The time as answers have it: to the second."""
    return f"{at(minute)[:19]}Z"


def test_visits_come_newest_first_with_dwell_times(ask: Call) -> None:
    data = ask()["data"]
    names = ("id", "title", "exists", "at", "until", "dwellSeconds")
    assert [tuple(each.get(name) for name in names) for each in data["visits"]] == [
        ("gone.md", "gone", False, shown(20), None, 2400.0),
        ("a.md", "Alpha", True, shown(10), shown(10), 0.0),
        ("w/b.md", "Beta", True, shown(5), shown(6), 60.0),
        ("a.md", "Alpha", True, shown(0), shown(5), 300.0),
    ]
    assert data["total"] == 4


def test_limit_takes_the_newest_and_total_counts_all(ask: Call) -> None:
    visits = [visit("a.md", minute, minute) for minute in range(50)]
    result = ask(visits)
    assert (begins(result), result["data"]["total"]) == (list(range(49, 29, -1)), 50)
    assert begins(ask(visits, limit=1)) == [49]
    assert begins(ask(visits, limit=200)) == list(range(49, -1, -1))


@pytest.mark.parametrize(
    "time",
    [
        *("2026-03-01T11:05:30Z", "2026-03-01T11:05:30", "2026-03-01 11:05:30.000"),
        *("2026-03-01T12:05:30+01:00", "2026-03-01T06:05:30-05:00", "20260301T110530Z"),
        "  2026-03-01T11:05:30Z  ",
    ],
)
def test_since_time_keeps_what_lasted_beyond_it_in_whatever_zone_it_is_told(ask: Call, time: str) -> None:
    result = ask(sinceTime=time)
    assert begins(result) == [20, 10, 5]
    assert result["data"]["total"] == 3


def test_a_visit_counts_if_it_began_at_that_time_and_not_if_it_ended_then(ask: Call) -> None:
    assert begins(ask(sinceTime=at(10))) == [20, 10]
    assert begins(ask(sinceTime=at(6))) == [20, 10]
    assert begins(ask(sinceTime="2026-03-01")) == [20, 10, 5, 0]
    assert begins(ask(sinceTime="2999-01-01")) == [20]
    assert begins(ask([VISITS[0]], sinceTime="2999-01-01")) == []


@example("0001-01-01T00:00:00+14:00")
@example("9999-12-31T23:59:59-14:00")
@given(st.text(max_size=64) | st.datetimes().map(str) | st.datetimes(timezones=st.timezones()).map(str))
def test_any_text_is_a_time_or_refused(ask: Call, time: str) -> None:
    result = ask(sinceTime=time)
    assert result["success"] or result["code"] == "INVALID_ARGUMENT"
