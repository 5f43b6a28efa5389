"""What each row of the catalogue does to the state, where the model in test_fold_properties.py leaves it open."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from support import golden_log, random_log
from support.random_log import V, W, event_of, opened, time_at

import workspaced_events
from workspaced_events.ids import NoteId, VaultId
from workspaced_events.limits import FORMER_PATHS_MAX, SHARING_CLIENTS_MAX
from workspaced_events.projections.insertions import chain
from workspaced_events.projections.workspace_fold import apply, fold_all
from workspaced_events.projections.workspace_state import EMPTY, VaultState, WorkspaceState, to_json
from workspaced_events.schema import catalogue as c
from workspaced_events.schema.catalogue import CATALOGUE, Data, Sharing

A, B, C = NoteId("a.md"), NoteId("work/b.md"), NoteId("c.md")
SHA256 = "0" * 64


def folded(*actions: Data | tuple[Data, VaultId | None], vaults: tuple[VaultId, ...] = (V,)) -> WorkspaceState:
    """The state after the vaults were opened and these actions published, to V unless they name another vault."""
    pairs = [each if isinstance(each, tuple) else (each, V) for each in (*opened(*vaults), *actions)]
    return fold_all([event_of(seq, data, vault) for seq, (data, vault) in enumerate(pairs, 1)], EMPTY)


def tab(note: NoteId) -> Data:
    return c.TemporaryTabOpened(note, "search")


def shown(state: WorkspaceState) -> dict[str, Any]:
    """The notes that a client sees in each place, without empty places."""
    view = to_json(state, V)
    places = {
        "active": view.active_note and view.active_note.id,
        "active tab": view.active_tab_id,
        "selected": view.selection and view.selection.text,
        "pins": [each.id for each in view.pinned_notes],
        "tabs": [each.note_id for each in view.temporary_tabs],
        "recents": [each.id for each in view.recent_notes],
        "archived": view.archived,
    }
    return {name: value for name, value in places.items() if value}


SELECTED = c.SelectionChanged(A, 1, 2, text="words")


def test_an_empty_log_folds_to_nothing() -> None:
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


def test_what_is_only_recorded_changes_nothing_that_is_shown() -> None:
    state = folded(c.ActiveNoteSet(A), c.NotePinned(B), tab(C), SELECTED)
    silent = [name for name, entry in CATALOGUE.items() if not entry.changes_state]
    assert {"tool_called", "note_changed", "note_withheld", "record_forgotten"} <= {*silent}
    for name in silent:
        assert to_json(apply(state, golden_log.EVERY[name])) == to_json(state), name


# -- what is set for clients --


@pytest.mark.parametrize(
    ("settings", "kept"),
    [
        ([("Agent", "none"), ("AGENT ", "names")], {"agent": "names"}),
        ([("a", "names"), ("b", "none"), ("a", "all")], {"b": "none"}),
        ([("*", "none"), ("a", "all")], {"*": "none", "a": "all"}),
        ([("*", "none"), ("a", "all"), ("b", "names"), ("*", "all")], {"b": "names"}),
    ],
)
def test_a_level_is_a_clients_last(settings: list[tuple[str, Sharing]], kept: dict[str, Sharing]) -> None:
    assert folded(*(c.SharingSet(client, level) for client, level in settings)).sharing == kept


def test_a_client_has_its_own_level_else_the_default_and_so_many_are_kept() -> None:
    state = folded(
        c.SharingSet("*", "names"), c.SharingSet("a", "all"), c.SharingSet("gemini-cli-mcp-client", "none")
    )
    names = ("A", "other", "*", "gemini-cli-mcp-client-workspaced-notes")
    assert [state.sharing_of(name) for name in names] == ["all", "names", "names", "none"]
    assert EMPTY.sharing_of("anybody") == "all"
    kept = folded(*(c.SharingSet(f"agent {number}", "none") for number in range(SHARING_CLIENTS_MAX + 5))).sharing
    assert len(kept) == SHARING_CLIENTS_MAX and "agent 0" in kept


def test_what_a_client_is_told_without_asking_is_its_last_setting() -> None:
    state = folded(c.VolunteeringSet("Claude", "off"), c.VolunteeringSet("CLAUDE ", "selection-off"))
    assert state.volunteering == {"claude": "selection-off"}
    state = folded(c.VolunteeringSet("*", "off"), c.VolunteeringSet("claude", "on"))
    assert [state.volunteering_of(name) for name in ("Claude", "other")] == ["on", "off"]


def test_what_is_set_is_part_of_the_state_of_every_vault() -> None:
    state = folded(c.NotePinned(A), c.SharingSet("a", "none"), c.VolunteeringSet("*", "off"), vaults=(V, W))
    view = msgspec.to_builtins(to_json(state, W))
    assert (view["sharing"], view["volunteering"], state.seq) == ({"a": "none"}, {"*": "off"}, 5)
    assert not {"sharing", "volunteering"} & {*msgspec.to_builtins(to_json(folded()))}


# -- vaults --


def test_vaults_are_listed_as_they_were_opened_and_the_first_is_current() -> None:
    view = to_json(folded(c.VaultOpened(V, "Renamed", "/elsewhere"), vaults=(V, W)))
    assert (view.current_vault_id, [(each.id, each.name) for each in view.vaults]) == (
        V,
        [(V, "Renamed"), (W, "w")],
    )


def test_a_vault_that_is_not_open_can_be_neither_closed_nor_current() -> None:
    unknown = VaultId("unknown")
    for data in (c.VaultClosed(unknown), c.VaultSwitched(unknown), c.VaultSwitched(W)):
        state = folded((c.VaultClosed(W), W), data, vaults=(V, W))
        assert (state.current, [each.id for each in to_json(state).vaults]) == (V, [V])


def test_an_event_of_no_vault_with_none_current_changes_no_notes() -> None:
    assert folded((c.NotePinned(A), None), (c.ActiveNoteSet(C), None), vaults=()).by_vault == {}


# -- what the model leaves open --


def test_pins_and_tabs_remember_the_source_that_made_them() -> None:
    events = [(c.NotePinned(A), "editor"), (tab(B), "palette"), (tab(B), "other")]
    state = fold_all([event_of(seq, data, source=source) for seq, (data, source) in enumerate(events, 1)], EMPTY)
    assert (state.of(V).pins[A].publisher, state.of(V).tabs[B].publisher) == ("editor", "palette")


def test_a_long_selection_is_known_by_its_hash_and_a_title_by_nobody() -> None:
    selected = c.SelectionChanged(A, 1, 900, text_sha256=SHA256)
    state = folded(c.ActiveNoteSet(A, title="Plan"), c.NotePinned(B, title="Plan"), selected)
    kept = state.of(V).selection
    assert kept is not None and (kept.text, kept.text_sha256) == (None, SHA256)
    assert b"Plan" not in msgspec.json.encode(state)


@pytest.mark.parametrize("order", [(A, C, B), (B, C, A)])
def test_renaming_onto_a_recent_note_merges_at_the_newer_place(order: tuple[NoteId, ...]) -> None:
    view = to_json(folded(*map(c.ActiveNoteSet, order), c.NoteRenamed(A, B)))
    assert [(each.id, each.at) for each in view.recent_notes] == [(B, time_at(4)), (C, time_at(3))]


def test_remembered_renames_are_bounded_and_the_latest_stay() -> None:
    former = {NoteId(f"old{number}.md"): NoteId(f"new{number}.md") for number in range(FORMER_PATHS_MAX)}
    state = WorkspaceState(by_vault={V: VaultState(former=former)})
    left = apply(state, event_of(1, c.NoteRenamed(A, B))).of(V)
    assert len(left.former) <= FORMER_PATHS_MAX
    assert (left.current_path(A), left.current_path(NoteId("old0.md"))) == (B, None)
    assert left.current_path(NoteId(f"old{FORMER_PATHS_MAX - 1}.md")) is not None


def test_order_is_the_sequence_never_the_time() -> None:
    times = [time_at(seconds) for seconds in (500, 3, 40)]
    events = [event_of(n, c.ActiveNoteSet(NoteId(f"{n}.md")), time=time) for n, time in enumerate(times, 1)]
    view = to_json(fold_all(events, EMPTY), V)
    assert ([each.id for each in view.recent_notes], view.last_updated) == (["3.md", "2.md", "1.md"], times[-1])


def test_an_action_that_changes_nothing_does_not_date_the_state() -> None:
    orders = map(c.PinnedNotesReordered, ((B,), (A, A)))
    nothing = (c.NotePinned(A), c.NoteUnpinned(B), *orders, SELECTED, c.VaultSwitched(V))
    state = folded(c.NotePinned(A), *nothing)
    assert (state.of(V).last_updated, state.seq) == (time_at(2), 8)


def test_texts_in_requests_that_stand_after_each_other_are_folded_once_each() -> None:
    call: dict[str, Any] = {"tool": "volunteer_context", "caller": "agent", "arguments": {}, "now": time_at(0)}
    call |= {"as_of_seq": 0, "result_sha256": SHA256, "bytes": 0, "duration_us": 0, "ok": True}
    put = {"session": "s", "event": "openai", "text_sha256": SHA256, "near": "4ea4"}
    pairs = (("a-1", "a-1"), ("b-1", "c-1"), ("c-1", "b-1"))
    state = folded(*(c.ContextInserted(**call, **put, insertion=name, after=after) for name, after in pairs))
    assert [each.id for each in chain(state.insertions, "a-1")] == ["a-1"]
    assert [each.id for each in chain(state.insertions, "c-1")] == ["c-1", "b-1"]


# -- determinism --


def session_report() -> bytes:
    """All of two states as bytes, one after a long session and one after an event of each type."""
    long = random_log.random_log(2026, 3_000, (V, W))
    states = [fold_all(events, EMPTY) for events in (long, golden_log.EVENTS)]
    views = [[to_json(state, vault) for vault in (None, *state.vaults)] for state in states]
    return msgspec.json.encode(views) + msgspec.json.encode(states)


@pytest.mark.fault(row=15)
def test_hash_seed_and_time_zone_do_not_show() -> None:
    """This file, run as a script, prints its report."""
    roots = [Path(workspaced_events.__file__).parents[1], Path(golden_log.__file__).parents[1]]
    printed = {
        subprocess.run(
            [sys.executable, __file__],
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join(map(str, roots)),
                "PYTHONHASHSEED": hash_seed,
                "TZ": zone,
            },
            capture_output=True,
            check=True,
            timeout=60,
        ).stdout
        for hash_seed in ("0", "1", "4711")
        for zone in ("UTC", "Pacific/Kiritimati")
    }
    assert printed == {session_report()}


if __name__ == "__main__":
    sys.stdout.buffer.write(session_report())
