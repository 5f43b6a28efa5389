"""About how many tokens something is to one model."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workspaced_tools.prompts.model.token_estimate import IMAGE_TOKENS, Estimator, estimate_tokens, message_seed
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


@given(st.text(st.characters(max_codepoint=0x7F)))
def test_a_character_of_cjk_counts_for_more_than_one_of_ascii(text: str) -> None:
    assert estimate_tokens("漢" * len(text)) >= estimate_tokens(text)


def test_a_message_is_all_that_its_blocks_say() -> None:
    blocks = (
        Block("text", "four" * 10),
        Block("toolCall", "four" * 20, "id", "find"),
        Block("image", blob="0" * 64),
        Block("toolResult", "", "id", "find"),
    )
    message = ChatMessage("user", blocks)
    assert message_seed(message) == 10 + 20 + 1 + IMAGE_TOKENS + 1
    assert Estimator(2.0).message_tokens(message) == 2 * message_seed(message)
