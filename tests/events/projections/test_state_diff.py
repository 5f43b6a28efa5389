"""The difference of two states: whole, and readable."""

from itertools import accumulate
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.profiles import examples
from support.random_log import V, W, opened, random_log, recorded, time_at

from workspaced_events.ids import NoteId, TabId
from workspaced_events.projections.state_diff import Change, changes, lines
from workspaced_events.projections.workspace_fold import apply
from workspaced_events.projections.workspace_state import EMPTY, to_json
from workspaced_events.schema import catalogue as c
from workspaced_events.schema.catalogue import Data

NOTES = [NoteId(f"{name}.md") for name in "abcde"]
KEYED = ("pinnedNotes", "temporaryTabs", "recentNotes", "archived", "vaults", "sharing", "volunteering")


def pinned(*notes: str) -> list[Data]:
    return [c.NotePinned(note=NoteId(note)) for note in notes]


def said(*actions: Data) -> list[str]:
    """What the last of `actions` changed, for people."""
    states = list(accumulate(recorded(*opened(V), *actions), apply, initial=EMPTY))
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


@settings(max_examples=examples(300))
@given(st.integers(0, 10_000), st.integers(2, 60), st.integers(0, 30), st.booleans())
def test_the_changes_lead_from_any_state_to_any_other(seed: int, count: int, first: int, backwards: bool) -> None:
    states = list(accumulate(random_log(seed, count, (V, W)), apply, initial=EMPTY))
    pair = [states[min(first, len(states) - 1)], states[-1]]
    before, after = (to_json(state) for state in (reversed(pair) if backwards else pair))
    found = changes(before, after)
    omitted = {"sharing": {}, "volunteering": {}, "paused": None}
    told, wanted = ({**omitted, **msgspec.to_builtins(each)} for each in (before, after))
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
        ([], ["vault none -> v", "open vault + v /v"]),
        (pinned("a.md"), ["pinned + a.md at 0"]),
        ([*pinned("a.md", "b.md"), c.NotePinned(note=NoteId("c.md"), index=1)], ["pinned + c.md at 1"]),
        ([*pinned("a.md"), c.NoteUnpinned(note=NOTES[0])], ["pinned - a.md", "tab + tab-3 a.md at 0"]),
        ([*pinned("a.md", "b.md"), c.PinnedNotesReordered((NOTES[1], NOTES[0]))], ["pinned order b.md, a.md"]),
        (
            [*pinned("a.md", "b.md", "c.md", "d.md", "e.md"), c.PinnedNotesReordered(tuple(reversed(NOTES)))],
            ["pinned order e.md, d.md, c.md, b.md and 1 more"],
        ),
        ([SEARCH_A, c.TemporaryTabClosed(tab_id=TabId("tab-2"))], ["tab - tab-2 a.md"]),
        ([SEARCH_A, c.NoteRenamed(from_=NOTES[0], to=NOTES[1])], ["tab tab-2 b.md: noteId a.md -> b.md"]),
        ([c.ActiveNoteSet(note=NOTES[0])], ["active none -> a.md", "recent + a.md"]),
        (
            [c.ActiveNoteSet(note=NOTES[0]), c.ActiveNoteSet(note=NOTES[1])],
            ["active a.md -> b.md", "recent + b.md"],
        ),
        ([c.ActiveNoteSet(note=NOTES[0]), SELECTED], ["selected none -> a.md 1-2"]),
        (
            [c.ActiveNoteSet(note=NOTES[0]), SELECTED, SELECTED],
            [f"selected a.md 1-2: at {time_at(3)} -> {time_at(4)}"],
        ),
        ([c.NoteArchived(note=NOTES[0])], ["archived + a.md"]),
        ([c.SharingSet("Claude", "none")], ["shared + claude: none"]),
        ([c.VolunteeringSet("Claude", "off")], ["volunteered + claude: off"]),
        ([c.SharingSet("x", "none"), c.SharingSet("x", "names")], ["shared x none -> names"]),
        ([*pinned("a.md"), SEARCH_A], [f"last updated {time_at(2)} -> {time_at(3)}"]),
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
