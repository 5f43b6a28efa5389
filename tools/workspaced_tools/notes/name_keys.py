"""Compares names. Names are equal up to case and Unicode normal form, and nothing else: `C++` is not `C`.

Headings alone have looser forms, by which anchors name them.
"""

import re
from collections.abc import Iterable
from functools import lru_cache

import regex

from .normal_form import normalized

_ASCII_WORDS = re.compile(r"[a-z0-9]+")
_WORDS = regex.compile(r"[\p{L}\p{M}\p{N}]+")
# Accents of Latin, Greek and Cyrillic only: the marks of other scripts distinguish words.
_ACCENTS = re.compile(r"[\u0300-\u036f]+")
_NOT_IN_ANCHORS = regex.compile(r"[^\p{L}\p{M}\p{N}\p{Pc} -]+")


def without_case(name: str) -> str:
    """`name` for comparison without case, in NFC."""
    if name.isascii():
        return name.lower()
    return normalized("NFC", normalized("NFC", name).casefold())


@lru_cache(maxsize=16_384)
def key(name: str) -> str:
    """The index key of a title, alias, id, file stem or link target. Without NUL, at which SQLite's JSON ends."""
    return without_case(name).replace("\0", "")


@lru_cache(maxsize=8_192)
def slug(name: str) -> str:
    """Words in lower case without accents, joined by hyphens; empty when `name` holds no letter or digit."""
    if name.isascii():
        return "-".join(_ASCII_WORDS.findall(name.lower()))
    plain = normalized("NFKD", without_case(name))
    return "-".join(_WORDS.findall(_ACCENTS.sub("", plain).casefold()))


def anchors(headings: Iterable[str]) -> list[str]:
    """The anchor that GitHub gives each heading of a document (its `html-pipeline`, and github-slugger): in lower
    case, without punctuation, blanks as hyphens; a second one of the same name ends in `-1`."""
    taken: dict[str, int] = {}
    found = []
    for text in headings:
        plain = anchor = _NOT_IN_ANCHORS.sub("", text.strip().lower()).replace(" ", "-")
        while anchor in taken:
            taken[plain] += 1
            anchor = f"{plain}-{taken[plain]}"
        taken[anchor] = 0
        found.append(anchor)
    return found


def stem(path: str) -> str:
    """The last component of `path`, without `.md` in any case."""
    return without_ending(path.rpartition("/")[2])


def without_ending(path: str) -> str:
    """`path` without `.md` in any case."""
    return path[:-3] if path[-3:].lower() == ".md" else path
