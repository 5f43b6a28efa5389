"""What a source shows by snapshots leaves once its last connection is gone for the grace; all else stays."""

import asyncio
from collections.abc import Callable
from typing import Any, cast

import pytest
from support.daemon import Daemon, Factory, refusal

from workspaced import SyncClient
from workspaced.journal.publishing import Publishing
from workspaced.limits import LATE_S, SOURCES_PER_CONNECTION_MAX, STEP_S
from workspaced.service.open_views import OpenViews

SOON = {"WORKSPACED_PUBLISHER_GRACE_S": "0.05"}
NEVER = {"WORKSPACED_PUBLISHER_GRACE_S": "3600"}


def show(client: SyncClient, source: str, active: str | None, *tabs: str, pins: tuple[str, ...] = ()) -> None:
    view = {"source": source, "active": active, "pins": list(pins), "tabs": [{"note": each} for each in tabs]}
    client.call("workspaced/snapshot", view)


def look(client: SyncClient, note: str, source: str) -> None:
    client.publish([{"type": "active_note_set", "data": {"note": note}}], source=source)


def closed(daemon: Daemon, count: int = 1) -> list[str]:
    """The sources of the views that closed, once there are so many."""
    sources: list[str] = []
    for notice in daemon.connect("watcher").events(since=0, types=["view_closed"]):
        sources += [event["source"] for event in notice.params["events"]]
        if len(sources) >= count:
            break
    return sources


def shown(client: SyncClient) -> tuple[str | None, list[str], list[str]]:
    """The active note, pins and tabs."""
    state = client.state()
    active = state["activeNote"]["id"] if state["activeNote"] is not None else None
    return active, [each["id"] for each in state["pinnedNotes"]], [tab["noteId"] for tab in state["temporaryTabs"]]


Act = Callable[[SyncClient], None]
TAB = "temporary_tab_opened"


def others(active: str, *tabs: str) -> Act:
    return lambda client: show(client, "other", active, *tabs)


def singly(kind: str, **data: str) -> Act:
    def act(client: SyncClient) -> None:
        client.publish([{"type": kind, "data": data}], source="script")

    return act


@pytest.mark.fault(row=69)
class TestAnEditorThatIsGone:
    def test_takes_its_note_selection_and_tabs_and_leaves_its_pins(self, daemon: Factory) -> None:
        running = daemon(env=SOON)
        with running.connect() as editor:
            show(editor, "editor", "a.md", "b.md", "c.md", pins=("work/plan.md",))
            selected = {"note": "a.md", "startLine": 1, "endLine": 2}
            editor.publish([{"type": "selection_changed", "data": selected}], source="editor")
        assert closed(running) == ["editor"]
        client = running.connect()
        assert shown(client) == (None, ["work/plan.md"], [])
        assert client.state()["selection"] is None
        types = [(event["type"], event["source"]) for event in client.call("workspaced/log")["events"]][-4:]
        assert types == [
            ("temporary_tab_closed", "editor"),
            ("temporary_tab_closed", "editor"),
            ("active_note_cleared", "editor"),
            ("view_closed", "editor"),
        ]

    @pytest.mark.parametrize(
        ("before", "after", "stays"),
        [
            pytest.param(None, others("work/plan.md", "x.md"), ("work/plan.md", [], ["x.md"]), id="another view"),
            pytest.param(None, others("a.md"), ("a.md", [], []), id="the same note"),
            pytest.param(others("a.md"), None, ("a.md", [], []), id="the same note from before"),
            pytest.param(None, others("work/plan.md", "c.md"), ("work/plan.md", [], ["c.md"]), id="the same tab"),
            pytest.param(None, singly("active_note_set", note="b.md"), ("b.md", [], []), id="a single note"),
            pytest.param(None, singly(TAB, note="x.md", source="search"), (None, [], ["x.md"]), id="a single tab"),
        ],
    )
    def test_takes_nothing_that_others_show_or_published(
        self, daemon: Factory, before: Act | None, after: Act | None, stays: Any
    ) -> None:
        running = daemon(env=SOON)
        other = running.connect()
        with running.connect() as editor:
            for act in (before, lambda _other: show(editor, "editor", "a.md", "b.md", "c.md"), after):
                if act is not None:
                    act(other)
        assert closed(running) == ["editor"]
        assert shown(other) == stays

    def test_is_noticed_after_a_start_too(self, daemon: Factory) -> None:
        """Both were killed: the editor and the daemon, within the grace."""
        running = daemon(env=NEVER)
        show(running.connect(), "editor", "a.md", "b.md")
        look(running.connect(), "c.md", "script")
        running.kill()
        running.env.update(SOON)
        running.start()
        assert closed(running) == ["editor"]
        assert shown(running.connect()) == ("c.md", [], [])

    def test_is_not_the_clocks_to_say(self, daemon: Factory) -> None:
        """Wall clock and uptime are a day ahead: the machine slept, so no editor could come back."""
        running = daemon(env=NEVER, clocked=True)
        with running.connect() as editor:
            show(editor, "editor", "a.md")
        running.set_ahead(86_400)
        client = running.connect()
        client.call("workspaced/share", {"client": "x", "level": "names"})
        assert shown(client)[0] == "a.md"


