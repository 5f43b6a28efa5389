"""Text for search: normalises it, and tells how a word occurs in it.

Search compares normalised text by code points. That is NFKC without case and with the signs of keyboards;
without the accents of Latin, Greek and Cyrillic, the points of Hebrew, the harakat and the tatweel of Arabic, and
characters that show nothing; each run of white space is one blank. Letters such as `ł` and `æ` are what people
type for them. Other marks, such as the vowel signs of Indic scripts, are letters of their words.
"""

import re
from enum import IntEnum
from functools import lru_cache
from typing import Final

import regex

from .normal_form import normalized, with_ascii_signs

_DROPPED: Final = regex.compile(
    r"[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f"  # so `й` equals `и`
    r"\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\ufb1e"  # Hebrew points
    r"\u064b-\u0652\u0670\u0640"  # harakat, tatweel
    r"\p{Default_Ignorable_Code_Point}\ufdd0\ufdd1]+"
)
_LETTERS: Final = {
    **dict(zip("ⱥƀȼđɇꞙǥħɨɉꝁłøᵽɍŧꞹɏƶ", "abcdefghijkloprtuyz", strict=True)),
    "ð": "d",
    "ı": "i",
    "æ": "ae",
    "œ": "oe",
    "þ": "th",
}
"""Letters that have no decomposition; `ß` becomes `ss` with its case."""
_LETTER: Final = re.compile(f"[{''.join(_LETTERS)}]")
FIELD_END: Final = "\ufdd0"
NAME_END: Final = "\ufdd1"
"""Characters that no normalised text has; Unicode reserves them for such use."""

_NO_BLANKS: Final = regex.compile(
    r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tibetan}]"
)
_IN_WORD: Final = regex.compile(r"[\p{L}\p{N}\p{M}]")
_MARK: Final = regex.compile(r"\p{M}")
_OCCURRENCES_MAX: Final = 200
"""Of one word in one text this many are looked at for the best kind."""


class Kind(IntEnum):
    """How a word occurs in a text, best first."""

    WHOLE = 0
    PREFIX = 1
    """At the beginning of a longer word."""
    INSIDE = 2


def search_form(text: str) -> str:
    """`text` for comparison in search; see the module's docstring."""
    if not text.isascii():
        # Twice: `″` is two signs in NFKC, and a superscript minus is one of them only there.
        text = with_ascii_signs(normalized("NFKC", with_ascii_signs(text))).casefold()
        text = _DROPPED.sub("", normalized("NFD", text))
        text = _LETTER.sub(lambda letter: _LETTERS[letter[0]], text)
        text = normalized("NFC", text)
        text = text.encode(errors="replace").decode()  # a lone surrogate, which only a query may have
    else:
        text = text.lower()
    return " ".join(text.replace("\0", " ").split())


def kind_of(word: str, text: str, *, whole: bool = False) -> Kind | None:
    """The best way in which a word occurs in a text, both normalised; None: not at all, or not as a whole one."""
    if f" {word} " in text:  # as most words stand; looking at each place takes far longer
        return Kind.WHOLE
    best: Kind | None = None
    at = -1
    for _ in range(_OCCURRENCES_MAX):
        at = text.find(word, at + 1)
        if at < 0:
            break
        kind = _kind_at(text, at, at + len(word))
        if kind is Kind.WHOLE:
            return kind
        if not whole and (best is None or kind < best):
            best = kind
    return best


def _kind_at(text: str, start: int, end: int) -> Kind:
    if start > 0 and not _divides(text[start - 1], text[start]):
        return Kind.INSIDE
    if end < len(text) and not _divides(text[end - 1], text[end]):
        return Kind.PREFIX
    return Kind.WHOLE


@lru_cache(maxsize=65_536)
def _divides(before: str, after: str) -> bool:
    """Whether a word may end between two characters. Scripts without blanks let it end between any graphemes."""
    if not (_IN_WORD.match(before) and _IN_WORD.match(after)):
        return True
    if _MARK.match(after):
        return False
    return bool(_NO_BLANKS.match(before) or _NO_BLANKS.match(after))
