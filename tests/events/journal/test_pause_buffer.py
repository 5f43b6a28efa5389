"""What is held during a pause: its difference leads to what the publishers show, whatever they did before."""

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.golden_log import EVERY
from support.profiles import examples
from support.random_log import NOTES, V, W, random_log

from workspaced_events.errors import ActionError, Paused
from workspaced_events.ids import EventId, NoteId
from workspaced_events.journal.actions import Action, Planned, admit
from workspaced_events.journal.pause_buffer import PauseBuffer
from workspaced_events.journal.view_diff import Snapshot, SnapshotTab, closed_views, differences
from workspaced_events.limits import HELD_BYTES_MAX
from workspaced_events.projections.workspace_fold import apply, fold_all
from workspaced_events.projections.workspace_state import EMPTY, WorkspaceState
from workspaced_events.schema import catalogue as c
from workspaced_events.schema.catalogue import CATALOGUE, ENTRY_OF, Event

ALLOWED = {
    *("daemon_started", "daemon_stopped", "log_recovered", "clock_stepped", "vault_opened", "vault_closed"),
    *("pause_started", "pause_ended", "sharing_set", "volunteering_set", "link_changed"),
    *("note_withheld", "event_forgotten", "record_forgotten", "memory_written", "memory_write_ended"),
    *("tool_called", "context_volunteered", "context_inserted", "context_withdrawn", "prompt_overlaid"),
    *("prompt_answered", "conversation_ended", "usage_reported"),
}
"""The events that may stand between the beginning and the end of a pause."""
SOURCES = ("one", "two")


class World:
    """A log, as the writer makes it, and what it holds during a pause."""

    def __init__(self) -> None:
        self.state: WorkspaceState = EMPTY
        self.events: list[Event] = []
        self.held = PauseBuffer(lambda _id: None)
        self.append([Action(c.VaultOpened(vault, vault, f"/{vault}")) for vault in (V, W)], "workspaced")

    def append(self, actions: list[Action], source: str) -> None:
        for action in actions:
            seq = len(self.events) + 1
            vault = admit(self.state, action)
            made = ENTRY_OF[type(action.data)].event
            event = made(seq, EventId(str(seq)), self._time(seq), action.source or source, vault, action.data)
            self.events.append(event)
            self.state = apply(self.state, event)

    def publish(self, actions: list[Action], source: str) -> None:
        """As `Publishing` does it; a refused batch changes nothing."""
        if self.state.paused is not None:
            actions = self.held.hold(self.now, actions, source)
        before, count = self.state, len(self.events)
        try:
            self.append(actions, source)
        except ActionError:
            self.state = before
            del self.events[count:]
            raise

    @property
    def now(self) -> Planned:
        return Planned(self.state, len(self.events), self._time(len(self.events) + 1))

    @property
    def shown(self) -> WorkspaceState:
        return self.held.shown(self.now).state

    @staticmethod
    def _time(seq: int) -> str:
        return f"2026-03-01T12:00:{seq // 1000:02}.{seq % 1000:06}Z"

    def show(self, snapshot: Snapshot) -> None:
        self.publish(differences(self.held.shown(self.now), snapshot), snapshot.source)

    def close(self, source: str) -> None:
        self.publish(closed_views(self.shown, source), source)

    def pause(self) -> None:
        self.append([Action(c.PauseStarted())], "workspaced")

    def resume(self) -> None:
        self.append(self.held.ended(self.now, "workspaced"), "workspaced")
        self.held.forget(self.state)


def visible(state: WorkspaceState) -> list[Any]:
    """What an agent can see of the present, without times and numbers of tabs."""
    found: list[Any] = [state.current, {vault: views for vault, views in state.views.items() if views}]
    for vault in state.vaults:
        sub = state.of(vault)
        found.append((sub.active.id, sub.active.publisher) if sub.active is not None else None)
        found.append([(pin.id, pin.publisher) for pin in sub.pins.values()])
        found.append([(tab.note_id, tab.source, tab.publisher) for tab in sub.tabs.values()])
        found.append(set(sub.archived))
        selected = sub.selection
        found.append((selected.note, selected.start_line, selected.text) if selected is not None else None)
    return found


