"""The context library: what enters it, what stays, and what a turn says of what it holds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from support.conversation import Talk, entry, layer, library_ids, user_text

from workspaced_events.ids import MessageId
from workspaced_tools.prompts.assembly.library import attached_to, latest_first
from workspaced_tools.prompts.model.blocks import REPLACES
from workspaced_tools.prompts.model.types import Artifact

LONG = "A long text that stays as it is. " * 40


@pytest.mark.parametrize("kind", ["note", "url", "pdf", "file", "dataview"])
def test_what_can_be_looked_up_again_is_in_the_library_from_the_next_turn_on(kind: str) -> None:
    chat = Talk()
    thing = chat.read("x", "Its text.", kind=kind)
    assert "Its text." in user_text(chat.ask("1", thing))
    second = chat.ask("2", thing)
    assert library_ids(second) == ["x"]
    assert "Its text." not in user_text(second)
    assert entry(second, "x").state == "reference"


@pytest.mark.parametrize("kind", ["selected_text", "tool_result", "skill"])
def test_what_is_said_once_never_enters_it(kind: str) -> None:
    chat = Talk()
    thing = chat.read("x", "Its text.", kind=kind)
    for _ in range(3):
        turn = chat.ask("?", thing)
        assert library_ids(turn) == []
        assert "Its text." in user_text(turn)


def test_a_note_with_images_never_enters_it() -> None:
    chat = Talk()
    note = chat.read("x.md", "Look: ![[x.png]]", has_images=True)
    chat.ask("1", note)
    second = chat.ask("2", note)
    assert library_ids(second) == []
    assert "![[x.png]]" in user_text(second)


def test_the_active_note_enters_it_as_a_note_and_is_still_called_active() -> None:
    chat = Talk()
    active = chat.read("a.md", "Text.", kind="active_note")
    first, second = chat.ask("1", active), chat.ask("2", active)
    assert user_text(first).startswith("<active_note>")
    assert layer(second, "L2").text.startswith("<note_context>")
    assert "- a.md (active)\n" in user_text(second)
    assert "<active_note>" not in user_text(second)
    assert (entry(second, "a.md").state, entry(second, "a.md").why) == ("reference", "active")


def test_the_active_note_that_changed_is_in_full_active_and_marked() -> None:
    chat = Talk()
    chat.ask("1", chat.read("a.md", "Old text."), chat.read("b.md", LONG))
    turn = chat.ask("2", chat.read("a.md", "New text.", kind="active_note"))
    assert "- a.md (active) (changed, see below)\n" in user_text(turn)
    assert "<active_note>\n" in user_text(turn) and REPLACES in user_text(turn)


def test_a_note_that_changed_is_in_full_each_time_while_the_library_keeps_its_bytes() -> None:
    chat = Talk()
    old, new, other = chat.read("a.md", "Old text."), chat.read("a.md", "New text."), chat.read("b.md", LONG)
    chat.ask("1", old, other)
    before = layer(chat.ask("2"), "L2").text
    for _ in range(3):
        turn = chat.ask("?", new, other)
        assert layer(turn, "L2").text == before and "Old text." in before
        assert "- a.md (changed, see below)\n- b.md\n" in user_text(turn)
        assert "New text." in user_text(turn) and user_text(turn).count(REPLACES) == 1
        assert (entry(turn, "a.md").state, entry(turn, "a.md").why) == ("full", "changed")
        assert entry(turn, "a.md").revision == new.revision
        assert chat.last.rebased is None
    back = chat.ask("?", old)
    assert entry(back, "a.md").state == "reference" and REPLACES not in user_text(back)


def test_when_too_much_of_it_is_replaced_the_library_gets_what_this_turn_knows() -> None:
    chat = Talk()
    a, b, c = (chat.read(f"{name}.md", f"{name} {LONG}") for name in "abc")
    chat.ask("1", a, b, c)
    before = {segment.id: segment.text for segment in layer(chat.ask("2"), "L2").segments}
    turn = chat.ask("3", chat.read("b.md", f"New {LONG}"))
    assert chat.last.rebased is not None and chat.last.rebased.reason == "replaced"
    after = {segment.id: segment.text for segment in layer(turn, "L2").segments}
    assert list(after) == ["a.md", "b.md", "c.md"]
    assert (after["a.md"], after["c.md"]) == (before["a.md"], before["c.md"])
    assert f"New {LONG}" in after["b.md"] and REPLACES not in after["b.md"]
    assert entry(turn, "b.md").state == "reference"
    assert turn.manifest.warnings == ()
    assert layer(chat.ask("4"), "L2").text == layer(turn, "L2").text


@pytest.mark.parametrize(("share_max", "reason"), [(0.29, "replaced"), (0.5, None)])
def test_how_much_is_too_much_is_the_policys(share_max: float, reason: str | None) -> None:
    chat = Talk()
    chat.policy = replace(chat.policy, replaced_share_max=share_max)
    chat.ask("1", *(chat.read(f"{name}.md", f"{name} {LONG}") for name in "abc"))
    chat.ask("2", chat.read("b.md", f"New {LONG}"))
    assert (chat.last.rebased.reason if chat.last.rebased else None) == reason


def test_a_rebase_that_is_asked_for_refreshes_what_changed_and_is_none_where_nothing_did() -> None:
    chat = Talk()
    a, b = chat.read("a.md", "Old."), chat.read("b.md", LONG)
    chat.ask("1", a, b)
    chat.ask("2", a, b, rebase=True)
    assert chat.last.rebased is None
    turn = chat.ask("3", chat.read("a.md", "New."), b, rebase=True)
    assert chat.last.rebased is not None and chat.last.rebased.reason == "asked"
    assert "New." in layer(turn, "L2").text and "Old." not in layer(turn, "L2").text


def test_a_rebase_takes_out_what_it_may_not_hold_now_and_says_so() -> None:
    chat = Talk()
    chat.ask("1", chat.read("a.md", "Old."))
    turn = chat.ask("2", chat.read("a.md", "![[x.png]]", has_images=True), rebase=True)
    assert library_ids(turn) == []
    assert entry(turn, "a.md", "L2").state == "dropped"
    assert "![[x.png]]" in user_text(turn)
    assert library_ids(chat.ask("3")) == []


def test_what_is_attached_twice_is_there_once_and_both_are_on_record() -> None:
    chat = Talk()
    note, active = chat.read("a.md", "Text."), chat.read("a.md", "Text.", kind="active_note")
    turn = chat.ask("1", note, active, note)
    assert user_text(turn).count("Text.") == 1 and user_text(turn).startswith("<active_note>")
    records = [each for each in turn.manifest.entries if each.id == "a.md"]
    assert sorted(each.state for each in records) == ["dropped", "dropped", "full"]
    assert {each.why for each in records if each.state == "dropped"} == {"duplicate"}
    assert library_ids(chat.ask("2")) == ["a.md"]


def test_of_what_was_read_once_and_failed_once_the_text_is_shown() -> None:
    chat = Talk()
    failed = Artifact("note", "a.md", "A", failed="READ_ERROR")
    turn = chat.ask("1", failed, chat.read("a.md", "Text."))
    assert "Text." in user_text(turn) and "unavailable" not in user_text(turn)
    [dropped] = [each for each in turn.manifest.entries if each.why == "duplicate"]
    assert dropped.detail == "READ_ERROR"


def test_two_selections_of_one_place_are_two() -> None:
    chat = Talk()
    turn = chat.ask("1", *(chat.read("a.md#L1-2", text, kind="selected_text") for text in ("One.", "Two.")))
    assert "One." in user_text(turn) and "Two." in user_text(turn)


def test_a_file_called_as_a_link_in_the_library_is_shown_and_not_taken_for_it() -> None:
    chat = Talk()
    chat.ask("1", chat.read("x", "The link.", kind="url"))
    for _ in range(2):
        turn = chat.ask("?", chat.read("x", "The file.", kind="file"))
        assert "The file." in user_text(turn) and "(changed" not in user_text(turn)
        assert library_ids(turn) == ["x"]


def test_of_two_things_with_one_id_in_one_turn_the_library_takes_the_first() -> None:
    chat = Talk()
    chat.ask("1", chat.read("x", "The link.", kind="url"), chat.read("x", "The file.", kind="file"))
    assert [(each.id, each.kind) for each in chat.last.promoted] == [("x", "url")]


def test_what_could_not_be_read_is_never_promoted_and_stays_in_the_library_where_it_was() -> None:
    chat = Talk()
    gone = Artifact("note", "a.md", "Plan", failed="NOTE_NOT_FOUND")
    assert "[Attachment unavailable: Plan]" in user_text(chat.ask("1", gone))
    assert library_ids(chat.ask("2", chat.read("a.md", "Back."))) == []
    third = chat.ask("3", gone)
    assert library_ids(third) == ["a.md"]
    assert user_text(third).startswith("[Attachment unavailable: Plan]")
    assert (entry(third, "a.md").state, entry(third, "a.md").detail) == ("failed", "NOTE_NOT_FOUND")


def test_a_turn_that_is_assembled_again_has_the_same_library_and_promotes_nothing_twice() -> None:
    chat = Talk()
    chat.ask("1", chat.read("a.md", "A."))
    message = chat.say("2")
    once = chat.prompt(message, chat.read("b.md", "B."))
    assert [each.id for each in chat.last.promoted] == ["b.md"]
    again = chat.prompt(message, chat.read("b.md", "B."))
    assert chat.last.promoted == () and again.combined_hash == once.combined_hash
    assert library_ids(chat.ask("3")) == ["a.md", "b.md"]


def test_a_rebase_keeps_what_the_same_turn_has_put_into_the_library() -> None:
    chat = Talk()
    chat.ask("1", chat.read("a.md", "Old."))
    message = chat.say("2")
    chat.prompt(message, chat.read("b.md", "B."))
    chat.prompt(message, chat.read("b.md", "B."), chat.read("a.md", "New."), rebase=True)
    assert library_ids(chat.ask("3")) == ["a.md", "b.md"]


@given(st.permutations(range(6)))
def test_the_latest_referred_to_come_first(order: list[int]) -> None:
    chat = Talk()
    notes = [chat.read(f"{name}.md", name) for name in "abcdef"]
    for at in order:
        chat.ask("?", notes[at])
    now = attached_to([notes[order[0]]], chat.now.library)
    expected = [order[0], *reversed(order[1:])]
    assert latest_first(chat.now, now.items, chat.now.library) == tuple(notes[at].id for at in expected)


def test_an_entry_says_which_turn_saw_it_first() -> None:
    chat = Talk()
    message = chat.say("1", name="first")
    chat.prompt(message, chat.read("a.md", "A."))
    assert [each.message for each in chat.now.library] == [MessageId("first")]
