"""What providers counted, read into numbers that mean the same for all of them."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workspaced_tools.errors import ArgumentInvalid
from workspaced_tools.prompts.providers.known import SHAPES, counted, provider_named
from workspaced_tools.prompts.providers.provider import Counted

CHAT = {"prompt_tokens": 1000, "completion_tokens": 50, "prompt_tokens_details": {"cached_tokens": 800}}
RESPONSES = {"input_tokens": 1000, "output_tokens": 50, "input_tokens_details": {"cached_tokens": 800}}
CLAUDE = {
    "input_tokens": 50,
    "cache_creation_input_tokens": 150,
    "cache_read_input_tokens": 800,
    "output_tokens": 50,
}
GEMINI = {
    "promptTokenCount": 1000,
    "cachedContentTokenCount": 800,
    "candidatesTokenCount": 20,
    "thoughtsTokenCount": 30,
}
SNAKE = {
    "prompt_token_count": 1000,
    "cached_content_token_count": 800,
    "candidates_token_count": 20,
    "thoughts_token_count": 30,
}
REPORTS = [
    ("openai", CHAT),
    ("openai", RESPONSES),
    ("anthropic", CLAUDE),
    ("gemini", GEMINI),
    ("gemini", SNAKE),
]


@pytest.mark.parametrize(("family", "report"), REPORTS)
def test_each_provider_s_report_gives_the_same_numbers(family: str, report: dict[str, Any]) -> None:
    assert counted(report, family) == Counted(1000, 800, 50)
    assert counted({**report, "service_tier": "x", "total_tokens": -1}, family) == Counted(1000, 800, 50)


@pytest.mark.parametrize(
    ("family", "report", "output"),
    [
        ("openai", {"prompt_tokens": 7, "completion_tokens": 2, "prompt_tokens_details": None}, 2),
        (
            "openai",
            {"prompt_tokens": 7, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": None}},
            2,
        ),
        ("openai", {"prompt_tokens": None, "input_tokens": 7, "output_tokens": 2}, 2),
        ("anthropic", {"input_tokens": 7, "cache_read_input_tokens": None, "output_tokens": 2}, 2),
        ("gemini", {"promptTokenCount": 7, "candidatesTokenCount": None}, 0),
    ],
)
def test_null_is_the_same_as_absent(family: str, report: dict[str, Any], output: int) -> None:
    assert counted(report, family) == Counted(7, 0, output)


@pytest.mark.parametrize(
    ("family", "report", "field"),
    [
        ("openai", {}, "prompt_tokens"),
        ("openai", {"prompt_tokens": 7}, "completion_tokens"),
        ("openai", {"input_tokens": 7}, "output_tokens"),
        ("openai", {**CHAT, "prompt_tokens": True}, "prompt_tokens"),
        ("openai", {**CHAT, "prompt_tokens": -1}, "prompt_tokens"),
        ("openai", {**CHAT, "prompt_tokens": 1.0}, "prompt_tokens"),
        ("openai", {**CHAT, "prompt_tokens": "1"}, "prompt_tokens"),
        ("openai", {**CHAT, "prompt_tokens": 10**30}, "prompt_tokens"),
        ("openai", {**CHAT, "prompt_tokens": 799}, "prompt_tokens_details.cached_tokens"),
        ("openai", {**CHAT, "prompt_tokens_details": 3}, "prompt_tokens_details"),
        (
            "openai",
            {**CHAT, "prompt_tokens_details": {"cached_tokens": -3}},
            "prompt_tokens_details.cached_tokens",
        ),
        ("openai", {**RESPONSES, "input_tokens": 1}, "input_tokens_details.cached_tokens"),
        ("anthropic", {}, "input_tokens"),
        ("anthropic", {"input_tokens": 1}, "output_tokens"),
        ("anthropic", {**CLAUDE, "cache_creation_input_tokens": -1}, "cache_creation_input_tokens"),
        ("anthropic", {**CLAUDE, "cache_read_input_tokens": False}, "cache_read_input_tokens"),
        ("gemini", {}, "promptTokenCount"),
        ("gemini", {**GEMINI, "promptTokenCount": 3}, "cachedContentTokenCount"),
        ("gemini", {**SNAKE, "thoughts_token_count": "many"}, "thoughts_token_count"),
    ],
)
def test_a_wrong_count_is_an_error_that_names_field_and_family(
    family: str, report: dict[str, Any], field: str
) -> None:
    with pytest.raises(ArgumentInvalid) as error:
        counted(report, family)
    assert f"`{field}`" in error.value.message and family in error.value.message


def test_a_family_that_is_not_known_is_an_error() -> None:
    with pytest.raises(ArgumentInvalid):
        counted(CHAT, "someone")


tokens = st.integers(0, 10**9)


@given(written=tokens, cached=tokens, apart=tokens)
def test_cached_tokens_are_among_all_that_was_read_and_counted_once(written: int, cached: int, apart: int) -> None:
    """The same request, as each provider reports it: `apart` was read anew, `cached` was not."""
    whole = apart + cached
    reports: dict[str, dict[str, Any]] = {
        "openai": {
            "prompt_tokens": whole,
            "completion_tokens": written,
            "prompt_tokens_details": {"cached_tokens": cached},
        },
        "anthropic": {
            "input_tokens": apart // 2,
            "cache_creation_input_tokens": apart - apart // 2,
            "cache_read_input_tokens": cached,
            "output_tokens": written,
        },
        "gemini": {
            "promptTokenCount": whole,
            "cachedContentTokenCount": cached,
            "candidatesTokenCount": written,
        },
    }
    assert {counted(reports[family], family) for family in reports} == {Counted(whole, cached, written)}


@pytest.mark.parametrize(
    ("provider", "family"),
    [
        ("openai", "openai"),
        ("OpenAI", "openai"),
        ("azure", "openai"),
        ("anthropic", "anthropic"),
        ("google", "gemini"),
        ("Google-Vertex", "gemini"),
        ("gemini", "gemini"),
        ("google-vertex-anthropic", "anthropic"),
        ("someone", None),
        ("openaix", None),
        ("", None),
    ],
)
def test_a_provider_s_name_tells_its_family(provider: str, family: str | None) -> None:
    assert provider_named(provider) == SHAPES.get(family or "")
