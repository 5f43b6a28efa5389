"""The context library: what enters it, what stays, and what a turn says of what it holds."""

import pytest
from support.conversation import Talk, entry, library_ids, user_text

from workspaced_tools.prompts.model.types import Artifact, Policy


def each_turn() -> Talk:
    """A conversation whose library takes over at each turn."""
    chat = Talk()
    chat.policy = Policy(each_turn=True)
    return chat


LONG = "A long text that stays as it is. " * 40


@pytest.mark.parametrize("kind", ["note", "url", "pdf", "file", "dataview"])
def test_what_can_be_looked_up_again_is_in_the_library_from_the_next_turn_on(kind: str) -> None:
    chat = each_turn()
    thing = chat.read("x", "Its text.", kind=kind)
    assert "Its text." in user_text(chat.ask("1", thing))
    second = chat.ask("2", thing)
    assert library_ids(second) == ["x"]
    assert "Its text." not in user_text(second)
    assert entry(second, "x").state == "reference"


def test_what_is_attached_twice_is_there_once_and_both_are_on_record() -> None:
    chat = each_turn()
    note, active = chat.read("a.md", "Text."), chat.read("a.md", "Text.", kind="active_note")
    turn = chat.ask("1", note, active, note)
    assert user_text(turn).count("Text.") == 1 and user_text(turn).startswith("<active_note>")
    records = [each for each in turn.manifest.entries if each.id == "a.md"]
    assert sorted(each.state for each in records) == ["dropped", "dropped", "full"]
    assert {each.why for each in records if each.state == "dropped"} == {"duplicate"}
    assert library_ids(chat.ask("2")) == ["a.md"]


def test_of_what_was_read_once_and_failed_once_the_text_is_shown() -> None:
    chat = each_turn()
    failed = Artifact("note", "a.md", "A", failed="READ_ERROR")
    turn = chat.ask("1", failed, chat.read("a.md", "Text."))
    assert "Text." in user_text(turn) and "unavailable" not in user_text(turn)
    [dropped] = [each for each in turn.manifest.entries if each.why == "duplicate"]
    assert dropped.detail == "READ_ERROR"


def test_two_selections_of_one_place_are_two() -> None:
    chat = each_turn()
    turn = chat.ask("1", *(chat.read("a.md#L1-2", text, kind="selected_text") for text in ("One.", "Two.")))
    assert "One." in user_text(turn) and "Two." in user_text(turn)


def test_a_file_called_as_a_link_in_the_library_is_shown_and_not_taken_for_it() -> None:
    chat = each_turn()
    chat.ask("1", chat.read("x", "The link.", kind="url"))
    turn = chat.ask("?", chat.read("x", "The file.", kind="file"))
    assert "The file." in user_text(turn) and "(changed" not in user_text(turn)
    assert library_ids(turn) == ["x"]


def test_what_could_not_be_read_is_never_promoted_and_stays_in_the_library_where_it_was() -> None:
    chat = each_turn()
    gone = Artifact("note", "a.md", "Plan", failed="NOTE_NOT_FOUND")
    assert "[Attachment unavailable: Plan]" in user_text(chat.ask("1", gone))
    assert library_ids(chat.ask("2", chat.read("a.md", "Back."))) == []
    third = chat.ask("3", gone)
    assert library_ids(third) == ["a.md"]
    assert user_text(third).startswith("[Attachment unavailable: Plan]")
    assert (entry(third, "a.md").state, entry(third, "a.md").detail) == ("failed", "NOTE_NOT_FOUND")
