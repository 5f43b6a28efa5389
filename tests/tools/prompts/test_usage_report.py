"""What providers counted, read into numbers that mean the same for all of them."""

from typing import Any

import pytest

from workspaced_tools.errors import ArgumentInvalid
from workspaced_tools.prompts.providers.known import counted
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
    ("openai", {**CHAT, "input_tokens": 7}),
    ("openai", {**RESPONSES, "prompt_tokens": None}),
    ("gemini", {**GEMINI, "candidatesTokenCount": 50, "thoughtsTokenCount": None}),
]


@pytest.mark.parametrize(("family", "report"), REPORTS)
def test_each_provider_s_report_gives_the_same_numbers(family: str, report: dict[str, Any]) -> None:
    assert counted(report, family) == Counted(1000, 800, 50)
    assert counted({**report, "service_tier": "x", "total_tokens": -1}, family) == Counted(1000, 800, 50)


@pytest.mark.parametrize(
    ("family", "report", "field"),
    [
        ("openai", {}, "prompt_tokens"),
        ("openai", {"prompt_tokens": 7}, "completion_tokens"),
        ("openai", {"input_tokens": 7}, "output_tokens"),
        ("openai", {**CHAT, "prompt_tokens": True}, "prompt_tokens"),
        ("openai", {**CHAT, "prompt_tokens": -1}, "prompt_tokens"),
        ("openai", {**CHAT, "prompt_tokens": 10**30}, "prompt_tokens"),
        ("openai", {**CHAT, "prompt_tokens": 799}, "prompt_tokens_details.cached_tokens"),
        ("openai", {**CHAT, "prompt_tokens_details": 3}, "prompt_tokens_details"),
        (
            "openai",
            {**CHAT, "prompt_tokens_details": {"cached_tokens": -3}},
            "prompt_tokens_details.cached_tokens",
        ),
        ("anthropic", {}, "input_tokens"),
        ("anthropic", {"input_tokens": 1}, "output_tokens"),
        ("anthropic", {**CLAUDE, "cache_creation_input_tokens": -1}, "cache_creation_input_tokens"),
        ("anthropic", {**CLAUDE, "cache_read_input_tokens": False}, "cache_read_input_tokens"),
        ("gemini", {**GEMINI, "promptTokenCount": 3}, "cachedContentTokenCount"),
        ("gemini", {**SNAKE, "thoughts_token_count": "many"}, "thoughts_token_count"),
    ],
)
def test_a_wrong_count_names_field_and_family(family: str, report: dict[str, Any], field: str) -> None:
    with pytest.raises(ArgumentInvalid) as error:
        counted(report, family)
    assert f"`{field}`" in error.value.message and family in error.value.message


def test_a_family_that_is_not_known_is_an_error() -> None:
    with pytest.raises(ArgumentInvalid):
        counted(CHAT, "someone")
