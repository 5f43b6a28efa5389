"""`workspaced/snapshot`: a UI tells its whole view; only the differences are appended."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.daemon import Daemon, Factory, refusal
from support.peers.machines import link_alone
from support.profiles import examples

from workspaced_events.ids import EventId, NoteId, VaultId
from workspaced_events.journal.actions import Action, Planned, admit
from workspaced_events.journal.view_diff import ShownViews, Snapshot, SnapshotTab, checked, differences
from workspaced_events.limits import TEMPORARY_TABS_MAX
from workspaced_events.projections.workspace_fold import apply
from workspaced_events.projections.workspace_state import EMPTY, VaultState, WorkspaceState
from workspaced_events.schema import catalogue as c

VAULT = VaultId("v")


def note(number: int) -> NoteId:
    return NoteId(f"n{number:02}.md")


class World:
    """A state that actions are appended to, as the recorder does it."""

    def __init__(self) -> None:
        self.state: WorkspaceState = EMPTY
        self.seq = 0
        self.add([Action(c.VaultOpened(VAULT, "v", "/v"))], "workspaced")

    def add(self, actions: list[Action], source: str) -> None:
        for action in actions:
            vault = admit(self.state, action)
            self.seq += 1
            made = c.ENTRY_OF[type(action.data)].event
            event = made(
                self.seq, EventId(str(self.seq)), self.now.time, action.source or source, vault, action.data
            )
            self.state = apply(self.state, event)

    @property
    def now(self) -> Planned:
        return Planned(self.state, self.seq, f"2026-01-01T00:{self.seq // 60:02}:{self.seq % 60:02}.000000Z")

    @property
    def sub(self) -> VaultState:
        return self.state.of(VAULT)

    def show(self, snapshot: Snapshot) -> list[Action]:
        actions = differences(self.now, checked(snapshot))
        self.add(actions, snapshot.source)
        return actions


NOTES = st.integers(0, 14).map(note)
SOURCES = st.sampled_from(["editor", "mobile"])
DATA = st.one_of(
    NOTES.map(c.ActiveNoteSet),
    st.just(c.ActiveNoteCleared()),
    st.builds(c.NotePinned, NOTES, st.none() | st.integers(0, 4)),
    NOTES.map(c.NoteUnpinned),
    st.builds(c.TemporaryTabOpened, NOTES, st.sampled_from(["search", "history"])),
    NOTES.map(lambda each: c.TemporaryTabClosed(note=each)),
    st.just(c.TemporaryTabsCleared()),
)
HISTORY = st.lists(st.tuples(SOURCES, DATA), max_size=25)


def snapshots(source: str) -> st.SearchStrategy[Snapshot]:
    def build(active: NoteId | None, pins: list[NoteId], tabs: list[NoteId]) -> Snapshot:
        return Snapshot(source, active, pins, [SnapshotTab(each, "search") for each in tabs])

    return st.builds(
        build,
        st.none() | NOTES,
        st.lists(NOTES, max_size=6, unique=True),
        st.lists(NOTES, max_size=TEMPORARY_TABS_MAX, unique=True),
    )


def after(history: list[tuple[str, Any]]) -> World:
    world = World()
    for source, data in history:
        world.add([Action(data, vault=VAULT)], source)
    return world


def pins_of(sub: VaultState, source: str) -> list[NoteId]:
    return [pin.id for pin in sub.pins.values() if pin.publisher == source]


def tabs_of(sub: VaultState, source: str) -> list[NoteId]:
    return [tab.note_id for tab in sub.tabs.values() if tab.publisher == source]


@settings(max_examples=examples(300))
@given(HISTORY, snapshots("editor"))
@example(
    [("editor", c.NotePinned(note(1)))], Snapshot("editor", None, [], [SnapshotTab(note(1)), SnapshotTab(note(2))])
)
def test_a_snapshot_is_shown_takes_nothing_from_others_and_sent_again_appends_nothing(
    history: list[tuple[str, Any]], snapshot: Snapshot
) -> None:
    world = after(history)
    before = world.sub
    foreign = before.active.id if before.active and before.active.publisher == "mobile" else None
    world.show(snapshot)
    sub = world.sub
    assert (sub.active.id if sub.active else None) == (snapshot.active or foreign)
    assert set(snapshot.pins) <= set(sub.pins)
    assert pins_of(sub, "mobile") == pins_of(before, "mobile")
    assert pins_of(sub, "editor") == [each for each in snapshot.pins if each not in pins_of(before, "mobile")]

    shown = [tab.note for tab in snapshot.tabs if tab.note not in sub.pins]
    mine, theirs = tabs_of(sub, "editor"), set(tabs_of(sub, "mobile"))
    kept = {each for each in tabs_of(before, "mobile") if each not in snapshot.pins}
    assert set(mine) <= set(shown) and theirs <= kept
    if len(kept | {tab.note for tab in snapshot.tabs}) <= TEMPORARY_TABS_MAX:
        assert set(shown) <= set(sub.tabs) and theirs == kept
        assert mine == [each for each in shown if each in mine], "in the UI's order"
        assert world.show(snapshot) == []


class Several(World):
    """Publishers of one folder, each with the view that it showed last."""

    def __init__(self) -> None:
        super().__init__()
        self.views = ShownViews()

    def show(self, snapshot: Snapshot) -> list[Action]:
        actions = self.views.show(self.now, checked(snapshot))
        self.add(actions, snapshot.source)
        return actions

    def leave(self, source: str) -> None:
        self.add(self.views.close(self.now, source), source)


FEW = st.integers(0, 4).map(note)


def few(source: str) -> st.SearchStrategy[Snapshot]:
    notes = st.lists(FEW, max_size=3, unique=True)
    tabs = notes.map(lambda each: [SnapshotTab(note) for note in each])
    return st.builds(Snapshot, st.just(source), st.none() | FEW, notes, tabs, focused=st.booleans())


SHOWN = st.sampled_from(["editor", "mobile", "terminal"]).flatmap(few)


@pytest.mark.fault(row=70)
@settings(max_examples=examples(400))
@given(st.lists(SHOWN | st.sampled_from(["editor", "mobile", "terminal"]), max_size=12))
@example([Snapshot(each, None, [note(1)], [SnapshotTab(note(2))]) for each in ("editor", "mobile")])
def test_pins_and_tabs_are_the_union_of_what_publishers_show(steps: list[Snapshot | str]) -> None:
    """A text is the end of that publisher: its tabs go, its pins stay."""
    world, shown = Several(), dict[str, Snapshot]()
    for step in steps:
        if isinstance(step, str):
            world.leave(step)
            shown.pop(step, None)
            continue
        before = world.sub.active
        world.show(step)
        shown[step.source] = step
        if not step.focused and before is not None and before.publisher != step.source:
            assert world.sub.active == before, "who is not there takes nothing"
        if step.active is None and before is not None and before.publisher != step.source:
            assert world.sub.active == before
        for view in shown.values():
            assert set(view.pins) <= set(world.sub.pins)
            assert {tab.note for tab in view.tabs} <= {*world.sub.pins, *world.sub.tabs}
    tabs = {tab.note for view in shown.values() for tab in view.tabs}
    assert set(world.sub.tabs) <= tabs


# -- over the socket --


def show(client: Any, source: str, active: str | None = None, pins: Any = (), tabs: Any = ()) -> int:
    """Shows a view and returns how many events that took."""
    params = {"source": source, "active": active, "pins": list(pins), "tabs": [{"note": each} for each in tabs]}
    return len(client.call("workspaced/snapshot", params)["events"])


def look(client: Any, source: str, active: str | None, **more: Any) -> list[str]:
    """Shows a view with a note and no tabs; returns the types of the events that took, without `view_opened`."""
    params = {"source": source, "active": active, "pins": [], "tabs": [], **more}
    seqs = {each["seq"] for each in client.call("workspaced/snapshot", params)["events"]}
    events = client.call("workspaced/log", {"from": min(seqs)})["events"] if seqs else []
    return [each["type"] for each in events if each["seq"] in seqs and each["type"] != "view_opened"]


def active(client: Any) -> str | None:
    note: dict[str, str] | None = client.state()["activeNote"]
    return note["id"] if note is not None else None


def rename(client: Any, old: str, new: str) -> None:
    client.publish([{"type": "note_renamed", "data": {"from": old, "to": new}}], source="editor")


@pytest.mark.fault(row=70)
class TestOfTwoUis:
    @pytest.fixture(params=["alone", "linked"])
    def daemon(self, daemon: Factory, request: pytest.FixtureRequest) -> Callable[..., Daemon]:
        """Starts daemons; a linked one folds what it plans into the view that other machines see, too."""

        def make() -> Daemon:
            running = daemon()
            if request.param == "linked":
                link_alone(running)
            return running

        return make

    def test_the_one_that_the_user_is_in_has_the_active_note(self, daemon: Any) -> None:
        client = daemon().connect()
        look(client, "editor", "a.md", focused=True)
        assert look(client, "mobile", "b.md", focused=False) == []
        assert active(client) == "a.md"
        assert look(client, "mobile", "b.md", focused=True) == ["active_note_set"]
        assert look(client, "editor", "a.md", focused=False) == []
        assert active(client) == "b.md"

    def test_after_a_restart_focus_decides_not_who_connects_last(self, daemon: Any) -> None:
        running = daemon()
        with running.connect() as client:
            look(client, "mobile", "b.md", focused=True)
            look(client, "editor", "a.md", focused=True)
        running.restart()
        client = running.connect()
        look(client, "editor", "a.md", focused=True)
        look(client, "mobile", "b.md", focused=False)
        assert active(client) == "a.md"

    def test_a_note_that_is_renamed_stays_for_the_one_that_does_not_know_yet(self, daemon: Any) -> None:
        client = daemon().connect()
        for source in ("editor", "mobile"):
            show(client, source, None, [], ["c.md"])
        rename(client, "c.md", "d.md")
        show(client, "editor", None, [], [])
        assert [tab["noteId"] for tab in client.state()["temporaryTabs"]] == ["d.md"]

    def test_keep_a_pin_that_one_unpins_though_its_former_name_is_used_again(self, daemon: Any) -> None:
        client = daemon().connect()
        for source in ("one", "other"):
            show(client, source, None, ["Untitled.md"])
        rename(client, "Untitled.md", "Idea.md")
        show(client, "one", None, ["Idea.md"], ["Untitled.md"])
        show(client, "one", None, [], ["Untitled.md"])
        assert [each["id"] for each in client.state()["pinnedNotes"]] == ["Idea.md"]


@pytest.mark.fault(row=70)
class TestAnInferredView:
    def inferring(self, running: Any) -> Any:
        client = running.connect()
        client.call("workspaced/hello", {"client": {"name": "lsp"}, "inferred": True})
        return client

    def test_shows_what_it_infers_while_nobody_knows(self, daemon: Any) -> None:
        running = daemon()
        guess = self.inferring(running)
        show(guess, "lsp", "a.md", [], ["b.md"])
        assert active(guess) == "a.md"
        opened = [each for each in guess.call("workspaced/log")["events"] if each["type"] == "view_opened"]
        assert [each["data"] for each in opened] == [{"confidence": "inferred"}]

    def test_shows_nothing_while_one_that_knows_is_there(self, daemon: Any) -> None:
        running = daemon(env={"WORKSPACED_PUBLISHER_GRACE_S": "0"})
        guess = self.inferring(running)
        show(guess, "lsp", "a.md", [], ["b.md"])
        with running.connect() as editor:
            look(editor, "editor", "c.md", focused=True)
            show(guess, "lsp", "b.md", ["a.md"], ["b.md"])
            state = editor.state()
            assert (active(editor), state["pinnedNotes"], state["temporaryTabs"]) == ("c.md", [], [])
        for notice in guess.events(since=0, types=["view_closed"]):
            if notice.params["events"]:
                break
        show(guess, "lsp", "b.md", [], [])
        assert active(guess) == "b.md"


class TestASelectionInAView:
    def selected(self, client: Any) -> Any:
        found = client.state()["selection"]
        return found and (found["startLine"], found["endLine"], found.get("text"))

    def ready(self, daemon: Any) -> Any:
        client = daemon().connect()
        client.call("workspaced/reconcile")
        return client

    def test_is_of_its_active_note_and_appended_once(self, daemon: Any) -> None:
        client = self.ready(daemon)
        view = {"selection": {"startLine": 1, "endLine": 2, "text": "# A"}}
        assert look(client, "editor", "a.md", **view) == ["active_note_set", "selection_changed"]
        assert self.selected(client) == (1, 2, "# A")
        assert look(client, "editor", "a.md", **view) == []
        assert look(client, "editor", "a.md") == [], "it is not told"
        assert look(client, "editor", "a.md", selection=None) == ["selection_changed"]
        assert self.selected(client) == (2, 2, "")
        assert look(client, "editor", "a.md", selection=None) == []

    def test_of_a_note_that_is_not_volunteered_has_no_text(self, daemon: Any) -> None:
        running = daemon(start=False)
        (running.vault / "secret.md").write_text("---\nworkspaced: never\n---\n# S\n")
        running.start()
        client = running.connect()
        client.call("workspaced/reconcile")
        view = {"selection": {"startLine": 4, "endLine": 4, "text": "# S"}}
        look(client, "editor", "secret.md", **view)
        events = client.call("workspaced/log")["events"]
        assert [each["data"].get("text") for each in events if each["type"] == "selection_changed"] == [None]
        assert look(client, "editor", "secret.md", **view) == []


def test_a_wrong_snapshot_is_refused_whole(shared: Any, client: Any) -> None:
    before = client.state()
    good = {"source": "editor", "active": None, "pins": [], "tabs": []}
    for wrong, code in (
        ({"pins": ["../x.md"]}, "OUTSIDE_VAULT"),
        ({"active": ".x/a.md"}, "INVALID_ARGUMENT"),
        ({"tabs": ["a.md"]}, "INVALID_ARGUMENT"),
        ({"tabs": [{"note": "a.md", "source": "magic"}]}, "INVALID_ARGUMENT"),
        ({"source": ""}, "INVALID_ARGUMENT"),
        ({"source": "x" * 65}, "INVALID_ARGUMENT"),
        ({"colour": "red"}, "INVALID_ARGUMENT"),
        ({"vault": "nowhere", "active": "a.md"}, "INVALID_ARGUMENT"),
        ({"vault": "nowhere"}, "INVALID_ARGUMENT"),
        ({"focused": "yes"}, "INVALID_ARGUMENT"),
        ({"selection": {"startLine": 0, "endLine": 1}}, "INVALID_ARGUMENT"),
        ({"selection": {"startLine": 1}}, "INVALID_ARGUMENT"),
        ({"selection": {"startLine": 1, "endLine": 1, "note": "a.md"}}, "INVALID_ARGUMENT"),
    ):
        assert refusal(client.call, "workspaced/snapshot", {**good, **wrong}).code == code, wrong
    assert client.state() == before
