"""Estimates how many tokens a text or a prompt's part has, for comparisons; it does not count.

Tokenizers differ and are not public for every model. Common ones need about one token for four characters of
English, for two or so of JSON (`make bench ONLY=answers`: 2.25, tekken), and about one for each character of
Chinese, Japanese or Korean. For a prompt's model such a seed,
which is the same for every model and every time, is multiplied by the factor that the provider's own counts gave
(token_calibration.Calibration). The log records each prompt's estimate, so no reader has to repeat it.
"""

import re
from functools import lru_cache
from math import ceil
from typing import Final

from .types import ChatMessage

CHARS_PER_TOKEN: Final = 4
CHARS_PER_JSON_TOKEN: Final = 2.25
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


def estimate_tokens(text: str) -> int:
    """Estimated tokens of `text`: one per CJK character, one per four others, rounded up."""
    return _remembered(text) if len(text) <= _REMEMBERED_CHARS else _estimated(text)


def _estimated(text: str) -> int:
    wide = 0 if text.isascii() else len(text) - len(_WIDE.sub("", text))
    return wide + estimate_tokens_of_chars(len(text) - wide)


@lru_cache(maxsize=4_096)
def _remembered(text: str) -> int:
    """Each prompt of a conversation counts all its messages."""
    return _estimated(text)


def estimate_tokens_of_chars(chars: int) -> int:
    """Estimated tokens of a text of which only the number of characters is known."""
    return -(-chars // CHARS_PER_TOKEN)


def estimate_json_tokens(text: str) -> int:
    """Estimated tokens of JSON: long texts in it as texts, all else at CHARS_PER_JSON_TOKEN."""
    rest, prose = _PROSE.sub("", text), "".join(_PROSE.findall(text))
    wide = 0 if rest.isascii() else len(rest) - len(_WIDE.sub("", rest))
    return estimate_tokens(prose) + wide + estimate_json_tokens_of_chars(len(rest) - wide)


def estimate_json_tokens_of_chars(chars: int) -> int:
    """The same of JSON of which only the number of characters is known."""
    return ceil(chars / CHARS_PER_JSON_TOKEN)


def message_seed(message: ChatMessage) -> int:
    """Seed tokens of all blocks of the message: texts, names of tools, images."""
    return sum(
        (IMAGE_TOKENS if block.type == "image" else estimate_tokens(block.text or ""))
        + estimate_tokens(block.name or "")
        + IMAGE_TOKENS * len(block.images)
        for block in message.content
    )


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
