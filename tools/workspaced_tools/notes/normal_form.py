"""Unicode normalization in a time that grows with the text alone, and ASCII forms of typographic signs.

CPython sorts the combining marks behind one letter by insertion, in quadratic time: a note of 800,000 marks takes
hours. A long run of marks is therefore sorted before, which changes no result.
"""

import re
import unicodedata
from collections.abc import Iterator
from itertools import groupby
from typing import Final, Literal

import regex

_SIGNS: Final = {
    **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032\u02b9\u02bb\u02bc\u2039\u203a\u00b4\u1ffd\u05f3", "'"),
    **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb\u2e42\u301d\u301e\u301f\u05f4", '"'),
    **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d\u05be", "-"),
    "\u2026": "...",
    "\u301c": "~",
}
"""Quotes, dashes and hyphens: what typing programs put in place of ASCII."""
_SIGN: Final = re.compile(f"[{''.join(_SIGNS)}]")
_MARKS_MIN: Final = 256
"""A run of fewer marks is left to the standard library."""
_MARK: Final = regex.compile(r"[\p{M}\uff9e\uff9f]")
"""The two last characters become marks under NFKC and NFKD."""
_RUN: Final = regex.compile(r"[\p{M}\uff9e\uff9f]{64,}")


def with_ascii_signs(text: str) -> str:
    """The text with the plain signs that keyboards have."""
    return text if text.isascii() else _SIGN.sub(lambda sign: _SIGNS[sign[0]], text)


def normalized(form: Literal["NFC", "NFD", "NFKC", "NFKD"], text: str) -> str:
    """As `unicodedata.normalize`."""
    if not _MARK.search(text[::_MARKS_MIN]):  # A long run has one of these characters.
        return unicodedata.normalize(form, text)
    decomposed: Literal["NFD", "NFKD"] = "NFKD" if "K" in form else "NFD"
    return unicodedata.normalize(form, _RUN.sub(lambda run: "".join(_sorted(decomposed, run[0])), text))


def _sorted(form: Literal["NFD", "NFKD"], run: str) -> Iterator[str]:
    """The marks of `run` in canonical order: between two marks of class 0 by class, in the order of the text."""
    marks = (mark for character in run for mark in unicodedata.normalize(form, character))
    for moves, group in groupby(marks, lambda mark: unicodedata.combining(mark) > 0):
        several = list(group)
        if moves:
            several.sort(key=unicodedata.combining)
        yield from several
