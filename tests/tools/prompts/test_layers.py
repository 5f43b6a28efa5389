"""Layers: their texts and hashes, and what of them stays from prompt to prompt."""

import pytest

from workspaced_tools.prompts.assembly.layers import message_text
from workspaced_tools.prompts.model.types import Block, ChatMessage


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
