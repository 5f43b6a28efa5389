"""Pseudonyms: text of the same shape without its meaning; equal words get equal pseudonyms.

Text is replaced word by word. White space and punctuation stay, so folders, lines and Markdown keep their
structure; each character of a word is replaced by one of its own alphabet (below), so case and length stay, in
characters and in UTF-8 bytes. The words of one shape are permuted under a key, so
- a word has the same pseudonym everywhere: `Project Plan.md` as a path and "project plan" in a text still match;
- two words never share a pseudonym. Nor do two paths: a pseudonym shows which characters were replaced and from
  which alphabets, so whole texts are permuted as well. (This holds for texts in NFC, like note ids. Words that
  differ only in normalisation keep that difference if it is between NFC and NFD.)

A short word may by chance be its own pseudonym; no reader can know which one. Without the key, a reader learns how
often which shapes of words occur where. Long texts reveal more: common words can be guessed.
"""

import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from hashlib import blake2b, shake_256
from itertools import groupby
from math import isqrt
from struct import unpack
from typing import Final, NamedTuple

KEY_BYTES: Final = 32
PUBLIC_WORDS: Final = frozenset({"md", "tab", "workspaced"})
"""Our own words, which are their own pseudonyms: the notes' suffix, tab ids, the program's name."""
REMOVED: Final = "[redacted]"

_ROUNDS: Final = 8
_ALPHABET_MIN: Final = 10
_KNOWN_WORDS_MAX: Final = 100_000
_KNOWN_CHARS_MAX: Final = 64
_RUN: Final = re.compile(r"[0-9A-Za-z\x80-\U0010ffff]+")
"""Words, and the non-ASCII characters between them."""


class Pseudonyms:
    """The pseudonyms under one key. Not thread-safe."""

    def __init__(self, key: bytes) -> None:
        """`key`: KEY_BYTES random bytes. Its holder can reverse everything but `digest` and `secret`."""
        if len(key) != KEY_BYTES:
            raise ValueError(f"Expected a key of {KEY_BYTES} bytes, got {len(key)}")
        self._key = key
        self._known: dict[str, str] = {}

    def text(self, text: str) -> str:
        """The pseudonym of a text, such as a path, a title, a name or a whole page."""
        return _RUN.sub(lambda run: self._run(run[0]), text)

    def digest(self, name: str) -> str:
        """64 hexadecimal digits for a hash: equal hashes stay equal, but a guess cannot be confirmed."""
        return blake2b(name.encode("utf-8", "surrogatepass"), key=self._key, digest_size=32).hexdigest()

    def secret(self, _text: str) -> str:
        """REMOVED, for every text."""
        return REMOVED

    def _run(self, run: str) -> str:
        if run.isascii():
            return self._word(run)
        parts = groupby(run, key=lambda ch: _place(ch) is not None)
        return "".join(self._word("".join(part)) if is_word else "".join(part) for is_word, part in parts)

    def _word(self, word: str) -> str:
        pseudonym = self._known.get(word)
        if pseudonym is None:
            pseudonym = self._normalised(word)
            if len(self._known) >= _KNOWN_WORDS_MAX:
                self._known.clear()
            if len(word) <= _KNOWN_CHARS_MAX:
                self._known[word] = pseudonym
        return pseudonym

    def _normalised(self, word: str) -> str:
        composed = unicodedata.normalize("NFC", word)
        if composed != word and unicodedata.normalize("NFD", composed) == word:
            return unicodedata.normalize("NFD", self._permuted(composed))
        return self._permuted(word)

    def _permuted(self, word: str) -> str:
        places = [place for ch in word if (place := _place(ch)) is not None]
        assert len(places) == len(word), "a word holds only what is exchanged"
        alphabets = [place.alphabet for place in places]
        letters = [place.at for place in places]
        pseudonym = _spelled(alphabets, letters)
        if pseudonym not in PUBLIC_WORDS:
            # A result that is a public word is permuted again, which keeps this a permutation.
            pseudonym = ""
            while not pseudonym or pseudonym in PUBLIC_WORDS:
                letters = self._shuffled(list(map(len, alphabets)), letters)
                pseudonym = _spelled(alphabets, letters)
        return "".join(ch.upper() if place.upper else ch for ch, place in zip(pseudonym, places, strict=True))

    def _shuffled(self, sizes: list[int], letters: list[int]) -> list[int]:
        """A permutation of the words over alphabets of these sizes."""
        if len(letters) > 1:
            return self._mixed(sizes, letters)
        # One letter cannot be halved: it becomes a pair of digits; pairs beyond the alphabet are permuted again.
        side = isqrt(sizes[0] - 1) + 1
        high, low = self._mixed([side, side], list(divmod(letters[0], side)))
        while high * side + low >= sizes[0]:
            high, low = self._mixed([side, side], [high, low])
        return [high * side + low]

    def _mixed(self, sizes: list[int], letters: list[int]) -> list[int]:
        """A Feistel network over both halves: each round shifts the letters of one half by a hash of the other."""
        half = len(letters) // 2
        left, right = letters[:half], letters[half:]
        left_sizes, right_sizes = sizes[:half], sizes[half:]
        for number in range(_ROUNDS):
            round_input = ".".join(map(str, [number, len(left), left_sizes[0], *right])).encode()
            stream = unpack(f">{len(left)}I", shake_256(self._key + round_input).digest(4 * len(left)))
            moved = [(letter + step) % size for letter, step, size in zip(left, stream, left_sizes, strict=True)]
            left, right, left_sizes, right_sizes = right, moved, right_sizes, left_sizes
        return left + right


