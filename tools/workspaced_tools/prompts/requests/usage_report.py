"""Reads a provider's usage report into three numbers with the same meaning for all providers.

OpenAI and Gemini include cached tokens in the input's, Anthropic does not. Here the input includes them.
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import regex

from ...errors import ArgumentInvalid
from ...limits import CONTEXT_TOKENS_MAX

FAMILIES: Final = ("openai", "anthropic", "gemini")
FAMILY_OF_SHAPE: Final = {**{name: name for name in FAMILIES}, "responses": "openai"}
"""The family of each shape that is built in. OpenAI has two."""
_WORDS: Final = (
    ("anthropic", frozenset({"anthropic", "claude"})),
    ("openai", frozenset({"openai", "azure"})),
    ("gemini", frozenset({"gemini", "google"})),
)
"""Words in a provider's name by family. The first match counts, since other providers host Anthropic's models."""
_SHOWN_CHARS_MAX: Final = 60


class Counted(NamedTuple):
    """Tokens of one request."""

    input_tokens: int
    """All tokens read, cached ones included."""
    cached_tokens: int
    """The input tokens served from a cache."""
    output_tokens: int
    """All tokens written, thinking included."""


def family_of(provider: str) -> str | None:
    """The family of a provider by its name, which decides the form of its reports; None: not known."""
    words = set(regex.split(r"[^a-z0-9]+", provider.casefold()))
    return next((family for family, names in _WORDS if words & names), None)


def counted(report: Mapping[str, Any], family: str) -> Counted:
    """Reads the `usage` (Gemini: `usageMetadata`) of a provider's answer.

    Unknown fields are ignored, and null means absent. Tokens read by Gemini's own tools do not count, since they
    were in no prompt.

    Raises:
        ArgumentInvalid: a count is missing, invalid or above CONTEXT_TOKENS_MAX, more is cached than was read, or
            the family is not known.
    """
    read = _READERS.get(family)
    if read is None:
        raise ArgumentInvalid(
            f"No reports of the family {family[:_SHOWN_CHARS_MAX]!r} are known.",
            hint=f"Known are: {', '.join(FAMILIES)}. Or report inputTokens, cachedTokens and outputTokens.",
        )
    return read(_Report(report, family))


class _Report:
    """A report, read field by field."""

    def __init__(self, fields: Mapping[str, Any], family: str, path: str = "") -> None:
        self._fields, self._family, self._path = fields, family, path

    def has(self, name: str) -> bool:
        return self._fields.get(name) is not None

    def part(self, name: str) -> "_Report":
        """The object in field `name`; an empty one if the field is absent."""
        found = self._fields.get(name)
        if found is not None and not isinstance(found, Mapping):
            raise self._wrong(name, "an object", found)
        return _Report(found or {}, self._family, f"{self._path}{name}.")

    def count(self, name: str, *others: str, default: int | None = None) -> int:
        """The number in the first present field, or `default`."""
        name = next((each for each in (name, *others) if self.has(each)), name)
        found = self._fields.get(name, default)
        found = default if found is None else found
        if isinstance(found, bool) or not isinstance(found, int) or not 0 <= found <= CONTEXT_TOKENS_MAX:
            raise self._wrong(name, f"a number of tokens, at most {CONTEXT_TOKENS_MAX},", found)
        return found

    def _wrong(self, name: str, expected: str, found: Any) -> ArgumentInvalid:
        got = "nothing" if found is None else repr(found)[:_SHOWN_CHARS_MAX]
        return ArgumentInvalid(
            f"Expected {expected} as `{self._path}{name}` of a report of {self._family}, got {got}.",
            hint="Give the usage of the provider's answer as it came.",
        )

    def counted(self, read: int, cached: int, cached_name: str, written: int) -> Counted:
        if cached > read:
            raise self._wrong(cached_name, f"at most the {read} tokens that were read", cached)
        return Counted(read, cached, written)


def _openai(report: _Report) -> Counted:
    """Reads a report of chat completions or of responses."""
    if not report.has("prompt_tokens") and report.has("input_tokens"):
        names = ("input_tokens", "input_tokens_details", "output_tokens")
    else:
        names = ("prompt_tokens", "prompt_tokens_details", "completion_tokens")
    read, details, written = names
    cached = report.part(details).count("cached_tokens", default=0)
    return report.counted(report.count(read), cached, f"{details}.cached_tokens", report.count(written))


def _anthropic(report: _Report) -> Counted:
    cached = report.count("cache_read_input_tokens", default=0)
    read = report.count("input_tokens") + report.count("cache_creation_input_tokens", default=0) + cached
    return Counted(read, cached, report.count("output_tokens"))


def _gemini(report: _Report) -> Counted:
    read = report.count("promptTokenCount", "prompt_token_count")
    cached = report.count("cachedContentTokenCount", "cached_content_token_count", default=0)
    answered = report.count("candidatesTokenCount", "candidates_token_count", default=0)
    thought = report.count("thoughtsTokenCount", "thoughts_token_count", default=0)
    return report.counted(read, cached, "cachedContentTokenCount", answered + thought)


_READERS: Final = {"openai": _openai, "anthropic": _anthropic, "gemini": _gemini}
