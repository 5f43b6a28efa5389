"""Skills: their bodies stay in the user's message of their turn, in the same bytes, and nowhere else."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support import conversation as w
from support import past_world

from workspaced_tools.limits import ATTACHED_CHARS_MAX
from workspaced_tools.prompts.model.types import Policy

BODY = "Knead it.\n</skill> Then wait."
BLOCK = (
    "<skill-ed10055c>\n<title>Baking</title>\n<source>baking</source>\n<content-ed10055c>\n"
    f"{BODY}\n</content-ed10055c>\n</skill-ed10055c>"
)


@pytest.fixture
def chat(tmp_path: Path) -> Iterator[Any]:
    world = past_world.World(tmp_path / "vault", {"a.md": "# Alpha\n"})
    yield w.NotesTalk(world)
    world.close()


def said(made: Any) -> dict[str | None, str]:
    return {each.id: w.text_of(each) for each in made.envelope.messages}


def test_a_skill_stands_before_the_words_of_its_turn_ever_after(chat: Any) -> None:
    first = chat.turn("How do I bake?", chat.given("skill", "baking", BODY, "Baking"), "a.md")
    assert BLOCK in said(first)["m1"]
    for _ in range(3):
        later = chat.turn("And now?")
        assert said(later)["m1"] == f"{BLOCK}\n\nHow do I bake?"
        assert w.whole(later).count(BLOCK) == 1
        assert "Knead" not in w.system(later)
    assert [entry.id for entry in chat.now.library] == ["a.md"]


def test_it_is_counted_with_its_message_and_has_no_record_of_its_own(chat: Any) -> None:
    chat.turn("How?", chat.given("skill", "baking", "word " * 1_000))
    made = chat.turn("And now?")
    [entry] = w.entries(made, "m1")
    assert entry.tokens > 1_000 and w.entries(made, "baking") == []


def test_several_skills_keep_their_order_and_each_is_there_once(chat: Any) -> None:
    chat.turn("How?", *(chat.given("skill", name, f"Body of {name}.") for name in ("b", "a", "b")))
    text = said(chat.turn("And now?"))["m1"]
    assert [line for line in text.splitlines() if line.startswith("Body")] == ["Body of b.", "Body of a."]


def test_a_message_of_nothing_but_a_skill_is_a_message(chat: Any) -> None:
    chat.turn("", chat.given("skill", "baking", BODY, "Baking"))
    assert said(chat.turn("And now?"))["m1"] == BLOCK


@pytest.mark.parametrize("how", ["forgotten", "not given", "too long", "another text under its id"])
def test_what_could_not_be_read_is_said_to_be_unavailable(chat: Any, how: str) -> None:
    skill = chat.given("skill", "baking", "x" * (ATTACHED_CHARS_MAX + 1) if how == "too long" else BODY, "Baking")
    given = [skill]
    if how == "not given":
        given = [w.c.Attachment("skill", "baking", None, "Baking")]
    if how == "another text under its id":
        given.append(chat.given("skill", "baking", "Another text.", "Baking"))
    first = chat.turn("How?", *given)
    if how == "forgotten":
        del chat.world.blobs[skill.text_sha256]
        assert chat.acquired(pipeline="chat", message=chat.say("x")).lost == (skill.text_sha256,)
    else:
        assert "[Attachment unavailable: Baking]" in said(first)["m1"]
    later = chat.turn("And now?")
    assert said(later)["m1"].endswith("[Attachment unavailable: Baking]\n\nHow?")
    [failed] = [entry for entry in w.entries(later, "baking") if entry.layer == "L4_STRIP"]
    assert (failed.state, failed.why, failed.tokens) == ("failed", "history", 0) and failed.detail
    assert "Another text." not in w.whole(later)


def test_what_is_forgotten_while_a_turn_goes_on_is_unavailable_too(chat: Any) -> None:
    skill = chat.given("skill", "baking", BODY, "Baking")
    chat.turn("How?", skill)
    chat.say("And now?")
    chat.prompt()
    del chat.world.blobs[skill.text_sha256]
    chat.answer(None, "call-1")
    chat.results(("call-1", "found"))
    assert said(chat.prompt())["m1"] == "[Attachment unavailable: Baking]\n\nHow?"


def test_a_compression_says_so_of_its_last_turn_too(chat: Any) -> None:
    skill = chat.given("skill", "baking", BODY, "Baking")
    chat.turn("How?", skill)
    del chat.world.blobs[skill.text_sha256]
    made = chat.prompt(pipeline="compression")
    assert said(made)["m1"] == "[Attachment unavailable: Baking]\n\nHow?"


def test_prompts_of_before_had_no_skills_in_their_history(chat: Any) -> None:
    chat.turn("How?", chat.given("skill", "baking", BODY))
    chat.say("And now?")
    turn = w.msgspec.structs.replace(chat.acquired(), policy=Policy())
    assert said(w.assemble(chat.now, turn, chat.texts))["m1"] == "How?"


def test_a_skill_goes_with_its_round_where_room_is_short(chat: Any) -> None:
    chat.start(window=4_000, reserve=0)
    chat.turn("How?", chat.given("skill", "baking", "Knead and wait. " * 800))
    for number in range(4):
        chat.turn(f"And {number}?")
    made = chat.turn("Why? " * 1_000)
    assert [entry.state for entry in w.entries(made, "m1")] == ["dropped"]
    assert "Knead" not in w.whole(made) and made.envelope.estimate <= 4_000
