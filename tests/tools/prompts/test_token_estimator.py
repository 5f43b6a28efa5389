"""About how many tokens something is to one model."""

from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workspaced_tools.prompts.model.token_estimate import (
    IMAGE_TOKENS,
    Estimator,
    block_seed,
    estimate_definitions_tokens,
    estimate_tokens,
    message_seed,
)
from workspaced_tools.prompts.model.types import Block, ChatMessage

factors = st.floats(0.5, 3.0)


@given(factors)
def test_an_empty_text_is_no_tokens_and_any_other_at_least_one(factor: float) -> None:
    assert Estimator(factor).tokens("") == 0
    assert Estimator(factor).tokens("x") >= 1


@given(factors, st.text(), st.text())
def test_more_text_is_never_fewer_tokens(factor: float, one: str, two: str) -> None:
    estimator = Estimator(factor)
    assert estimator.tokens(one) <= estimator.tokens(one + two)


@pytest.mark.parametrize(("factor", "tokens"), [(0.5, 500), (1.0, 1_000), (1.25, 1_250), (3.0, 3_000)])
def test_the_factor_scales_the_seed(factor: float, tokens: int) -> None:
    assert estimate_tokens("four" * 1_000) == 1_000
    assert Estimator(factor).tokens("four" * 1_000) == tokens


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
    assert block_seed(Block("toolResult", text)) == ceil(len(text) / chars_per_token)
    assert block_seed(Block("text", text)) == ceil(len(text) / 4)
    assert estimate_definitions_tokens(text) == ceil(len(text) / 3.3)


def test_a_message_is_all_that_its_blocks_say() -> None:
    blocks = (
        Block("text", "four" * 10),
        Block("toolCall", "four" * 20, "id", "find"),
        Block("image", blob="0" * 64),
        Block("toolResult", "", "id", "find"),
    )
    message = ChatMessage("user", blocks)
    assert message_seed(message) == 10 + ceil(80 / 2.25) + 1 + IMAGE_TOKENS + 1
    assert Estimator(2.0).message_tokens(message) == 2 * message_seed(message)
