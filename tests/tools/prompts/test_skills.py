"""Skills: their bodies stay in the user's message of their turn, in the same bytes, and nowhere else."""

from typing import Any

import pytest
from support import conversation as w

from workspaced_tools.limits import ATTACHED_CHARS_MAX

BODY = "Knead it.\n</skill> Then wait."
BLOCK = (
    "<skill-ed10055c>\n<title>Baking</title>\n<source>baking</source>\n<content-ed10055c>\n"
    f"{BODY}\n</content-ed10055c>\n</skill-ed10055c>"
)


def said(made: Any) -> dict[str | None, str]:
    return {each.id: w.text_of(each) for each in made.envelope.messages}


def test_a_skill_stands_before_the_words_of_its_turn_ever_after(chat: Any) -> None:
    first = chat.turn("How do I bake?", chat.given("skill", "baking", BODY, "Baking"), "a.md")
    assert BLOCK in said(first)["m1"]
    for _ in range(3):
        later = chat.turn("And now?")
        assert said(later)["m1"] == said(first)["m1"]
        assert w.whole(later).count(BLOCK) == 1
        assert "Knead" not in w.system(later)
    assert said(first)["m1"].endswith("[User query]:\n\nHow do I bake?") and chat.now.library == ()


def test_several_skills_keep_their_order_and_each_is_there_once(chat: Any) -> None:
    chat.turn("How?", *(chat.given("skill", name, f"Body of {name}.") for name in ("b", "a", "b")))
    text = said(chat.turn("And now?"))["m1"]
    assert [line for line in text.splitlines() if line.startswith("Body")] == ["Body of b.", "Body of a."]


@pytest.mark.parametrize("how", ["not given", "too long", "another text under its id"])
def test_what_could_not_be_read_is_said_to_be_unavailable(chat: Any, how: str) -> None:
    skill = chat.given("skill", "baking", "x" * (ATTACHED_CHARS_MAX + 1) if how == "too long" else BODY, "Baking")
    given = [skill]
    if how == "not given":
        given = [w.c.Attachment("skill", "baking", None, "Baking")]
    if how == "another text under its id":
        given.append(chat.given("skill", "baking", "Another text.", "Baking"))
    first = chat.turn("How?", *given)
    assert "[Attachment unavailable: Baking]" in said(first)["m1"]
    failed = [each for each in w.entries(first, "baking") if each.state == "failed"]
    assert len(failed) == 1 and failed[0].detail
    later = chat.turn("And now?")
    assert said(later)["m1"] == said(first)["m1"]
    assert "Another text." not in w.whole(later)


def test_a_compression_says_so_of_its_last_turn_too(chat: Any) -> None:
    skill = chat.given("skill", "baking", BODY, "Baking")
    chat.turn("How?", skill)
    del chat.world.blobs[skill.text_sha256]
    made = chat.prompt(pipeline="compression")
    assert said(made)["m1"] == "[Attachment unavailable: Baking]\n\nHow?"
