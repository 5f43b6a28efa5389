"""Layers: their texts and hashes, and what of them stays from prompt to prompt."""

import pytest
from support.conversation import Talk

from workspaced_tools.prompts.assembly.layers import message_text
from workspaced_tools.prompts.model.types import Block, ChatMessage


def cached(envelope: object) -> set[str]:
    return {each.id for each in envelope.manifest.entries if each.cached and each.kind != "frame"}


def stable(envelope: object) -> set[str]:
    return {each.id[:2] for each in envelope.layers if each.stable}


def test_what_goes_on_with_a_turn_repeats_it_and_all_of_that_is_served() -> None:
    chat = Talk()
    chat.ask("1", chat.read("a.md", "A."))
    asked = chat.say("2")
    chat.prompt(asked, chat.read("a.md", "A."), provided=(chat.provided("p", "Pinned."),))
    chat.answer("", "call1")
    second = chat.go_on(chat.results("call1"), asked)
    assert stable(second) == {"L1", "L2", "L3", "L4", "L5"}
    assert cached(second) == {"system", "a.md", "p", "m1", "m2", "m3"}
    chat.answer("", "call2")
    third = chat.go_on(chat.results("call2"), asked)
    assert cached(third) == cached(second) | {"m4", "m5"}


@pytest.mark.parametrize(
    "other",
    [
        ChatMessage("assistant", (Block("text", "a"),)),
        ChatMessage("user", (Block("text", "b"),)),
        ChatMessage("user", (Block("toolResult", "a", "1", "look"),)),
        ChatMessage("user", (Block("toolResult", "a", "1", "look", is_error=True),)),
        ChatMessage("user", (Block("toolResult", "a", "2", "look"),)),
        ChatMessage("assistant", (Block("toolCall", "a", "1", "look"),)),
        ChatMessage("assistant", (Block("thinking", "a", signature="s"),)),
        ChatMessage("assistant", (Block("thinking", "a", signature="t"),)),
        ChatMessage("user", (Block("image", blob="1", media_type="image/png"),)),
        ChatMessage("user", (Block("image", blob="2", media_type="image/png"),)),
        ChatMessage("user", (Block("image", blob="2", media_type="image/gif"),)),
    ],
)
def test_all_that_is_sent_of_a_message_is_in_its_layers_text(other: ChatMessage) -> None:
    texts = {message_text(ChatMessage("user", (Block("text", "a"),))), message_text(other)}
    assert len(texts) == 2
