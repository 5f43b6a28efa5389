"""The cases of the workspace spec and each row of its catalogue, as folded.

Run as a script this file prints a long session's state: the determinism test starts it under several hash seeds
and time zones and compares the bytes.
"""

import datetime as dt
import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

import workspaced_events
from workspaced_events.ids import EventId, NoteId, TabId, VaultId
from workspaced_events.limits import FORMER_PATHS_MAX, RECENT_NOTES_MAX, SHARING_CLIENTS_MAX, TEMPORARY_TABS_MAX
from workspaced_events.projections.insertions import chain
from workspaced_events.projections.workspace_fold import apply, expired_tabs, fold_all, visible_tabs
from workspaced_events.projections.workspace_state import EMPTY, StateJson, VaultState, WorkspaceState, to_json
from workspaced_events.schema.catalogue import (
    CATALOGUE,
    ENTRY_OF,
    ActiveNoteCleared,
    ActiveNoteSet,
    ClockStepped,
    ContextInserted,
    DaemonStarted,
    DaemonStopped,
    Data,
    Event,
    EventForgotten,
    LogRecovered,
    NoteArchived,
    NoteChanged,
    NoteCreated,
    NoteDeleted,
    NotePinned,
    NoteRenamed,
    NoteUnarchived,
    NoteUnpinned,
    PauseEnded,
    PauseStarted,
    PinnedNotesReordered,
    RecordForgotten,
    SelectionChanged,
    Sharing,
    SharingSet,
    TabSource,
    TemporaryTabClosed,
    TemporaryTabOpened,
    TemporaryTabsCleared,
    TemporaryTabsExpired,
    TemporaryTabsReordered,
    ToolCalled,
    UnknownEvent,
    VaultClosed,
    VaultOpened,
    VaultSwitched,
    ViewClosed,
    ViewOpened,
    VolunteeringSet,
)

A, B, C, D = NoteId("a.md"), NoteId("work/b.md"), NoteId("c.md"), NoteId("d.md")
V1, V2, V3 = VaultId("v1"), VaultId("v2"), VaultId("v3")
START = dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)
SHA256 = "0" * 64


