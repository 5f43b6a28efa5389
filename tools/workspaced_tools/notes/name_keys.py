"""Compares names: folding, slugs, and the key of a name in the index.

`key` is coarser than every comparison of the resolver: names that are equal, equal when case-folded, or equal as
slugs have equal keys. So one map from key to notes serves all stages of the resolver, and each stage then compares
the few notes under a key by its own rule.
"""

import re
from functools import lru_cache

import regex

from .normal_form import normalized

_ASCII_WORDS = re.compile(r"[a-z0-9]+")
_WORDS = regex.compile(r"[\p{L}\p{M}\p{N}]+")
# Accents of Latin, Greek and Cyrillic only: the marks of other scripts distinguish words.
_ACCENTS = re.compile(r"[\u0300-\u036f]+")


def fold(name: str) -> str:
    """`name` for comparison without case: case-folded, NFC."""
    if name.isascii():
        return name.lower()
    return normalized("NFC", normalized("NFC", name).casefold())


def slug(name: str) -> str:
    """Words in lower case without accents, joined by hyphens; empty when `name` holds no letter or digit."""
    return "-".join(_words(name))


@lru_cache(maxsize=16_384)
def key(name: str) -> str:
    """The index key of a title, alias, id, file stem or link target. Without NUL, at which SQLite's JSON ends."""
    return "".join(_words(name)) or fold(name).replace("\0", "")


def stem(path: str) -> str:
    """The last component of `path`, without `.md` in any case."""
    return without_ending(path.rpartition("/")[2])


def without_ending(path: str) -> str:
    """`path` without `.md` in any case."""
    return path[:-3] if path[-3:].lower() == ".md" else path


def _words(name: str) -> list[str]:
    if name.isascii():
        return _ASCII_WORDS.findall(name.lower())
    plain = normalized("NFKD", fold(name))
    words: list[str] = _WORDS.findall(_ACCENTS.sub("", plain).casefold())
    return words
