"""Which notes a part of a conversation tells of."""

import pytest

from workspaced_events.ids import NoteId
from workspaced_tools.prompts.model.note_names import NoteNames, notes_of


@pytest.mark.parametrize(
    ("kind", "name", "notes", "perhaps"),
    [
        ("note", "a.md", {"a.md"}, {"a.md.md"}),
        ("active_note", "./b/a", set(), {"b/a.md"}),
        ("note", "ma\u0308rz.md", {"m\u00e4rz.md"}, set()),
        ("note", "Some title", set(), {"Some title.md"}),
        ("selected_text", "a.md#L1-L2", {"a.md"}, set()),
        ("selected_text", "a.md#Part#L1-L2", set(), {"a.md"}),
        ("dataview", "c#.md#f00", {"c#.md"}, set()),
        ("folder", "a", set(), {"a.md"}),
        ("image", "a.png", set(), {"a.png.md"}),
        ("file", "https://example.org/a.md", set(), set()),
        ("note", "", set(), set()),
        ("tool_result", "a.md", set(), set()),
    ],
)
def test_an_id_names_notes_by_its_kind(kind: str, name: str, notes: set[str], perhaps: set[str]) -> None:
    """Perhaps it names others as well: what is a folder's or a heading's name cannot be told from the id."""
    found = notes_of(kind, name)
    assert found.notes == notes and found.perhaps >= perhaps
    assert bool(found.every) == bool(notes | perhaps)


def test_what_is_surely_a_note_is_hidden_where_it_is_withheld_and_what_may_be_one_where_it_was_shown() -> None:
    names = NoteNames(frozenset({NoteId("a.md")}), frozenset({NoteId("b.md")}))

    def hidden(withheld: set[str], withdrew: set[str]) -> bool:
        return names.is_hidden(withheld.__contains__, withdrew.__contains__)

    assert not hidden(set(), set())
    assert hidden({"a.md"}, set()) and hidden(set(), {"b.md"})
    assert not hidden({"b.md"}, {"a.md"}), "a guess tells nothing"