def time_at(seconds: float) -> str:
    """The event time `seconds` after the session began."""
    return (START + dt.timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def event_of(seq: int, data: Data, *, vault: VaultId | None = V1, time: str = "", source: str = "ui") -> Event:
    made: Event = ENTRY_OF[type(data)].event(seq, EventId(f"id-{seq}"), time or time_at(seq), source, vault, data)
    return made


class Session:
    """A log in memory: event number n has seq n and comes n seconds after the start."""

    def __init__(self, *vaults: VaultId) -> None:
        self.events: list[Event] = []
        self.state: WorkspaceState = EMPTY
        for vault in vaults:
            self.publish(VaultOpened(vault, vault.upper(), f"/notes/{vault}"), vault=vault)

    def publish(self, *actions: Data, vault: VaultId | None = V1) -> "Session":
        for data in actions:
            self.keep(event_of(len(self.events) + 1, data, vault=vault))
        return self

    def keep(self, event: Event) -> None:
        self.events.append(event)
        self.state = apply(self.state, event)

    @property
    def seq(self) -> int:
        return len(self.events)

    @property
    def time(self) -> str:
        """The time of the last event."""
        return self.events[-1].time

    def view(self, vault: VaultId | None = None) -> StateJson:
        return to_json(self.state, vault)

    def sub(self, vault: VaultId = V1) -> VaultState:
        return self.state.of(vault)

    def pins(self) -> list[str]:
        return [pin.id for pin in self.view(V1).pinned_notes]

    def tabs(self) -> list[str]:
        return [tab.note_id for tab in self.view(V1).temporary_tabs]

    def recents(self) -> list[str]:
        return [recent.id for recent in self.view(V1).recent_notes]

    def tab_ids(self) -> list[TabId]:
        return [tab.id for tab in self.view(V1).temporary_tabs]


@pytest.fixture
def session() -> Session:
    """A session with the vault v1 open and current."""
    return Session(V1)


def tab(note: NoteId, source: TabSource = "search") -> TemporaryTabOpened:
    return TemporaryTabOpened(note=note, source=source)


def pin(note: NoteId, index: int | None = None) -> NotePinned:
    return NotePinned(note=note, index=index)


def select(note: NoteId, start: int = 1, end: int = 2, text: str | None = None) -> SelectionChanged:
    return SelectionChanged(note=note, start_line=start, end_line=end, text=text)


def rename(source: NoteId, to: NoteId) -> NoteRenamed:
    return NoteRenamed(from_=source, to=to)


def close(note: NoteId) -> TemporaryTabClosed:
    return TemporaryTabClosed(note=note)


def note_named(number: int) -> NoteId:
    return NoteId(f"n{number:03}.md")


def without_times(state: VaultState) -> VaultState:
    """`state` but for `last_updated`, where two sessions differ in length only."""
    return msgspec.structs.replace(state, last_updated=None)


# -- the share policy --


def sharing(*settings: tuple[str, Sharing]) -> dict[str, Sharing]:
    session = Session(V1)
    for client, level in settings:
        session.publish(SharingSet(client, level), vault=None)
    return session.state.sharing


def test_a_clients_level_is_its_last_whatever_the_case_of_its_name() -> None:
    assert sharing(("Agent", "none"), ("AGENT ", "names")) == {"agent": "names"}


def test_all_forgets_a_client_unless_a_default_is_set() -> None:
    assert sharing(("a", "names"), ("b", "none"), ("a", "all")) == {"b": "none"}
    assert sharing(("*", "none"), ("a", "all")) == {"*": "none", "a": "all"}
    assert sharing(("*", "none"), ("a", "all"), ("b", "names"), ("*", "all")) == {"b": "names"}


def test_a_client_that_is_not_named_has_the_default() -> None:
    state = Session(V1).publish(SharingSet("*", "names"), SharingSet("a", "all"), vault=None).state
    assert [state.sharing_of(name) for name in ("A", "other", "*")] == ["all", "names", "names"]
    assert EMPTY.sharing_of("anybody") == "all"


def test_a_level_is_part_of_the_state_of_every_vault_and_moves_its_sequence() -> None:
    session = Session(V1, V2)
    assert "sharing" not in msgspec.to_builtins(session.view())
    session.publish(SharingSet("a", "none"), vault=None).publish(pin(A))
    assert msgspec.to_builtins(session.view(V2))["sharing"] == {"a": "none"}
    assert session.state.seq == session.seq
    before = session.state
    session.publish(SharingSet("a", "all"), vault=V1)
    assert session.state.by_vault == before.by_vault and session.state.seq == session.seq


def test_what_a_client_is_told_without_asking_is_its_last_setting() -> None:
    session = Session(V1)
    assert session.state.volunteering_of("Claude") == "on" and "volunteering" not in msgspec.to_builtins(
        session.view()
    )
    session.publish(VolunteeringSet("Claude", "off"), VolunteeringSet("CLAUDE ", "selection-off"), vault=None)
    assert session.state.volunteering == {"claude": "selection-off"}
    session.publish(VolunteeringSet("*", "off"), VolunteeringSet("claude", "on"), vault=None)
    assert [session.state.volunteering_of(name) for name in ("Claude", "other")] == ["on", "off"]
    assert msgspec.to_builtins(session.view())["volunteering"] == {"*": "off", "claude": "on"}
    assert session.publish(VolunteeringSet("*", "on"), vault=None).state.volunteering == {}


def test_the_servers_that_gemini_cli_talks_to_are_one_client() -> None:
    session = Session(V1).publish(SharingSet("gemini-cli-mcp-client", "names"), vault=None)
    assert session.state.sharing_of("gemini-cli-mcp-client-workspaced-notes") == "names"


def test_levels_are_kept_for_so_many_clients() -> None:
    kept = sharing(*((f"agent {n}", "none") for n in range(SHARING_CLIENTS_MAX + 5)))
    assert len(kept) == SHARING_CLIENTS_MAX and "agent 0" in kept


# -- the numbered cases --


def test_case_01_an_empty_log_folds_to_nothing() -> None:
    assert msgspec.to_builtins(to_json(fold_all([], EMPTY))) == {
        "seq": 0,
        "currentVaultId": None,
        "vaults": [],
        "activeNote": None,
        "activeTabId": None,
        "pinnedNotes": [],
        "temporaryTabs": [],
        "recentNotes": [],
        "selection": None,
        "archived": [],
        "lastUpdated": None,
    }


def test_case_02_the_last_note_set_is_active_and_dates_the_state(session: Session) -> None:
    session.publish(ActiveNoteSet(note=A), ActiveNoteSet(note=B))
    view = session.view()
    assert view.active_note is not None
    assert (view.active_note.id, view.active_note.since) == (B, session.events[-1].time)
    assert view.last_updated == session.events[-1].time


def test_case_03_setting_null_and_clearing_lead_to_equal_states(session: Session) -> None:
    session.publish(ActiveNoteSet(note=A), tab(A), select(A))
    before, seq = session.state, session.seq + 1
    cleared = apply(before, event_of(seq, ActiveNoteCleared()))
    assert apply(before, event_of(seq, ActiveNoteSet(note=None))) == cleared
    assert cleared.of(V1).active is None
    assert cleared.of(V1).active_tab_id is None


def test_case_04_pinning_twice_keeps_the_first_pin_in_its_place(session: Session) -> None:
    session.publish(pin(A), pin(B))
    first = session.view().pinned_notes
    session.publish(pin(A))
    assert session.view().pinned_notes == first


def test_case_05_pins_take_the_new_order(session: Session) -> None:
    session.publish(pin(A), pin(B))
    pinned_at = {entry.id: entry.pinned_at for entry in session.view().pinned_notes}
    session.publish(PinnedNotesReordered((B, A)))
    assert session.pins() == [B, A]
    assert {entry.id: entry.pinned_at for entry in session.view().pinned_notes} == pinned_at


@pytest.mark.parametrize("notes", [(), (A,), (A, A), (A, B, B), (A, B, C), (A, C), (C, D)])
def test_case_05_an_order_that_is_no_permutation_of_the_pins_is_a_no_op(
    session: Session, notes: tuple[NoteId, ...]
) -> None:
    session.publish(pin(A), pin(B))
    before = session.sub()
    session.publish(PinnedNotesReordered(notes))
    assert session.sub() == before


def test_case_06_pinning_a_tabbed_note_takes_its_tab(session: Session) -> None:
    session.publish(tab(A), pin(A))
    assert (session.pins(), session.tabs()) == ([A], [])


def test_case_06_a_pinned_note_gets_no_tab(session: Session) -> None:
    session.publish(pin(A), tab(A))
    assert (session.pins(), session.tabs()) == ([A], [])


def test_case_06_an_unpinned_note_becomes_the_last_tab_by_navigation(session: Session) -> None:
    session.publish(pin(A), tab(B), NoteUnpinned(note=A))
    last = session.view().temporary_tabs[-1]
    assert (session.pins(), session.tabs()) == ([], [B, A])
    assert (last.id, last.source) == (f"tab-{session.seq}", "navigation")
    assert last.opened_at == last.last_accessed == session.time


def test_case_06_unpinning_a_note_that_is_not_pinned_does_nothing(session: Session) -> None:
    session.publish(tab(A), pin(B))
    before = session.sub()
    session.publish(NoteUnpinned(note=A), NoteUnpinned(note=C))
    assert session.sub() == before


def test_case_07_reopening_a_tab_touches_it_and_keeps_place_and_source(session: Session) -> None:
    session.publish(tab(A, "search"), tab(B), tab(A, "wikilink"))
    first, second = session.view().temporary_tabs
    assert (first.note_id, second.note_id) == (A, B)
    assert (first.source, first.last_accessed) == ("search", session.time)
    assert first.opened_at == session.events[-3].time
    assert first.id == f"tab-{session.events[-3].seq}"


def test_case_08_the_eleventh_tab_pushes_out_the_first_in_the_list(session: Session) -> None:
    notes = [note_named(number) for number in range(TEMPORARY_TABS_MAX + 1)]
    session.publish(*(tab(note) for note in notes))
    assert TEMPORARY_TABS_MAX == 10
    assert session.tabs() == notes[1:]


def test_case_08_the_first_in_the_list_goes_however_lately_it_was_touched(session: Session) -> None:
    notes = [note_named(number) for number in range(TEMPORARY_TABS_MAX)]
    session.publish(*(tab(note) for note in notes), ActiveNoteSet(note=notes[0]), tab(A))
    assert session.tabs() == [*notes[1:], A]
    assert session.view().active_tab_id is None


def test_case_08_the_first_of_a_reordered_list_goes(session: Session) -> None:
    notes = [note_named(number) for number in range(TEMPORARY_TABS_MAX)]
    session.publish(*(tab(note) for note in notes))
    session.publish(TemporaryTabsReordered(tuple(reversed(session.tab_ids()))), tab(A))
    assert session.tabs() == [*reversed(notes[:-1]), A]


def test_case_08_unpinning_over_the_limit_pushes_out_the_first_tab(session: Session) -> None:
    notes = [note_named(number) for number in range(TEMPORARY_TABS_MAX)]
    session.publish(pin(A), *(tab(note) for note in notes), NoteUnpinned(note=A))
    assert session.tabs() == [*notes[1:], A]


@pytest.mark.parametrize(
    ("age_s", "expired"),
    [(86_399, False), (86_399.999999, False), (86_400, True), (86_400.000001, True), (0, False), (-3_600, False)],
)
def test_case_09_a_tab_is_hidden_from_exactly_24_hours_on(session: Session, age_s: float, expired: bool) -> None:
    session.publish(tab(A))
    kept = session.state
    now = time_at(session.seq + age_s)
    opened = list(session.sub().tabs.values())
    assert expired_tabs(session.sub(), now) == (opened if expired else [])
    assert visible_tabs(session.sub(), now) == ([] if expired else opened)
    assert session.state == kept


def test_case_09_only_the_expiry_event_takes_tabs_out_of_the_state(session: Session) -> None:
    session.publish(tab(A), tab(B))
    session.keep(event_of(session.seq + 1, pin(C), time=time_at(10 * 86_400)))
    assert session.tabs() == [A, B]
    first, _ = session.tab_ids()
    session.publish(TemporaryTabsExpired((first,)))
    assert session.tabs() == [B]


def test_case_09_visible_and_expired_tabs_share_out_the_list_in_its_order(session: Session) -> None:
    session.publish(tab(A), tab(B), tab(C), tab(D), tab(B), TemporaryTabsReordered(()))
    now = time_at(4 + 86_400)
    assert [entry.note_id for entry in expired_tabs(session.sub(), now)] == [A, C]
    assert [entry.note_id for entry in visible_tabs(session.sub(), now)] == [B, D]


def test_case_10_a_deleted_note_leaves_active_pins_and_tabs(session: Session) -> None:
    session.publish(tab(A), ActiveNoteSet(note=A), select(A), tab(B), NoteDeleted(note=A))
    view = session.view()
    assert (view.active_note, view.active_tab_id, view.selection) == (None, None, None)
    assert session.tabs() == [B]


def test_case_10_deleting_an_active_pinned_note_makes_no_tab(session: Session) -> None:
    session.publish(pin(A), ActiveNoteSet(note=A), NoteDeleted(note=A))
    assert (session.pins(), session.tabs(), session.view().active_note) == ([], [], None)


def test_case_11_renaming_onto_a_later_pin_merges_at_the_earlier_place(session: Session) -> None:
    session.publish(pin(A), pin(C), pin(B), rename(A, B))
    assert session.pins() == [B, C]


def test_case_11_renaming_onto_an_earlier_pin_merges_at_the_earlier_place(session: Session) -> None:
    session.publish(pin(B), pin(C), pin(A), rename(A, B))
    assert session.pins() == [B, C]


def test_case_12_each_switch_leaves_pins_and_tabs_and_no_active_note() -> None:
    session = Session(V1, V2)
    session.publish(pin(A), tab(B), ActiveNoteSet(note=A), select(A))
    before = session.view()
    session.publish(VaultSwitched(V2), vault=V2)
    assert session.view().current_vault_id == V2
    assert session.view().active_note is None
    assert (session.view().pinned_notes, session.view().temporary_tabs) == ([], [])
    session.publish(ActiveNoteSet(note=C), vault=V2)
    session.publish(VaultSwitched(V1))
    after = session.view()
    assert (after.current_vault_id, after.active_note, after.selection) == (V1, None, None)
    assert (after.pinned_notes, after.temporary_tabs) == (before.pinned_notes, before.temporary_tabs)
    assert after.recent_notes == before.recent_notes


def test_case_12_an_event_for_another_vault_changes_that_vault_only() -> None:
    session = Session(V1, V2)
    session.publish(pin(A), vault=V2)
    second = session.sub(V2)
    session.publish(VaultSwitched(V2), vault=V2)
    session.publish(pin(B), tab(C), ActiveNoteSet(note=D))
    assert without_times(session.sub(V2)) == without_times(second)
    assert session.view().current_vault_id == V2
    assert (session.pins(), session.tabs()) == ([B], [C])


@pytest.mark.parametrize("publisher_vault", [V1, V2])
def test_case_12_a_switch_names_its_target_in_the_data_whatever_vault_it_belongs_to(
    publisher_vault: VaultId,
) -> None:
    session = Session(V1, V2).publish(ActiveNoteSet(note=A), vault=V2)
    session.publish(VaultSwitched(V2), vault=publisher_vault)
    assert (session.view().current_vault_id, session.view().active_note) == (V2, None)


def test_case_13_folding_from_any_state_plus_tail_is_byte_identical() -> None:
    events = long_session(400, seed=13)
    whole = whole_bytes(fold_all(events, EMPTY))
    state = EMPTY
    for done, event in enumerate(events):
        if done % 7 == 0:
            snapshot = msgspec.json.decode(msgspec.json.encode(state), type=WorkspaceState)
            assert whole_bytes(fold_all(events[done:], snapshot)) == whole
        state = apply(state, event)
    assert whole_bytes(state) == whole


@pytest.mark.fault(row=15)
def test_case_13_hash_seed_and_time_zone_do_not_show() -> None:
    root = str(Path(workspaced_events.__file__).parents[1])
    printed = {
        subprocess.run(
            [sys.executable, __file__],
            env={**os.environ, "PYTHONPATH": root, "PYTHONHASHSEED": hash_seed, "TZ": zone},
            capture_output=True,
            check=True,
            timeout=60,
        ).stdout
        for hash_seed in ("0", "1", "4711")
        for zone in ("UTC", "Pacific/Kiritimati")
    }
    assert printed == {session_report()}


def test_case_14_an_unknown_event_is_counted_and_otherwise_a_no_op(session: Session) -> None:
    session.publish(ActiveNoteSet(note=A), pin(A), tab(B))
    before = session.state
    for seq in (session.seq + 1, session.seq + 2):
        raw = msgspec.Raw(b'{"note": "a.md", "from": 1}')
        session.keep(
            UnknownEvent(seq, EventId(f"id-{seq}"), time_at(seq), "ui", V1, kind="note_starred", data=raw)
        )
    assert session.state.unknown_events == before.unknown_events + 2
    assert msgspec.structs.replace(session.state, unknown_events=0) == before


# -- what moves the state's sequence --

SILENT: list[Data] = [
    NoteCreated(note=A, size=1, mtime_ns="1"),
    NoteChanged(note=A, size=2, mtime_ns="2", sha256=SHA256),
    ToolCalled("get_current_note", "agent", {}, 1, SHA256, 10, 20, True, "2026-03-01T12:00:00.000000Z"),
    LogRecovered("0001.log", 10, 3, 7, "0001.torn"),
    DaemonStarted("1.0", 42, (V1,)),
    DaemonStopped("SIGTERM"),
    RecordForgotten(),
]


@pytest.mark.parametrize("data", SILENT, ids=lambda data: type(data).__name__)
def test_a_recorded_only_event_changes_no_state_and_moves_no_sequence(session: Session, data: Data) -> None:
    session.publish(ActiveNoteSet(note=A), pin(A), tab(B), select(A))
    before = session.state
    session.publish(data)
    assert session.state == before


def test_every_event_that_could_change_the_state_moves_the_sequence(session: Session) -> None:
    session.publish(pin(A), pin(A))
    assert session.state.seq == session.seq
    session.publish(TemporaryTabsCleared(), close(B), NoteUnpinned(note=C))
    assert session.state.seq == session.seq


def test_the_sequence_may_have_gaps(session: Session) -> None:
    session.keep(event_of(1_000, tab(A)))
    assert session.state.seq == 1_000
    assert session.tab_ids() == ["tab-1000"]


# -- vaults --


def test_the_first_vault_opened_becomes_current_and_later_ones_do_not() -> None:
    view = Session(V1, V2, V3).view()
    assert view.current_vault_id == V1
    assert [vault.id for vault in view.vaults] == [V1, V2, V3]


def test_opening_registers_name_and_path(session: Session) -> None:
    assert msgspec.to_builtins(session.view().vaults) == [{"id": "v1", "name": "V1", "path": "/notes/v1"}]


def test_opening_an_open_vault_again_lists_it_once_and_keeps_its_notes(session: Session) -> None:
    session.publish(pin(A), ActiveNoteSet(note=B))
    before = session.sub()
    session.publish(VaultOpened(V1, "Renamed", "/elsewhere"))
    assert msgspec.to_builtins(session.view().vaults) == [{"id": "v1", "name": "Renamed", "path": "/elsewhere"}]
    assert without_times(session.sub()) == without_times(before)


def test_closing_the_current_vault_leaves_none_current_even_if_another_is_open() -> None:
    session = Session(V1, V2).publish(pin(A), VaultClosed(V1))
    view = session.view()
    assert view.current_vault_id is None
    assert [vault.id for vault in view.vaults] == [V2]
    assert (view.pinned_notes, view.active_note) == ([], None)


def test_closing_another_vault_keeps_the_current_one() -> None:
    session = Session(V1, V2).publish(pin(A)).publish(VaultClosed(V2), vault=V2)
    assert session.view().current_vault_id == V1
    assert [vault.id for vault in session.view().vaults] == [V1]
    assert session.pins() == [A]


def test_closing_a_vault_that_was_never_opened_does_nothing() -> None:
    session = Session(V1)
    before = session.view()
    session.publish(VaultClosed(V3), vault=V3)
    assert msgspec.structs.replace(session.view(), seq=before.seq) == before


def test_a_reopened_vault_has_its_pins_tabs_and_recents_again(session: Session) -> None:
    session.publish(pin(A), tab(B), ActiveNoteSet(note=C), NoteArchived(note=D))
    before = session.view()
    session.publish(VaultClosed(V1), VaultOpened(V1, "V1", "/notes/v1"))
    after = session.view()
    assert after.current_vault_id == V1
    assert (after.pinned_notes, after.temporary_tabs) == (before.pinned_notes, before.temporary_tabs)
    assert (after.recent_notes, after.archived) == (before.recent_notes, before.archived)


def test_a_vault_reopened_while_another_is_current_does_not_take_over() -> None:
    session = Session(V1, V2).publish(VaultClosed(V2), vault=V2)
    session.publish(VaultOpened(V2, "V2", "/notes/v2"), vault=V2)
    assert session.view().current_vault_id == V1
    assert {vault.id for vault in session.view().vaults} == {V1, V2}


def test_a_vault_can_be_switched_to_when_none_is_current() -> None:
    session = Session(V1, V2).publish(VaultClosed(V1)).publish(VaultSwitched(V2), vault=V2)
    assert session.view().current_vault_id == V2


def test_switching_to_the_current_vault_changes_nothing(session: Session) -> None:
    session.publish(ActiveNoteSet(note=A), select(A), tab(A))
    before = session.view()
    session.publish(VaultSwitched(V1))
    assert session.view() == msgspec.structs.replace(before, seq=session.seq)


@pytest.mark.parametrize("target", [V2, V3])
def test_switching_to_a_vault_that_is_not_open_makes_no_hidden_vault_current(target: VaultId) -> None:
    session = Session(V1, V2).publish(VaultClosed(V2), vault=V2).publish(VaultSwitched(target), vault=target)
    open_vaults = {vault.id for vault in session.view().vaults}
    assert session.view().current_vault_id in {None, *open_vaults}


def test_an_event_for_a_closed_vault_still_folds_into_its_state() -> None:
    session = Session(V1, V2).publish(VaultClosed(V2), vault=V2).publish(pin(A), vault=V2)
    session.publish(VaultOpened(V2, "V2", "/notes/v2"), vault=V2)
    assert [entry.id for entry in session.view(V2).pinned_notes] == [A]
    assert session.pins() == []


def test_an_active_note_set_for_a_vault_in_the_background_is_gone_after_the_switch() -> None:
    session = Session(V1, V2).publish(ActiveNoteSet(note=A), vault=V2)
    assert session.view(V2).active_note is not None
    session.publish(VaultSwitched(V2), vault=V2)
    assert session.view().active_note is None
    assert [recent.id for recent in session.view().recent_notes] == [A]


def test_an_event_of_no_vault_with_none_current_changes_no_notes() -> None:
    session = Session().publish(pin(A), tab(B), ActiveNoteSet(note=C), vault=None)
    view = session.view()
    assert (view.pinned_notes, view.temporary_tabs, view.active_note, view.recent_notes) == ([], [], None, [])


# -- the active note and what was active --


def test_setting_moves_a_note_to_the_front_of_the_recents_without_duplicates(session: Session) -> None:
    session.publish(ActiveNoteSet(note=A), ActiveNoteSet(note=B), ActiveNoteSet(note=A))
    assert session.recents() == [A, B]
    assert session.view().recent_notes[0].at == session.time


def test_the_recents_hold_fifty_and_drop_the_oldest(session: Session) -> None:
    notes = [note_named(number) for number in range(RECENT_NOTES_MAX + 2)]
    session.publish(*(ActiveNoteSet(note=note) for note in notes))
    assert RECENT_NOTES_MAX == 50
    assert session.recents() == notes[:1:-1]


def test_a_note_seen_again_is_not_the_one_that_the_fifty_first_drops(session: Session) -> None:
    notes = [note_named(number) for number in range(RECENT_NOTES_MAX)]
    session.publish(*(ActiveNoteSet(note=note) for note in notes), ActiveNoteSet(note=notes[0]))
    session.publish(ActiveNoteSet(note=A))
    assert session.recents()[:2] == [A, notes[0]]
    assert notes[1] not in session.recents()


def test_setting_the_active_note_touches_its_tab_only(session: Session) -> None:
    session.publish(tab(A), tab(B), ActiveNoteSet(note=A))
    first, second = session.view().temporary_tabs
    assert (first.note_id, first.last_accessed, first.opened_at) == (A, session.time, session.events[-3].time)
    assert second.last_accessed == session.events[-2].time


def test_setting_the_active_note_opens_no_tab(session: Session) -> None:
    session.publish(ActiveNoteSet(note=A))
    assert (session.tabs(), session.view().active_tab_id) == ([], None)


def test_the_active_tab_is_the_tab_of_the_active_note(session: Session) -> None:
    session.publish(tab(A), tab(B), ActiveNoteSet(note=A))
    assert session.view().active_tab_id == session.tab_ids()[0]
    session.publish(close(A))
    assert session.view().active_tab_id is None
    session.publish(tab(A))
    assert session.view().active_tab_id == f"tab-{session.seq}"


def test_a_pinned_active_note_has_no_active_tab(session: Session) -> None:
    session.publish(ActiveNoteSet(note=A), tab(A), pin(A))
    assert session.view().active_tab_id is None


def test_clearing_keeps_recents_pins_and_tabs(session: Session) -> None:
    session.publish(pin(B), tab(C), ActiveNoteSet(note=A), ActiveNoteCleared())
    assert session.view().active_note is None
    assert (session.recents(), session.pins(), session.tabs()) == ([A], [B], [C])


def test_a_title_hint_is_never_folded(session: Session) -> None:
    session.publish(ActiveNoteSet(note=A, title="Plan"), NotePinned(note=B, title="Plan"))
    assert b"Plan" not in msgspec.json.encode(session.state)


def test_texts_in_requests_that_stand_after_each_other_are_folded_once_each() -> None:
    call: dict[str, Any] = {"tool": "volunteer_context", "caller": "agent", "arguments": {}, "now": time_at(0)}
    call |= {"as_of_seq": 0, "result_sha256": SHA256, "bytes": 0, "duration_us": 0, "ok": True}
    put = {"session": "s", "event": "openai", "text_sha256": SHA256, "near": "4ea4"}
    session = Session()
    for name, after in (("a-1", "a-1"), ("b-1", "c-1"), ("c-1", "b-1")):
        session.publish(ContextInserted(**call, **put, insertion=name, after=after))
    assert [each.id for each in chain(session.state.insertions, "a-1")] == ["a-1"]
    assert [each.id for each in chain(session.state.insertions, "c-1")] == ["c-1", "b-1"]


# -- pins --


@pytest.mark.parametrize(
    ("index", "order"), [(0, [C, A, B]), (1, [A, C, B]), (2, [A, B, C]), (3, [A, B, C]), (10**6, [A, B, C])]
)
def test_a_pin_is_inserted_at_its_index(session: Session, index: int, order: list[str]) -> None:
    session.publish(pin(A), pin(B), pin(C, index))
    assert session.pins() == order


def test_pinning_a_pinned_note_at_another_index_does_not_move_it(session: Session) -> None:
    session.publish(pin(A), pin(B), pin(B, 0))
    assert session.pins() == [A, B]


def test_pins_and_tabs_remember_the_source_that_made_them(session: Session) -> None:
    session.keep(event_of(session.seq + 1, pin(A), source="editor"))
    session.keep(event_of(session.seq + 1, tab(B), source="palette"))
    session.keep(event_of(session.seq + 1, tab(B), source="other"))
    assert session.sub().pins[A].publisher == "editor"
    assert session.sub().tabs[B].publisher == "palette"


def test_reordering_no_pins_to_no_pins_is_a_permutation(session: Session) -> None:
    session.publish(tab(A), PinnedNotesReordered(()))
    assert (session.pins(), session.tabs()) == ([], [A])


def test_repinning_an_unpinned_note_appends_it_with_a_new_time(session: Session) -> None:
    session.publish(pin(A), pin(B), NoteUnpinned(note=A), pin(A))
    assert (session.pins(), session.tabs()) == ([B, A], [])
    assert session.view().pinned_notes[-1].pinned_at == session.time


# -- temporary tabs --


@pytest.mark.parametrize("source", ["search", "wikilink", "navigation", "history"])
def test_a_tab_opens_last_with_its_source_and_an_id_from_the_sequence(session: Session, source: TabSource) -> None:
    session.publish(tab(A), tab(B, source))
    last = session.view().temporary_tabs[-1]
    assert msgspec.to_builtins(last) == {
        "id": f"tab-{session.seq}",
        "noteId": B,
        "source": source,
        "openedAt": session.time,
        "lastAccessed": session.time,
    }


def test_opening_a_tab_of_a_pinned_note_counts_as_activity(session: Session) -> None:
    session.publish(pin(A), tab(A))
    assert session.view().last_updated == session.time


def test_a_tab_closes_by_its_id_or_by_its_note(session: Session) -> None:
    session.publish(tab(A), tab(B), tab(C))
    session.publish(TemporaryTabClosed(tab_id=session.tab_ids()[1]))
    assert session.tabs() == [A, C]
    session.publish(close(A))
    assert session.tabs() == [C]


def test_closing_an_unknown_tab_does_nothing(session: Session) -> None:
    session.publish(tab(A), pin(B))
    before = session.sub()
    session.publish(TemporaryTabClosed(tab_id=TabId("tab-999")), close(B), close(C))
    assert session.sub() == before


def test_a_tab_id_of_another_vault_closes_nothing() -> None:
    session = Session(V1, V2).publish(tab(A))
    tab_id = session.tab_ids()[0]
    session.publish(TemporaryTabClosed(tab_id=tab_id), TemporaryTabsExpired((tab_id,)), vault=V2)
    assert session.tabs() == [A]


def test_closing_the_active_notes_tab_keeps_the_note_active(session: Session) -> None:
    session.publish(tab(A), ActiveNoteSet(note=A), close(A))
    active = session.view().active_note
    assert active is not None
    assert active.id == A


def test_tabs_take_the_new_order_and_keep_their_times(session: Session) -> None:
    session.publish(tab(A), tab(B), tab(C))
    first, second, third = session.view().temporary_tabs
    session.publish(TemporaryTabsReordered((third.id, first.id, second.id)))
    assert session.view().temporary_tabs == [third, first, second]


@pytest.mark.parametrize(
    "pick",
    [
        lambda _: (),
        lambda ids: ids[:1],
        lambda ids: (ids[0], ids[0]),
        lambda ids: (*ids, ids[0]),
        lambda ids: (ids[0], TabId("tab-999")),
        lambda _: (TabId("a.md"), TabId("work/b.md")),
    ],
)
def test_an_order_that_is_no_permutation_of_the_tabs_is_a_no_op(
    session: Session, pick: Callable[[list[TabId]], tuple[TabId, ...]]
) -> None:
    session.publish(tab(A), tab(B))
    before = session.sub()
    session.publish(TemporaryTabsReordered(pick(session.tab_ids())))
    assert session.sub() == before


def test_clearing_the_tabs_leaves_pins_and_the_active_note(session: Session) -> None:
    session.publish(tab(A), tab(B), pin(C), ActiveNoteSet(note=A), TemporaryTabsCleared())
    assert (session.tabs(), session.pins()) == ([], [C])
    assert session.view().active_note is not None


def test_clearing_no_tabs_changes_nothing(session: Session) -> None:
    session.publish(pin(A))
    before = session.sub()
    session.publish(TemporaryTabsCleared())
    assert without_times(session.sub()) == without_times(before)


def test_expiry_removes_the_named_tabs_and_ignores_those_already_gone(session: Session) -> None:
    session.publish(tab(A), tab(B), tab(C))
    first, second, _ = session.tab_ids()
    session.publish(close(B), TemporaryTabsExpired((first, second, TabId("tab-999"))))
    assert session.tabs() == [C]


def test_the_tab_of_the_active_note_can_expire(session: Session) -> None:
    session.publish(tab(A), ActiveNoteSet(note=A), TemporaryTabsExpired((TabId("tab-2"),)))
    assert (session.tabs(), session.view().active_tab_id) == ([], None)
    assert session.view().active_note is not None


def test_a_tab_reopened_after_closing_is_a_new_one_at_the_end(session: Session) -> None:
    session.publish(tab(A), tab(B), close(A), tab(A, "history"))
    last = session.view().temporary_tabs[-1]
    assert session.tabs() == [B, A]
    assert (last.id, last.source, last.opened_at) == (f"tab-{session.seq}", "history", session.time)


# -- the selection --


def test_the_selection_of_the_active_note_is_kept_and_replaced(session: Session) -> None:
    session.publish(ActiveNoteSet(note=A), select(A, 1, 2, "one"), select(A, 3, 3, "three"))
    kept = session.view().selection
    assert kept is not None
    assert (kept.note, kept.start_line, kept.end_line, kept.text) == (A, 3, 3, "three")
    assert kept.at == session.time


def test_a_long_selection_is_known_by_its_hash(session: Session) -> None:
    session.publish(
        ActiveNoteSet(note=A), SelectionChanged(note=A, start_line=1, end_line=900, text_sha256=SHA256)
    )
    kept = session.view().selection
    assert kept is not None
    assert (kept.text, kept.text_sha256) == (None, SHA256)


def test_a_selection_of_another_note_changes_nothing(session: Session) -> None:
    session.publish(ActiveNoteSet(note=A), tab(B), pin(C), select(A))
    before = session.sub()
    session.publish(select(B, 5, 6), select(C, 5, 6))
    assert session.sub() == before


def test_a_selection_without_an_active_note_changes_nothing(session: Session) -> None:
    session.publish(tab(A))
    before = session.sub()
    session.publish(select(A))
    assert session.sub() == before


@pytest.mark.parametrize("change", [ActiveNoteSet(note=B), ActiveNoteSet(note=None), ActiveNoteCleared()])
def test_the_selection_goes_when_the_active_note_changes(session: Session, change: Data) -> None:
    session.publish(ActiveNoteSet(note=A), select(A), change)
    assert session.view().selection is None


def test_the_selection_does_not_come_back_with_its_note(session: Session) -> None:
    session.publish(ActiveNoteSet(note=A), select(A), ActiveNoteSet(note=B), ActiveNoteSet(note=A))
    assert session.view().selection is None


def test_setting_the_note_that_is_active_keeps_its_selection(session: Session) -> None:
    session.publish(ActiveNoteSet(note=A), select(A), ActiveNoteSet(note=A))
    assert session.view().selection is not None


@pytest.mark.parametrize("other", [tab(B), pin(A), NoteDeleted(note=B), close(A), NoteArchived(note=A)])
def test_the_selection_stays_while_its_note_is_active(session: Session, other: Data) -> None:
    session.publish(tab(A), ActiveNoteSet(note=A), select(A), other)
    assert session.view().selection is not None


# -- renames --


def test_a_rename_rewrites_the_note_everywhere(session: Session) -> None:
    session.publish(tab(A), ActiveNoteSet(note=A), select(A, 3, 4), NoteArchived(note=A))
    before = session.view()
    session.publish(rename(A, B))
    after = session.view()
    assert before.active_note is not None
    assert after.active_note == msgspec.structs.replace(before.active_note, id=B)
    assert after.temporary_tabs == [msgspec.structs.replace(before.temporary_tabs[0], note_id=B)]
    assert after.recent_notes == [msgspec.structs.replace(before.recent_notes[0], id=B)]
    assert after.active_tab_id == before.active_tab_id
    assert after.archived == [B]


def test_the_selection_follows_its_renamed_note(session: Session) -> None:
    session.publish(ActiveNoteSet(note=A), select(A, 3, 4, "words"), rename(A, B))
    kept = session.view().selection
    assert kept is not None
    assert (kept.note, kept.start_line, kept.end_line, kept.text) == (B, 3, 4, "words")


def test_a_renamed_pin_keeps_place_and_time(session: Session) -> None:
    session.publish(pin(A), pin(B), pin(C))
    before = session.view().pinned_notes
    session.publish(rename(B, D))
    assert session.view().pinned_notes == [before[0], msgspec.structs.replace(before[1], id=D), before[2]]


def test_a_renamed_tab_keeps_place_id_source_and_times(session: Session) -> None:
    session.publish(tab(A), tab(B, "history"), tab(C))
    before = session.view().temporary_tabs
    session.publish(rename(B, D))
    assert session.view().temporary_tabs == [before[0], msgspec.structs.replace(before[1], note_id=D), before[2]]


@pytest.mark.parametrize("order", [(A, C, B), (B, C, A)])
def test_renaming_onto_a_tabbed_note_merges_at_the_earlier_place(
    session: Session, order: tuple[NoteId, ...]
) -> None:
    session.publish(*(tab(note) for note in order))
    ids = session.tab_ids()
    session.publish(rename(A, B))
    assert session.tabs() == [B, C]
    assert session.tab_ids()[0] in (ids[0], ids[2])


@pytest.mark.parametrize("order", [(A, C, B), (B, C, A)])
def test_renaming_onto_a_recent_note_merges_at_the_newer_place(
    session: Session, order: tuple[NoteId, ...]
) -> None:
    session.publish(*(ActiveNoteSet(note=note) for note in order))
    newest = session.time
    session.publish(rename(A, B))
    assert session.recents() == [B, C]
    assert session.view().recent_notes[0].at == newest


@pytest.mark.parametrize("order", [(A, C, B), (B, C, A)])
def test_renaming_onto_an_archived_note_flags_it_once(session: Session, order: tuple[NoteId, ...]) -> None:
    session.publish(*(NoteArchived(note=note) for note in order), rename(A, B))
    assert session.view().archived == [B, C]


@pytest.mark.parametrize(("pinned", "tabbed"), [(A, B), (B, A)])
def test_a_rename_that_joins_a_pin_and_a_tab_leaves_the_pin(
    session: Session, pinned: NoteId, tabbed: NoteId
) -> None:
    session.publish(pin(pinned), tab(tabbed), tab(C), rename(A, B))
    assert (session.pins(), session.tabs()) == ([B], [C])


def test_renaming_an_active_note_onto_a_tabbed_one_makes_that_tab_active(session: Session) -> None:
    session.publish(tab(B), ActiveNoteSet(note=A), rename(A, B))
    assert session.view().active_tab_id == session.tab_ids()[0]


def test_renaming_a_note_onto_the_active_one_keeps_it_active(session: Session) -> None:
    session.publish(tab(A), ActiveNoteSet(note=B), rename(A, B))
    active = session.view().active_note
    assert active is not None
    assert active.id == B


def test_a_rename_to_itself_changes_nothing(session: Session) -> None:
    session.publish(pin(A), ActiveNoteSet(note=A), select(A))
    before = session.sub()
    session.publish(rename(A, A))
    assert without_times(session.sub()) == without_times(before)
    assert session.sub().current_path(A) in (None, A)


def test_a_rename_in_another_vault_leaves_equal_paths_alone() -> None:
    session = Session(V1, V2).publish(pin(A)).publish(pin(A), rename(A, B), vault=V2)
    assert session.pins() == [A]
    assert session.sub(V1).current_path(A) is None
    assert session.sub(V2).current_path(A) == B


def test_an_old_path_resolves_even_of_a_note_that_is_nowhere_in_the_workspace(session: Session) -> None:
    session.publish(rename(A, B))
    assert session.sub().current_path(A) == B
    assert (session.pins(), session.tabs(), session.recents()) == ([], [], [])


def test_a_note_that_never_moved_has_no_former_path(session: Session) -> None:
    session.publish(pin(A), rename(A, B))
    assert session.sub().current_path(C) is None
    assert session.sub().current_path(B) is None


def test_a_chain_of_renames_resolves_from_each_of_its_paths(session: Session) -> None:
    session.publish(pin(A), rename(A, B), rename(B, C), rename(C, D))
    assert session.pins() == [D]
    assert [session.sub().current_path(note) for note in (A, B, C)] == [D, D, D]


def test_a_note_renamed_back_resolves_to_where_it_is(session: Session) -> None:
    session.publish(pin(A), rename(A, B), rename(B, A))
    assert session.pins() == [A]
    assert session.sub().current_path(B) == A
    assert session.sub().current_path(A) in (None, A)


def test_a_note_renamed_back_and_on_resolves_from_every_path(session: Session) -> None:
    session.publish(rename(A, B), rename(B, A), rename(A, C))
    assert [session.sub().current_path(note) for note in (A, B)] == [C, C]


def test_a_path_taken_over_by_another_note_resolves_for_the_note_that_came(session: Session) -> None:
    session.publish(rename(A, B), rename(C, A))
    assert session.sub().current_path(C) == A
    assert session.sub().current_path(A) in (None, A, B)


def test_an_old_reference_is_not_led_to_a_stranger_at_a_path_in_between(session: Session) -> None:
    session.publish(rename(A, B), rename(B, C), rename(D, B))
    assert session.sub().current_path(A) == C
    assert session.sub().current_path(D) == B


def test_two_notes_that_swap_names_are_never_confused_for_a_third(session: Session) -> None:
    session.publish(rename(A, C), rename(B, A), rename(C, B))
    assert session.sub().current_path(C) == B
    assert session.sub().current_path(A) in (None, A, B)
    assert session.sub().current_path(B) in (None, A, B)


def test_remembered_renames_are_bounded_and_the_latest_stay() -> None:
    former = {NoteId(f"old{number}.md"): NoteId(f"new{number}.md") for number in range(FORMER_PATHS_MAX)}
    session = Session(V1)
    session.state = msgspec.structs.replace(session.state, by_vault={V1: VaultState(former=former)})
    session.publish(rename(A, B))
    assert len(session.sub().former) <= FORMER_PATHS_MAX
    assert session.sub().current_path(A) == B
    assert session.sub().current_path(NoteId("old0.md")) is None
    assert session.sub().current_path(NoteId(f"old{FORMER_PATHS_MAX - 1}.md")) is not None


# -- deletion and the archive --


def test_a_deleted_note_stays_in_the_recents(session: Session) -> None:
    session.publish(ActiveNoteSet(note=A), NoteDeleted(note=A))
    assert session.recents() == [A]


def test_deleting_a_note_that_is_not_active_keeps_the_active_one(session: Session) -> None:
    session.publish(pin(A), tab(B), ActiveNoteSet(note=B), NoteDeleted(note=A))
    assert (session.pins(), session.tabs()) == ([], [B])
    assert session.view().active_tab_id == session.tab_ids()[0]


def test_deleting_an_unknown_note_does_nothing(session: Session) -> None:
    session.publish(pin(A), tab(B), ActiveNoteSet(note=B))
    before = session.sub()
    session.publish(NoteDeleted(note=C))
    assert without_times(session.sub()) == without_times(before)


def test_an_archived_note_keeps_its_entries_and_is_flagged(session: Session) -> None:
    session.publish(pin(A), ActiveNoteSet(note=A), tab(B))
    before = session.view()
    session.publish(NoteArchived(note=A), NoteArchived(note=B))
    after = session.view()
    assert after.archived == [A, B]
    assert (after.pinned_notes, after.temporary_tabs) == (before.pinned_notes, before.temporary_tabs)
    assert (after.active_note, after.recent_notes) == (before.active_note, before.recent_notes)


def test_archiving_twice_flags_once_in_the_same_place(session: Session) -> None:
    session.publish(NoteArchived(note=A), NoteArchived(note=B), NoteArchived(note=A))
    assert session.view().archived == [A, B]


def test_unarchiving_takes_the_flag_and_nothing_else(session: Session) -> None:
    session.publish(pin(A), NoteArchived(note=A), NoteArchived(note=B), NoteUnarchived(note=A))
    assert session.view().archived == [B]
    assert session.pins() == [A]
    session.publish(NoteUnarchived(note=C))
    assert session.view().archived == [B]


# -- time --


def test_order_is_the_sequence_never_the_time(session: Session) -> None:
    for seconds in (500, 3, 40):
        session.keep(event_of(session.seq + 1, ActiveNoteSet(note=note_named(seconds)), time=time_at(seconds)))
    assert session.recents() == [note_named(40), note_named(3), note_named(500)]
    assert session.view().last_updated == time_at(40)


def test_an_action_that_changes_nothing_does_not_date_the_state(session: Session) -> None:
    session.publish(pin(A))
    dated = session.time
    session.publish(pin(A), NoteUnpinned(note=B), PinnedNotesReordered((B,)), select(C), VaultSwitched(V1))
    assert session.view().last_updated == dated


# -- determinism: a session that is the same everywhere --


def whole_bytes(state: WorkspaceState) -> bytes:
    """All of `state` as bytes: what is shown of each vault, and what is not shown."""
    shown = [to_json(state), *(to_json(state, vault) for vault in state.vaults)]
    return msgspec.json.encode(shown) + msgspec.json.encode(state)


def long_session(length: int, *, seed: int) -> list[Event]:
    """`length` events of all kinds, which depend on `seed` alone."""
    rng = random.Random(seed)
    notes = [NoteId(f"{folder}note {number} é.md") for folder in ("", "work/", "日記/") for number in range(20)]
    events = [event_of(n + 1, VaultOpened(v, v, f"/{v}"), vault=v) for n, v in enumerate((V1, V2, V3))]
    state = fold_all(events, EMPTY)
    while len(events) < length:
        vault = rng.choice([V1, V1, V1, V2, V3])
        seq = len(events) + 1
        event = event_of(
            seq, random_action(rng, notes, state.of(vault), vault), vault=vault, time=time_at(seq / 3)
        )
        events.append(event)
        state = apply(state, event)
    return events


def random_action(rng: random.Random, notes: list[NoteId], sub: VaultState, vault: VaultId) -> Data:
    """One action; half of the reorders and selections are such that they change something."""
    note, other = rng.choice(notes), rng.choice(notes)
    pins = tuple(rng.sample(list(sub.pins), len(sub.pins)))
    tab_ids = tuple(rng.sample([entry.id for entry in sub.tabs.values()], len(sub.tabs)))
    active = sub.active.id if sub.active else note
    makers: list[Callable[[], Data]] = [
        lambda: ActiveNoteSet(note=note),
        lambda: ActiveNoteSet(note=note, title="hint"),
        lambda: ActiveNoteCleared(),
        lambda: select(rng.choice([active, note]), 1, 5, "text"),
        lambda: pin(note, rng.choice([None, 0, 3])),
        lambda: NoteUnpinned(note=rng.choice([note, *pins])),
        lambda: PinnedNotesReordered(rng.choice([pins, pins[1:]])),
        lambda: tab(note, rng.choice(["search", "wikilink", "navigation", "history"])),
        lambda: tab(other),
        lambda: close(note),
        lambda: TemporaryTabsReordered(tab_ids),
        lambda: TemporaryTabsExpired(tab_ids[:2]),
        lambda: rename(note, other),
        lambda: NoteDeleted(note=note),
        lambda: NoteArchived(note=note),
        lambda: NoteUnarchived(note=note),
        lambda: VaultSwitched(vault),
        lambda: rng.choice([VaultClosed(vault), VaultOpened(vault, vault, f"/{vault}")]),
        lambda: NoteChanged(note=note, size=3, mtime_ns="17"),
        lambda: SharingSet(rng.choice(["*", "Agent", "editor"]), rng.choice(["all", "names", "none"])),
        lambda: VolunteeringSet(rng.choice(["*", "Agent"]), rng.choice(["on", "selection-off", "off"])),
        lambda: ClockStepped(time_at(rng.random() * 1_000), time_at(rng.random() * 1_000)),
        lambda: rng.choice([PauseStarted(), PauseStarted(time_at(rng.random() * 1_000)), PauseEnded()]),
        lambda: rng.choice([ViewOpened(), ViewClosed()]),
        lambda: EventForgotten(rng.choice(["none", "updated", "left"])),
        lambda: rng.choice([TemporaryTabsCleared(), rename(note, NoteId(f"moved {rng.random()}.md"))]),
    ]
    return rng.choice(makers)()


def session_report() -> bytes:
    return whole_bytes(fold_all(long_session(3_000, seed=2026), EMPTY))


def test_the_generated_session_reaches_every_row_that_changes_the_state() -> None:
    later = ("conversation_", "message_", "summary_", "artifact_", "context_", "prompt_", "usage_", "library_")
    rows = {name for name, entry in CATALOGUE.items() if entry.changes_state and not name.startswith(later)}
    assert rows <= {event.type for event in long_session(3_000, seed=2026)}


if __name__ == "__main__":
    sys.stdout.buffer.write(session_report())
