"""`workspaced/snapshot`: a UI tells its whole view; only the differences are appended."""

from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.daemon import refusal
from support.profiles import examples

from workspaced_events.ids import EventId, NoteId, VaultId
from workspaced_events.journal.actions import Action, admit
from workspaced_events.journal.view_diff import Snapshot, SnapshotTab, checked, differences
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
            time = f"2026-01-01T00:{self.seq // 60:02}:{self.seq % 60:02}.000000Z"
            event = made(self.seq, EventId(str(self.seq)), time, source, vault, action.data)
            self.state = apply(self.state, event)

    @property
    def sub(self) -> VaultState:
        return self.state.of(VAULT)

    def show(self, snapshot: Snapshot) -> list[Action]:
        actions = differences(self.state, self.seq, checked(snapshot))
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


@settings(max_examples=examples(300), deadline=None)
@given(HISTORY, snapshots("editor"))
@example(
    [("editor", c.NotePinned(note(1)))], Snapshot("editor", None, [], [SnapshotTab(note(1)), SnapshotTab(note(2))])
)
def test_afterwards_the_state_shows_the_snapshot(history: list[tuple[str, Any]], snapshot: Snapshot) -> None:
    world = after(history)
    foreign_pins = set(pins_of(world.sub, "mobile"))
    world.show(snapshot)
    sub = world.sub
    assert (sub.active.id if sub.active else None) == snapshot.active
    assert set(snapshot.pins) <= set(sub.pins)
    assert pins_of(sub, "editor") == [each for each in snapshot.pins if each not in foreign_pins]
    shown = [tab.note for tab in snapshot.tabs if tab.note not in sub.pins]
    if len(set(shown) | set(tabs_of(sub, "mobile"))) <= TEMPORARY_TABS_MAX:
        assert set(shown) <= set(sub.tabs)
        mine = tabs_of(sub, "editor")
        assert mine == [each for each in shown if each in mine], "in the UI's order"
    assert set(tabs_of(sub, "editor")) <= set(shown)


@settings(max_examples=examples(300), deadline=None)
@given(HISTORY, snapshots("editor"))
def test_what_another_source_made_stays(history: list[tuple[str, Any]], snapshot: Snapshot) -> None:
    world = after(history)
    before = world.sub
    world.show(snapshot)
    assert pins_of(world.sub, "mobile") == pins_of(before, "mobile")
    tabs = set(tabs_of(world.sub, "mobile"))
    expected = {each for each in tabs_of(before, "mobile") if each not in snapshot.pins}
    assert tabs <= expected
    wanted = expected | {tab.note for tab in snapshot.tabs}
    if len(wanted) <= TEMPORARY_TABS_MAX:
        assert tabs == expected, "a tab of another source was lost"


@settings(max_examples=examples(300), deadline=None)
@given(HISTORY, snapshots("editor"))
def test_the_same_snapshot_again_appends_nothing(history: list[tuple[str, Any]], snapshot: Snapshot) -> None:
    world = after(history)
    world.show(snapshot)
    foreign = set(tabs_of(world.sub, "mobile"))
    if len(foreign | {tab.note for tab in snapshot.tabs}) <= TEMPORARY_TABS_MAX:
        assert world.show(snapshot) == []


# -- over the socket --


def show(client: Any, source: str, active: str | None = None, pins: Any = (), tabs: Any = ()) -> int:
    """Shows a view and returns how many events that took."""
    params = {"source": source, "active": active, "pins": list(pins), "tabs": [{"note": each} for each in tabs]}
    return len(client.call("workspaced/snapshot", params)["events"])


def test_a_reconnecting_ui_appends_only_what_differs(daemon: Any) -> None:
    client = daemon().connect()
    assert show(client, "editor", "a.md", ["b.md"], ["c.md"]) == 4  # view_opened is the first of them
    assert show(client, "editor", "a.md", ["b.md"], ["c.md"]) == 0
    assert show(client, "editor", "a.md", ["b.md"], ["work/plan.md"]) == 2
    state = client.state()
    assert [tab["noteId"] for tab in state["temporaryTabs"]] == ["work/plan.md"]


def test_two_uis_keep_their_own_and_share_the_active_note(daemon: Any) -> None:
    client = daemon().connect()
    show(client, "editor", "a.md", ["b.md"], ["c.md"])
    show(client, "mobile", "work/plan.md", ["x.md"], ["y.md"])
    show(client, "mobile", "work/plan.md", [], [])
    state = client.state()
    assert state["activeNote"]["id"] == "work/plan.md"
    assert [pin["id"] for pin in state["pinnedNotes"]] == ["b.md"]
    assert [tab["noteId"] for tab in state["temporaryTabs"]] == ["c.md"]


def test_a_ui_that_disconnects_changes_nothing(daemon: Any) -> None:
    running = daemon()
    with running.connect() as client:
        show(client, "editor", "a.md", ["b.md"], ["c.md"])
        before = client.state()
    assert running.connect().state() == before


def test_a_wrong_snapshot_is_refused_whole(shared: Any, client: Any) -> None:
    before = client.state()
    good = {"source": "editor", "active": None, "pins": [], "tabs": []}
    for wrong, code in (
        ({"pins": ["../x.md"]}, "OUTSIDE_VAULT"),
        ({"active": "x.txt"}, "INVALID_ARGUMENT"),
        ({"tabs": ["a.md"]}, "INVALID_ARGUMENT"),
        ({"tabs": [{"note": "a.md", "source": "magic"}]}, "INVALID_ARGUMENT"),
        ({"source": ""}, "INVALID_ARGUMENT"),
        ({"source": "x" * 65}, "INVALID_ARGUMENT"),
        ({"colour": "red"}, "INVALID_ARGUMENT"),
        ({"vault": "nowhere", "active": "a.md"}, "INVALID_ARGUMENT"),
        ({"vault": "nowhere"}, "INVALID_ARGUMENT"),
    ):
        assert refusal(client.call, "workspaced/snapshot", {**good, **wrong}).code == code, wrong
    assert client.state() == before
