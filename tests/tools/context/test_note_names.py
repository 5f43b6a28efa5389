"""Which notes a part of a conversation tells of."""

import pytest

from workspaced_events.ids import NoteId
from workspaced_tools.context.note_names import notes_at, notes_of, path_in, then_and_now


@pytest.mark.parametrize(
    ("kind", "name", "expected"),
    [
        ("note", "a.md", {"a.md"}),
        ("active_note", "./b/a", {"b/a.md"}),
        ("note", "ma\u0308rz.md", {"m\u00e4rz.md"}),
        ("selected_text", "a.md#L1-L2", {"a.md#L1-L2", "a.md"}),
        ("selected_text", "a.md#Part#L1-L2", {"a.md"}),
        ("dataview", "c#.md#f00", {"c#.md#f00", "c#.md"}),
        ("file", "https://example.org/a.md", set()),
        ("note", "", set()),
        ("tool_result", "a.md", set()),
        ("url", "a.md", set()),
    ],
)
def test_the_id_of_what_is_attached_names_notes_by_its_kind(kind: str, name: str, expected: set[str]) -> None:
    """It may name others as well, since what is a folder's or a heading's name cannot be told from the id."""
    assert notes_of(kind, name) >= expected
    assert bool(notes_of(kind, name)) == bool(expected)


def test_the_path_in_an_id_ends_at_its_last_number_sign() -> None:
    assert [path_in(each) for each in ("a.md", "a.md#L1-L2", "c#.md#f00", "#x")] == ["a.md", "a.md", "c#.md", "#x"]


@pytest.mark.parametrize("address", ["a.md", "./a.md", "/a.md", "a", "a.md#L3", "a#part"])
def test_an_address_means_a_note_however_it_is_written(address: str) -> None:
    assert "a.md" in set(notes_at(address))


@pytest.mark.parametrize("address", ["", "https://example.org/a.md", "../a.md", "a\0.md", "x/" * 3_000, "\ud800"])
def test_what_is_no_path_means_no_note(address: str) -> None:
    assert set(notes_at(address)) == set()


def test_a_note_counts_under_the_name_that_it_had_and_the_one_that_it_has() -> None:
    former = {NoteId("old.md"): NoteId("new.md"), NoteId("x.md"): NoteId("y.md")}
    assert then_and_now([NoteId("old.md"), NoteId("b.md")], former) == {"old.md", "new.md", "b.md"}
