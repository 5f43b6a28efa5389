"""A real daemon whose wall clock is set: by minutes, by decades and back, while it runs and while not."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest

Json = dict[str, Any]
MINUTE, DAY, YEARS = 60, 86_400, 30 * 365 * 86_400


class Clocked:
    """A running daemon, and the clocks it goes by."""

    def __init__(self, running: Any) -> None:
        self.running = running
        self.set()
        running.start()
        self.client = running.connect("agent")

    def set(self, wall_s: int = 0, uptime_s: int = 0) -> None:
        """Puts both clocks ahead of the real ones."""
        self.running.set_ahead(wall_s, uptime_s)

    def restart(self, wall_s: int) -> None:
        """Stops, sets the wall clock, and starts."""
        self.client.close()
        self.running.stop()
        self.set(wall_s)
        self.running.start()
        self.client = self.running.connect("agent")

    def look(self, note: str) -> Json:
        """The user opens a note; returns the event."""
        seq = self.client.publish([{"type": "active_note_set", "data": {"note": note}}])[-1]["seq"]
        return self.events(seq)[0]

    def open_tab(self, note: str) -> None:
        self.client.publish([{"type": "temporary_tab_opened", "data": {"note": note, "source": "search"}}])

    def events(self, first: int = 1) -> list[Json]:
        return self.client.call("workspaced/log", {"from": first, "limit": 500})["events"]  # type: ignore[no-any-return]

    def steps(self) -> list[Json]:
        return [event for event in self.events() if event["type"] == "clock_stepped"]

    def tabs(self) -> list[str]:
        told = self.client.tool("get_workspace_context")["data"]["temporaryTabs"]
        return [tab["noteId"] for tab in told]

    def check_calls(self) -> None:
        """Every call made so far comes out the same when it is made again."""
        done = self.running.cli("replay", str(self.running.data), "--verify")
        assert done.returncode == 0 and " 0 differ, 0 are not recorded" in done.stdout, done.stdout + done.stderr


@pytest.fixture
def clocked(daemon: Callable[..., Any]) -> Clocked:
    return Clocked(daemon(start=False))


def seconds(later: str, earlier: str) -> float:
    return (datetime.fromisoformat(later) - datetime.fromisoformat(earlier)).total_seconds()


@pytest.mark.fault(row=57)
def test_row_57_a_clock_set_forward_and_back_leaves_times_tabs_and_visits_right(clocked: Clocked) -> None:
    begun = clocked.look("a.md")["time"]
    clocked.open_tab("b.md")
    clocked.set(YEARS)
    wrong = clocked.look("c.md")["time"]
    assert clocked.tabs() == ["b.md"]
    clocked.open_tab("work/plan.md")
    clocked.set(0)
    right = clocked.look("a.md")["time"]
    assert seconds(wrong, begun) > YEARS > MINUTE > seconds(right, begun) > 0

    there, back = (event["data"] for event in clocked.steps())
    assert abs(seconds(there["before"], begun)) < MINUTE and abs(seconds(there["after"], wrong)) < MINUTE
    assert abs(seconds(back["before"], wrong)) < MINUTE and abs(seconds(back["after"], right)) < MINUTE

    visits = clocked.client.tool("get_navigation_history")["data"]["visits"]
    assert [visit["id"] for visit in visits] == ["a.md", "c.md", "a.md"]
    assert all(visit["dwellSeconds"] < MINUTE for visit in visits)
    assert clocked.tabs() == ["b.md", "work/plan.md"]
    clocked.set(DAY, DAY)
    assert clocked.tabs() == []
    clocked.check_calls()


@pytest.mark.fault(row=57)
def test_row_57_after_a_start_with_an_earlier_clock_times_go_on_from_that_clock(clocked: Clocked) -> None:
    clocked.restart(YEARS)
    clocked.open_tab("b.md")
    wrong = clocked.look("a.md")["time"]
    clocked.restart(0)
    right = clocked.look("c.md")["time"]
    assert seconds(wrong, right) > YEARS - MINUTE
    [step] = clocked.steps()
    assert step["data"]["before"] >= wrong and abs(seconds(step["data"]["after"], right)) < MINUTE
    visits = clocked.client.tool("get_navigation_history")["data"]["visits"]
    assert all(0 <= visit["dwellSeconds"] < MINUTE for visit in visits)
    assert clocked.tabs() == ["b.md"]
    clocked.set(DAY, DAY)
    assert clocked.tabs() == []
    clocked.check_calls()


@pytest.mark.fault(row=57)
def test_row_57_of_a_time_that_the_log_holds_twice_the_newest_is_answered(clocked: Clocked) -> None:
    clocked.look("a.md")
    clocked.set(-2 * DAY)
    first = clocked.look("b.md")
    clocked.set(-2 * DAY + 60 * MINUTE, 60 * MINUTE)
    clocked.look("c.md")
    clocked.set(60 * MINUTE, 60 * MINUTE)
    clocked.look("a.md")
    clocked.set(-2 * DAY + 30 * MINUTE, 60 * MINUTE)
    second = clocked.look("work/plan.md")
    assert len(clocked.steps()) == 3
    at = second["time"]

    told = clocked.client.tool("get_current_note", {"at": at})
    assert told["data"]["id"] == "work/plan.md" if told["success"] else told["code"] == "NOT_RECORDED"
    told = clocked.client.tool("get_workspace_context", {"at": at})
    assert told["data"]["activeNote"]["id"] == "work/plan.md"
    assert str(first["seq"]) in told["warnings"][0] and "clock" in told["warnings"][0]
    state = clocked.client.state(at=at)
    assert (state["activeNote"]["id"], state["alsoAt"]) == ("work/plan.md", [first["seq"]])

    done = clocked.running.cli("replay", str(clocked.running.data), "--until", at, "--json")
    assert '"work/plan.md"' in done.stdout and str(first["seq"]) in done.stderr
    done = clocked.running.cli("replay", str(clocked.running.data), "--until", str(first["seq"]), "--json")
    assert '"work/plan.md"' not in done.stdout and done.stderr == ""
    clocked.check_calls()


@pytest.mark.fault(row=19)
def test_row_19_a_clock_set_back_by_minutes_is_waited_for(clocked: Clocked) -> None:
    clocked.open_tab("b.md")
    before = clocked.look("a.md")["time"]
    clocked.set(-4 * MINUTE)
    times = [clocked.look(note)["time"] for note in ("b.md", "a.md", "b.md")]
    assert [before, *times] == sorted({before, *times}) and seconds(times[-1], before) < 1
    assert clocked.tabs() == ["b.md"] and clocked.steps() == []
    at = clocked.client.state(at=times[1])
    assert (at["activeNote"]["id"], "alsoAt" in at) == ("a.md", False)
    clocked.restart(-4 * MINUTE)
    assert clocked.steps() == []
    clocked.check_calls()