def _spelled(alphabets: list[str], letters: list[int]) -> str:
    return "".join(alphabet[letter] for alphabet, letter in zip(alphabets, letters, strict=True))


# -- alphabets --


class _Place(NamedTuple):
    """A character's alphabet (of lower-case letters if it has case), its index there, and its case."""

    alphabet: str
    at: int
    upper: bool


def _place(ch: str) -> _Place | None:
    """The place of `ch`; None if it stays: white space, punctuation, controls, ASCII symbols."""
    code = ord(ch)
    if code < 0x80:
        return _places(0, 0x80).get(ch)
    if code < 0x10000:
        return (_places(0x80, 0x800) if code < 0x800 else _places(0x800, 0x10000)).get(ch)
    return _places(code & ~0xFFFF, (code & ~0xFFFF) + 0x10000).get(ch)


@cache
def _places(first: int, end: int) -> dict[str, _Place]:
    """The places of a range of characters with equal UTF-8 length: the characters of one kind form an alphabet."""
    by_kind: dict[tuple[object, ...], list[str]] = {}
    for ch in map(chr, range(first, end)):
        category = unicodedata.category(ch)
        stays = category[0] in "PZ" or category in ("Cc", "Cs") or (category[0] == "S" and ch.isascii())
        if not stays and not (_has_case(ch) and ch == ch.upper()):
            by_kind.setdefault(_kind(ch, category), []).append(ch)
    # A character alone in its kind would be its own pseudonym, so rare characters form one alphabet together.
    alphabets = [letters for letters in by_kind.values() if len(letters) >= _ALPHABET_MIN]
    rare = [ch for letters in by_kind.values() if len(letters) < _ALPHABET_MIN for ch in letters]
    return {letter: place for letters in (*alphabets, rare) for letter, place in _placed("".join(letters))}


def _placed(alphabet: str) -> Iterator[tuple[str, _Place]]:
    for index, ch in enumerate(alphabet):
        yield ch, _Place(alphabet, index, False)
        if _has_case(ch):
            yield ch.upper(), _Place(alphabet, index, True)


def _kind(ch: str, category: str) -> tuple[object, ...]:
    """All that decides how a text is compared and normalised; characters of one kind may replace each other."""
    decomposed = unicodedata.normalize("NFD", ch)
    return (
        category[0],
        _has_case(ch),
        ch.casefold() == ch,
        decomposed.casefold() == decomposed,
        unicodedata.is_normalized("NFC", ch),
        len(decomposed),
    )


def _has_case(ch: str) -> bool:
    """Whether `ch` belongs to a pair that differs only in case, and not in length."""
    lower, upper = ch.lower(), ch.upper()
    return (
        lower != upper
        and ch in (lower, upper)
        and (lower.upper(), upper.lower(), lower.casefold(), upper.casefold()) == (upper, lower, lower, lower)
        and len(lower.encode()) == len(upper.encode())
        and all(unicodedata.is_normalized("NFC", each) for each in (lower, upper))
        and len(unicodedata.normalize("NFD", lower)) == len(unicodedata.normalize("NFD", upper))
    )
