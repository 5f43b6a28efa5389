"""About how many tokens a text is to a language model: an estimate, for comparing, not for counting.

Tokenizers differ and are not public for every model. Common ones make a token of about four characters of
English or JSON, and of about each character of Chinese, Japanese or Korean.
"""

import re
from typing import Final

CHARS_PER_TOKEN: Final = 4
_WIDE: Final = re.compile(
    "[\u1100-\u11ff\u2e80-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\ufe30-\ufe4f\uff00-\uffef"
    "\U0001b000-\U0001b2ff\U00020000-\U0003ffff]"
)
"""Characters of Hangul, kana, Han, and the forms that go with them."""


def estimate_tokens(text: str) -> int:
    """About how many tokens `text` is: each character of CJK one, of the others four to one, rounded up."""
    wide = 0 if text.isascii() else len(text) - len(_WIDE.sub("", text))
    return wide + estimate_tokens_of_chars(len(text) - wide)


def estimate_tokens_of_chars(chars: int) -> int:
    """About how many tokens so many characters of a text are that is not at hand."""
    return -(-chars // CHARS_PER_TOKEN)