def test_a_connection_shows_so_many_views_and_no_more(daemon: Factory) -> None:
    client = daemon().connect()
    for number in range(SOURCES_PER_CONNECTION_MAX):
        show(client, f"editor {number}", "a.md")
    refused = refusal(show, client, "one more", "b.md")
    assert (refused.code, shown(client)[0]) == ("INVALID_ARGUMENT", "a.md")
    show(client, "editor 0", "b.md")


class FakeLoop:
    """A loop whose time a test advances."""

    def __init__(self) -> None:
        self.now = 0.0
        self.timers: list[Any] = []

    def time(self) -> float:
        return self.now

    def call_later(self, delay_s: float, function: Any) -> Any:
        due = self.now + delay_s
        timer = type("Timer", (), {"when": lambda _self: due, "cancel": lambda self: self.timers_remove()})()
        timer.timers_remove = lambda: self.timers.remove(timer) if timer in self.timers else None
        timer.function = function
        self.timers.append(timer)
        return timer

    def advance(self, seconds: float) -> None:
        """In steps, as a loop that is awake."""
        end = self.now + seconds
        while due := [timer for timer in self.timers if timer.when() <= end]:
            timer = min(due, key=lambda each: float(each.when()))
            self.timers.remove(timer)
            self.now = max(self.now, timer.when())
            timer.function()
        self.now = end

    def sleep(self, seconds: float) -> None:
        """The process is stopped; then what is due runs late."""
        self.now += seconds
        self.advance(0)


class Closing(OpenViews):
    """With a grace of 30 s; notes whose views are closed, in place of the log."""

    def __init__(self) -> None:
        self.loop = FakeLoop()
        super().__init__(cast(Publishing, self), cast(asyncio.AbstractEventLoop, self.loop), 30.0)
        self.sources: list[str] = []

    def close_view(self, source: str, done: Any) -> None:
        self.sources.append(source)
        done([])


@pytest.mark.fault(row=69)
class TestTheGrace:
    def test_begins_when_the_last_connection_goes(self) -> None:
        views = Closing()
        views.shown("editor", 1)
        views.shown("editor", 2)
        views.loop.advance(100)
        views.gone(1)
        views.loop.advance(100)
        views.gone(2)
        views.loop.advance(30 - STEP_S)
        assert views.sources == []
        views.loop.advance(STEP_S)
        assert views.sources == ["editor"]

    def test_begins_anew_each_time_it_goes(self) -> None:
        views = Closing()
        for connection in range(5):
            views.shown("editor", connection)
            views.gone(connection)
            views.loop.advance(29)
        assert views.sources == []

    def test_is_for_what_a_source_still_shows(self) -> None:
        views = Closing()
        views.shown("quits", 1, "v")
        views.shown("quits", 1, "w", is_empty=True)
        views.shown("quits", 1, "v", is_empty=True)
        views.shown("crashes", 2, "v", is_empty=True)
        views.shown("crashes", 2, "w")
        views.gone(1)
        views.gone(2)
        views.loop.advance(STEP_S)
        assert views.sources == ["quits"]
        views.loop.advance(30)
        assert views.sources == ["quits", "crashes"]

    def test_does_not_count_while_the_process_is_stopped(self) -> None:
        views = Closing()
        views.shown("editor", 1)
        views.gone(1)
        views.loop.advance(10)
        views.loop.sleep(3_600)
        assert views.sources == []
        views.loop.advance(20 + LATE_S + STEP_S)
        assert views.sources == ["editor"]