PUBLISHED = [
    event for seed in range(3) for event in random_log(seed, 400, (V, W)) if ENTRY_OF[type(event.data)].by_ui
]
a_note = st.sampled_from(NOTES)
a_snapshot = st.builds(
    Snapshot,
    source=st.sampled_from(SOURCES),
    active=st.none() | a_note,
    pins=st.lists(a_note, max_size=3, unique=True),
    tabs=st.lists(a_note, max_size=4, unique=True).map(lambda notes: [SnapshotTab(each) for each in notes]),
    vault=st.sampled_from([None, V, W]),
)
a_step = (
    st.tuples(st.just("publish"), st.integers(0, len(PUBLISHED) - 1))
    | st.tuples(st.just("show"), a_snapshot)
    | st.tuples(st.just("close"), st.sampled_from(SOURCES))
)
sessions = st.lists(st.tuples(st.sampled_from(["", "", "", "pause", "resume"]), a_step), max_size=40)


def step(world: World, what: tuple[str, Any]) -> None:
    """One step of a publisher; a world that does not take it stays as it is."""
    kind, value = what
    if kind == "show":
        world.show(value)
    elif kind == "close":
        world.close(value)
    else:
        event = PUBLISHED[value]
        if isinstance(event.data, c.TemporaryTabsReordered) or getattr(event.data, "tab_id", None) is not None:
            return  # tabs have other numbers here
        source = SOURCES[value % 2]
        try:
            world.publish([Action(event.data, vault=event.vault)], source)
        except ActionError:
            return


@pytest.mark.fault(row=68)
class TestAPauseInBetween:
    @settings(max_examples=examples(400))
    @given(sessions)
    def test_shows_what_its_absence_would_by_allowed_events(self, session: list[tuple[str, Any]]) -> None:
        with_pauses, without = World(), World()
        for pause, what in session:
            if pause == "pause":
                with_pauses.pause()
            elif pause == "resume":
                with_pauses.resume()
            step(with_pauses, what)
            step(without, what)
            assert visible(with_pauses.shown) == visible(without.state)
        with_pauses.resume()
        assert visible(with_pauses.state) == visible(without.state)
        assert fold_all(with_pauses.events, EMPTY) == with_pauses.state
        paused = False
        for event in with_pauses.events:
            paused = event.type == "pause_started" or (paused and event.type != "pause_ended")
            assert not paused or event.type in ALLOWED

    def test_leaves_a_pin_that_another_source_took_over_to_that_source(self) -> None:
        world, note = World(), NoteId("a.md")
        world.publish([Action(c.NotePinned(note))], "one")
        world.pause()
        world.publish([Action(c.NoteUnpinned(note))], "one")
        world.publish([Action(c.NotePinned(note))], "two")
        world.resume()
        assert world.state.of(V).pins[note].publisher == "two"

    @pytest.mark.thorough
    def test_is_bounded_by_what_fits_a_batch(self) -> None:
        world = World()
        world.pause()
        for number in range(6_000):
            old, new = NoteId(f"{'x' * 200} {number}.md"), NoteId(f"{'y' * 200} {number}.md")
            world.publish([Action(c.NoteRenamed(old, new)), Action(c.NotePinned(new))], "editor")
        before = len(world.events)
        world.resume()
        size = sum(len(msgspec.json.encode(event)) for event in world.events[before:])
        assert HELD_BYTES_MAX / 4 < size < HELD_BYTES_MAX
        renames = [event.data.to for event in world.events[before:] if type(event.data) is c.NoteRenamed]
        assert renames == [NoteId(f"{'y' * 200} {number}.md") for number in range(6_000 - len(renames), 6_000)]


@pytest.mark.fault(row=68)
class TestWhilePaused:
    @pytest.mark.parametrize("name", sorted(CATALOGUE))
    def test_an_event_is_refused_unless_it_is_listed(self, name: str) -> None:
        """A type that is new here is refused, until somebody lists it."""
        data = EVERY[name].data
        assert CATALOGUE[name].in_pause == (name in ALLOWED)
        if name in ALLOWED or name == "vault_switched":  # by which a starting daemon makes current what it serves
            return
        world = World()
        world.pause()
        with pytest.raises(Paused):
            admit(world.state, Action(data))

    def test_the_end_moves_with_the_clock(self) -> None:
        world = World()
        world.append([Action(c.PauseStarted("2026-03-01T13:00:00.000000Z"))], "workspaced")
        step = c.ClockStepped("2026-03-01T12:00:01.000000Z", "2026-03-02T12:00:01.000000Z")
        world.append([Action(step)], "workspaced")
        assert world.state.paused is not None
        assert world.state.paused.until == "2026-03-02T13:00:00.000000Z"
