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


def test_it_has_the_words_of_its_turns_and_nothing_that_they_attached(chat: Any) -> None:
    chat.turn("How?", "a.md")
    assert w.text_of(w.spoken(chat.prompt("m2", pipeline="compression"))[0]) == "How?"
