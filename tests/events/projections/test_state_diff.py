"""The difference of two states: whole, and readable."""

from collections.abc import Iterable
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.profiles import examples

from workspaced_events.ids import EventId, NoteId, TabId, VaultId
from workspaced_events.projections.state_diff import Change, changes, lines
from workspaced_events.projections.workspace_fold import apply
from workspaced_events.projections.workspace_state import EMPTY, WorkspaceState, to_json
from workspaced_events.schema import catalogue as c
from workspaced_events.schema.catalogue import ENTRY_OF, Data

NOTES = [NoteId(f"{name}.md") for name in "abcde"]
VAULTS = [VaultId("v1"), VaultId("v2")]
KEYED = ("pinnedNotes", "temporaryTabs", "recentNotes", "archived", "vaults", "sharing", "volunteering")


def time_of(seq: int) -> str:
    return f"2026-01-01T00:{seq // 60:02}:{seq % 60:02}.000000Z"


def states_of(actions: Iterable[tuple[Data, VaultId]]) -> list[WorkspaceState]:
    """The empty state, then the one after each action."""
    states = [EMPTY]
    for seq, (data, vault) in enumerate(actions, start=1):
        event = ENTRY_OF[type(data)].event(seq, EventId(f"id-{seq}"), time_of(seq), "ui", vault, data)
        states.append(apply(states[-1], event))
    return states


def opened(vault: VaultId = VAULTS[0]) -> Data:
    return c.VaultOpened(vault, vault, f"/{vault}")


def pinned(*notes: str) -> list[Data]:
    return [c.NotePinned(note=NoteId(note)) for note in notes]


def said(*actions: Data) -> list[str]:
    """What the last of `actions` changed, for people."""
    states = states_of((each, VAULTS[0]) for each in (opened(), *actions))
    return lines(changes(to_json(states[-2]), to_json(states[-1])))


# -- whole --


def keyed(value: Any) -> dict[str, Any]:
    if isinstance(value, dict):
        return value
    return {each if isinstance(each, str) else each["id"]: each for each in value}


def patched(entries: dict[str, Any], found: list[Change]) -> dict[str, Any]:
    """The entries with the changes made, by the rule that `Change` states."""
    places = list(entries)
    for each in (each for each in found if each.kind == "removed"):
        assert each.id is not None and entries[each.id] == each.before
        assert each.at is None or places[each.at] == each.id
    kept = {
        key: entries[key] for key in entries if all((each.kind, each.id) != ("removed", key) for each in found)
    }
    for each in (each for each in found if each.kind == "order"):
        assert list(kept) == each.before
        kept = {key: kept[key] for key in each.after}
    for each in (each for each in found if each.kind == "changed"):
        assert each.id is not None and kept[each.id] == each.before
        kept[each.id] = each.after
    order = list(kept)
    for each in (each for each in found if each.kind == "added"):
        assert each.id is not None
        kept[each.id] = each.after
        order.insert(len(order) if each.at is None else each.at, each.id)
    return {key: kept[key] for key in order}


A_NOTE = st.sampled_from(NOTES)
A_VAULT = st.sampled_from(VAULTS)
AN_ACTION: st.SearchStrategy[Data] = st.one_of(
    st.builds(c.ActiveNoteSet, note=A_NOTE),
    st.just(c.ActiveNoteCleared()),
    st.builds(c.SelectionChanged, note=A_NOTE, start_line=st.just(1), end_line=st.integers(1, 3)),
    st.builds(c.NotePinned, note=A_NOTE, index=st.none() | st.integers(0, 3)),
    st.builds(c.NoteUnpinned, note=A_NOTE),
    st.builds(c.TemporaryTabOpened, note=A_NOTE, source=st.just("search")),
    st.builds(c.TemporaryTabClosed, note=A_NOTE),
    st.builds(c.TemporaryTabsReordered, tab_ids=st.permutations(["tab-3", "tab-4"]).map(tuple)),
    st.builds(c.NoteRenamed, from_=A_NOTE, to=A_NOTE),
    st.builds(c.NoteDeleted, note=A_NOTE),
    st.builds(c.NoteArchived, note=A_NOTE),
    st.builds(c.NoteUnarchived, note=A_NOTE),
    st.builds(c.VaultOpened, vault_id=A_VAULT, name=st.just("n"), path=st.sampled_from(["/x", "/y"])),
    st.builds(c.VaultClosed, vault_id=A_VAULT),
    st.builds(c.VaultSwitched, vault_id=A_VAULT),
    st.builds(c.SharingSet, client=st.sampled_from(["one", "two"]), level=st.sampled_from(["all", "none"])),
    st.builds(
        c.VolunteeringSet, client=st.sampled_from(["one", "two"]), volunteering=st.sampled_from(["on", "off"])
    ),
)


