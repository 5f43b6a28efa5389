"""Layers: their texts and hashes, and what of them stays from prompt to prompt."""

import hashlib

import pytest
from support.conversation import Talk

from workspaced_tools.ports.manifest import LAYERS
from workspaced_tools.prompts.assembly.layers import message_text
from workspaced_tools.prompts.model.types import Block, ChatMessage, Policy


def cached(envelope: object) -> set[str]:
    return {each.id for each in envelope.manifest.entries if each.cached and each.kind != "frame"}


def stable(envelope: object) -> set[str]:
    return {each.id[:2] for each in envelope.layers if each.stable}


def test_there_are_always_all_five() -> None:
    chat = Talk(system="")
    envelope = chat.prompt(chat.say(""))
    assert [each.id for each in envelope.layers] == list(LAYERS)
    assert {each.text for each in envelope.layers} == {""}
    assert {each.hash for each in envelope.layers} == {hashlib.sha256(b"").hexdigest()}
    assert envelope.combined_hash == hashlib.sha256(b"").hexdigest()
    assert envelope.messages == () and envelope.cache_hints == ()


def test_a_library_that_grows_is_stable_and_served_up_to_where_it_ended() -> None:
    chat = Talk()
    chat.policy = Policy(each_turn=True)
    chat.ask("1", chat.read("a.md", "A."))
    chat.ask("2", chat.read("b.md", "B."))
    third = chat.ask("3", chat.read("b.md", "B."))
    assert {"L1", "L2"} <= stable(third)
    assert cached(third) == {"system", "a.md"}


def test_a_first_layer_that_changed_leaves_nothing_to_be_served() -> None:
    chat = Talk()
    chat.ask("1", chat.read("a.md", "A."))
    chat.ask("2")
    chat.start(system="You help more.")
    third = chat.ask("3")
    assert "L1" not in stable(third) and cached(third) == set()


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


def test_another_context_for_the_same_message_is_not_served() -> None:
    chat = Talk()
    asked = chat.say("1")
    chat.prompt(asked, chat.read("a.md", "A."))
    again = chat.prompt(asked, chat.read("a.md", "A, edited."))
    assert "L3" not in stable(again) and cached(again) == {"system"}


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
