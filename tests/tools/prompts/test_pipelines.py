"""Pipelines beside the chat: what a compression sums up, and that none disturbs another."""

from collections.abc import Callable
from typing import Any

import pytest
from support import conversation as w

from workspaced_tools.errors import ArgumentInvalid
from workspaced_tools.prompts.audit.cache_accounting import account

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


def test_a_compression_in_between_costs_a_chat_neither_cache_nor_a_warning(make_chat: MakeChat) -> None:
    chat = make_chat(promotion="each_turn")
    chat.turn("First.", "a.md")
    chat.turn("Second.", "b.md")
    before = chat.prompt("m3")
    chat.say("Third.", "a.md")
    chat.prompt("m4", pipeline="compression")
    made = chat.prompt()
    assert w.system(made).startswith(w.system(before))
    assert made.envelope.layers[0].stable and made.envelope.layers[1].stable and made.envelope.layers[3].stable
    assert [each.cached for each in w.entries(made, "a.md") if each.layer == "L2_PREVIOUS"] == [True]
    assert made.envelope.manifest.warnings == ()
    told = account(chat.now)
    assert [each.pipeline for each in told] == ["chat", "chat", "chat", "compression", "chat"]
    assert [each.cause for each in told[-2:]] == ["first prompt", "folded: each_turn"]
    assert told[-1].expected > 0
