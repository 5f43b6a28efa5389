"""About how many tokens something is to one model."""

from math import ceil

import pytest

from workspaced_tools.prompts.model import token_estimate as estimate
from workspaced_tools.prompts.model.types import Block, ChatMessage


@pytest.mark.parametrize(
    ("text", "chars_per_token"),
    [
        ('{"a":1}' * 9, 2.25),
        ("[\n  1,\n  2]" * 9, 2.25),
        ("[Image unavailable: 1]" * 9, 4),
        ("Four words of it. " * 8, 4),
    ],
)
def test_a_result_is_estimated_as_the_kind_of_text_that_it_is(text: str, chars_per_token: float) -> None:
    assert estimate.block_seed(Block("toolResult", text)) == ceil(len(text) / chars_per_token)
    assert estimate.block_seed(Block("text", text)) == ceil(len(text) / 4)
    assert estimate.estimate_definitions_tokens(text) == ceil(len(text) / 3.3)


def test_a_message_is_all_that_its_blocks_say() -> None:
    blocks = (
        Block("text", "four" * 10),
        Block("toolCall", "four" * 20, "id", "find"),
        Block("image", blob="0" * 64),
        Block("toolResult", "", "id", "find"),
    )
    message = ChatMessage("user", blocks)
    assert estimate.message_seed(message) == 10 + ceil(80 / 2.25) + 1 + estimate.IMAGE_TOKENS + 1
    assert estimate.Estimator(2.0).message_tokens(message) == 2 * estimate.message_seed(message)
