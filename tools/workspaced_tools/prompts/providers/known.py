"""The providers whose requests and reports are known, by shape and by name."""

from collections.abc import Mapping
from typing import Any, Final

import regex

from ...errors import ArgumentInvalid
from ...limits import CONTEXT_TOKENS_MAX, ECHO_CHARS_MAX
from .anthropic import ANTHROPIC
from .gemini import GEMINI
from .openai import OPENAI, RESPONSES
from .provider import Counted, Provider, UsageReport

SHAPES: Final[dict[str, Provider]] = {
    "openai": OPENAI,
    "anthropic": ANTHROPIC,
    "gemini": GEMINI,
    "responses": RESPONSES,
}
_BY_WORDS: Final = (ANTHROPIC, OPENAI, GEMINI)
"""The first match counts, since other providers host Anthropic's models."""


def provider_named(name: str) -> Provider | None:
    """The provider of that name, which decides the form of its reports; None: not known."""
    words = set(regex.split(r"[^a-z0-9]+", name.casefold()))
    return next((each for each in _BY_WORDS if words & each.words), None)


def counted(report: Mapping[str, Any], shape: str) -> Counted:
    """Reads the `usage` (Gemini: `usageMetadata`) of a provider's answer.

    Unknown fields are ignored, and null means absent.

    Raises:
        ArgumentInvalid: a count is missing, invalid or above CONTEXT_TOKENS_MAX, more is cached than was read, or
            the shape is not known.
    """
    provider = SHAPES.get(shape)
    if provider is None or provider.usage is None:
        raise ArgumentInvalid(
            f"No reports of {shape[:ECHO_CHARS_MAX]!r} are known.", hint=f"Known are: {', '.join(SHAPES)}."
        )
    found = provider.usage(UsageReport(report, provider.family or ""))
    if found.input_tokens > CONTEXT_TOKENS_MAX:
        raise ArgumentInvalid(
            f"Expected a report of at most {CONTEXT_TOKENS_MAX} tokens, got {found.input_tokens}.",
            hint="Give the usage of the provider's answer as it came.",
        )
    return found
