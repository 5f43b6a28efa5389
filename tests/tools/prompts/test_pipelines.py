"""Pipelines beside the chat: what a compression sums up, and that none disturbs another."""

from collections.abc import Callable
from typing import Any

import pytest
from support import conversation as w

from workspaced_tools.errors import ArgumentInvalid

MakeChat = Callable[..., Any]


def states(made: Any, name: str) -> list[tuple[str, str, str]]:
    return [(each.layer, each.state, each.why) for each in w.entries(made, name)]


# -- compression --


def test_it_goes_up_to_what_a_summary_up_to_its_message_stands_for(chat: Any) -> None:
    chat.turn("First.")
    chat.say("Second.")
    call = chat.answer(None, "call-1")
    chat.results(("call-1", "found"))
    chat.answer("Done.")
    chat.say("Third.")
    amid = chat.prompt(call, pipeline="compression")
    assert [each.id for each in w.spoken(amid)] == ["m1", "m2", None]
    for name in ("m3", "m4"):
        assert states(amid, name) == [("L4_STRIP", "dropped", "pipeline")]
    whole = chat.prompt("m6", pipeline="compression")
    assert [each.id for each in w.spoken(whole)] == ["m1", "m2", "m3", "m4", "m5", "m6", None]
    chat.summarise("Both.", call)
    assert [each.id for each in w.spoken(chat.prompt())] == [None, "m3", "m4", "m5", "m6", "m7"]


@pytest.mark.parametrize("message", ["m1", "m2"])
def test_nothing_can_be_summed_up_before_a_turn_is_whole(chat: Any, message: str) -> None:
    chat.say("First.")
    chat.answer(None, "call-1")
    chat.results(("call-1", "found"))
    with pytest.raises(ArgumentInvalid):
        chat.prompt(message, pipeline="compression")


def test_a_skill_stays_before_the_words_of_its_turn_and_where_its_text_is_gone_it_says_so(chat: Any) -> None:
    skill = chat.given("skill", "baking", "Knead it.", "Baking")
    first = chat.turn("How?", skill, "a.md")
    assert "Knead it." in w.user(first) and w.user(first) in w.whole(chat.turn("And now?"))
    summed_up = chat.prompt("m4", pipeline="compression")
    assert w.text_of(w.spoken(summed_up)[0]).endswith("\n\nHow?") and "Knead it." in w.whole(summed_up)
    assert "Knead" not in w.system(summed_up) and "# Alpha" not in w.whole(summed_up)
    del chat.world.blobs[skill.text_sha256]
    summed_up = chat.prompt("m4", pipeline="compression")
    assert w.text_of(w.spoken(summed_up)[0]) == "[Attachment unavailable: Baking]\n\nHow?"
    assert [each.state for each in w.entries(summed_up, "baking")] == ["failed"]
