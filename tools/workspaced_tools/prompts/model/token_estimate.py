"""Estimates how many tokens a text has, for comparisons; it does not count.

Tokenizers differ and are not public for every model. Common ones need about one token for four characters of
English or JSON, and about one for each character of Chinese, Japanese or Korean.
"""

import re
from functools import lru_cache
from typing import Final

CHARS_PER_TOKEN: Final = 4
_REMEMBERED_CHARS: Final = 2_000
"""The estimate of a longer text is made each time."""
_WIDE: Final = re.compile(
    "[\u1100-\u11ff\u2e80-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\ufe30-\ufe4f\uff00-\uffef"
    "\U0001b000-\U0001b2ff\U00020000-\U0003ffff]"
)
"""Characters of Hangul, kana, Han, and the forms that go with them."""


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