@settings(max_examples=examples(300))
@given(st.lists(st.tuples(AN_ACTION, A_VAULT), max_size=30), st.integers(0, 30), st.booleans())
def test_the_changes_lead_from_any_state_to_any_other(
    actions: list[tuple[Data, VaultId]], first: int, backwards: bool
) -> None:
    states = states_of([(opened(), VAULTS[0]), *actions])
    pair = [states[min(first, len(states) - 1)], states[-1]]
    before, after = (to_json(state) for state in (reversed(pair) if backwards else pair))
    found = changes(before, after)
    told, wanted = ({"sharing": {}, "volunteering": {}, **msgspec.to_builtins(each)} for each in (before, after))
    for field, value in told.items():
        here = [each for each in found if each.field == field]
        if field in KEYED:
            ends = patched(keyed(value), here)
            assert ends == keyed(wanted[field])
            assert field in ("sharing", "volunteering") or list(ends) == list(keyed(wanted[field]))
        elif here:
            (only,) = here
            assert (only.before, only.after) == (value, wanted[field]) and value != wanted[field]
        else:
            assert field == "seq" or value == wanted[field]
    assert all(line.isprintable() for line in lines(found))


# -- readable --

SELECTED = c.SelectionChanged(note=NOTES[0], start_line=1, end_line=2)
SEARCH_A = c.TemporaryTabOpened(note=NOTES[0], source="search")


@pytest.mark.parametrize(
    ("actions", "expected"),
    [
        ([], ["vault none -> v1", "open vault + v1 /v1"]),
        (pinned("a.md"), ["pinned + a.md at 0"]),
        ([*pinned("a.md", "b.md"), c.NotePinned(note=NoteId("c.md"), index=1)], ["pinned + c.md at 1"]),
        ([*pinned("a.md"), c.NoteUnpinned(note=NOTES[0])], ["pinned - a.md", "tab + tab-3 a.md at 0"]),
        (
            [*pinned("a.md", "b.md"), c.PinnedNotesReordered((NOTES[1], NOTES[0]))],
            ["pinned order b.md, a.md"],
        ),
        (
            [*pinned("a.md", "b.md", "c.md", "d.md", "e.md"), c.PinnedNotesReordered(tuple(reversed(NOTES)))],
            ["pinned order e.md, d.md, c.md, b.md and 1 more"],
        ),
        ([SEARCH_A, c.TemporaryTabClosed(tab_id=TabId("tab-2"))], ["tab - tab-2 a.md"]),
        (
            [SEARCH_A, c.NoteRenamed(from_=NOTES[0], to=NOTES[1])],
            ["tab tab-2 b.md: noteId a.md -> b.md"],
        ),
        ([c.ActiveNoteSet(note=NOTES[0])], ["active none -> a.md", "recent + a.md"]),
        (
            [c.ActiveNoteSet(note=NOTES[0]), c.ActiveNoteSet(note=NOTES[1])],
            ["active a.md -> b.md", "recent + b.md"],
        ),
        ([c.ActiveNoteSet(note=NOTES[0]), SELECTED], ["selected none -> a.md 1-2"]),
        (
            [c.ActiveNoteSet(note=NOTES[0]), SELECTED, SELECTED],
            [f"selected a.md 1-2: at {time_of(3)} -> {time_of(4)}"],
        ),
        ([c.NoteArchived(note=NOTES[0])], ["archived + a.md"]),
        ([c.SharingSet("Claude", "none")], ["shared + claude: none"]),
        ([c.VolunteeringSet("Claude", "off")], ["volunteered + claude: off"]),
        ([c.SharingSet("x", "none"), c.SharingSet("x", "names")], ["shared x none -> names"]),
        ([*pinned("a.md"), SEARCH_A], [f"last updated {time_of(2)} -> {time_of(3)}"]),
        ([c.DaemonStopped("SIGTERM")], []),
    ],
)
def test_a_person_reads_what_changed(actions: list[Data], expected: list[str]) -> None:
    assert said(*actions) == expected


def test_the_text_of_a_selection_is_not_in_the_lines() -> None:
    texts = ["the first secret", "the second secret"]
    selections = [msgspec.structs.replace(SELECTED, text=text) for text in texts]
    (line,) = said(c.ActiveNoteSet(note=NOTES[0]), *selections)
    assert "text" in line and "secret" not in line


def test_control_characters_in_names_are_shown_not_kept() -> None:
    assert said(*pinned("\x1b[2J\n\u202e.md")) == [r"pinned + \x1b[2J\n\u202e.md at 0"]
