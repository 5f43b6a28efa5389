"""Estimates how many tokens a text or a prompt's part has, for comparisons; it does not count.

Tokenizers differ and are not public for every model. Common ones need about one token for four characters of
English, one for each character of Chinese, Japanese or Korean, and as measured with tekken: for 2.25 characters of
JSON such as answers of tools (`make bench ONLY=answers`; arguments of calls 1.9), and for 3.3 of definitions of
tools, whose words are ever the same (3.0 to 3.9). For a prompt's model such a seed, which is the same for every
model and every time, is multiplied by the factor that the provider's own counts gave (Calibration). The log
records each prompt's estimate, so no reader has to repeat it.
"""

import re
from functools import lru_cache
from math import ceil
from typing import Final

from .types import Block, ChatMessage

CHARS_PER_TOKEN: Final = 4
CHARS_PER_JSON_TOKEN: Final = 2.25
_CHARS_PER_DEFINITION_TOKEN: Final = 3.3
IMAGE_TOKENS: Final = 1_600
"""Per image of any size: providers scale large images down to about as many."""
_REMEMBERED_CHARS: Final = 2_000
"""The estimate of a longer text is made each time."""
_WIDE: Final = re.compile(
    "[\u1100-\u11ff\u2e80-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\ufe30-\ufe4f\uff00-\uffef"
    "\U0001b000-\U0001b2ff\U00020000-\U0003ffff]"
)
"""Characters of Hangul, kana, Han, and the forms that go with them."""
_PROSE: Final = re.compile(r'"(?:[^"\\]|\\.){200,}+"')
"""A text in JSON, such as a note's."""
_JSON_BEGINS: Final = ("{", "[{", '["', "[\n")


def estimate_tokens(text: str) -> int:
    """Estimated tokens of `text`: one per CJK character, one per four others, rounded up."""
    return _remembered(text) if len(text) <= _REMEMBERED_CHARS else _estimated(text)


def _estimated(text: str) -> int:
    wide = 0 if text.isascii() else len(text) - len(_WIDE.sub("", text))
    return wide + estimate_tokens_of_chars(len(text) - wide)


_remembered: Final = lru_cache(maxsize=4_096)(_estimated)
"""Each prompt of a conversation counts all its messages."""


def estimate_tokens_of_chars(chars: int) -> int:
    """Estimated tokens of a text of which only the number of characters is known."""
    return -(-chars // CHARS_PER_TOKEN)


def estimate_json_tokens(text: str) -> int:
    """Estimated tokens of JSON: long texts in it as texts, all else at CHARS_PER_JSON_TOKEN."""
    return _json_remembered(text) if len(text) <= _REMEMBERED_CHARS else _json_estimated(text)


def _json_estimated(text: str) -> int:
    rest, prose = _PROSE.sub("", text), "".join(_PROSE.findall(text))
    wide = 0 if rest.isascii() else len(rest) - len(_WIDE.sub("", rest))
    return estimate_tokens(prose) + wide + estimate_json_tokens_of_chars(len(rest) - wide)


_json_remembered: Final = lru_cache(maxsize=1_024)(_json_estimated)


def estimate_json_tokens_of_chars(chars: int) -> int:
    """The same of JSON of which only the number of characters is known."""
    return ceil(chars / CHARS_PER_JSON_TOKEN)


def estimate_definitions_tokens(text: str) -> int:
    """Estimated tokens of the JSON of tools' definitions."""
    return ceil(len(text) / _CHARS_PER_DEFINITION_TOKEN)


def message_seed(message: ChatMessage) -> int:
    """Seed tokens of all blocks of the message."""
    return sum(map(block_seed, message.content))


def block_seed(block: Block) -> int:
    """Seed tokens of a block: its text or image, the name of its tool, the images of a result."""
    if block.type == "image":
        return IMAGE_TOKENS
    text = block.text or ""
    is_json = block.type == "toolCall" or (block.type == "toolResult" and text.startswith(_JSON_BEGINS))
    words = estimate_json_tokens(text) if is_json else estimate_tokens(text)
    return words + estimate_tokens(block.name or "") + IMAGE_TOKENS * len(block.images)


class Estimator:
    """Estimates for one model: seed tokens times `factor`."""

    def __init__(self, factor: float) -> None:
        self._factor = factor

    def tokens(self, text: str) -> int:
        """0 for an empty text, else at least 1."""
        return self.calibrated(estimate_tokens(text))

    def message_tokens(self, message: ChatMessage) -> int:
        return self.calibrated(message_seed(message))

    def calibrated(self, seed: int) -> int:
        """The estimate for so many seed tokens: 0 for 0, else at least 1."""
        if self._factor == 1.0:
            return seed
        return max(1, round(seed * self._factor)) if seed else 0
