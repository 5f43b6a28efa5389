"""Words for search: prepares text for the index, builds FTS5 queries, and finds the words in a note.

SQLite's `unicode61` splits at every character that is no letter or digit, and drops case and accents. It treats a
run of ideographs as one word. So blanks separate ideographs and kana before they are indexed, and a query's run of
them becomes a phrase. A query has words, never operators: each word is quoted.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

import regex

from ...limits import INDEXED_CHARS_MAX, LINK_CONTEXT_CHARS_MAX, QUERY_WORDS_MAX
from ...notes.note import Note

_IDEOGRAPH: Final = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}]")
_WORD: Final = regex.compile(
    r"[\p{Han}\p{Hiragana}\p{Katakana}]|[\p{L}\p{N}--[\p{Han}\p{Hiragana}\p{Katakana}]]+", regex.V1
)
_LINE_END: Final = re.compile(r"\r\n?|\n")
_DISTINCTIVE_CHARS_MIN: Final = 3
_DISTINCTIVE_CHARS_MAX: Final = 64
_STRIDE_CHARS: Final = 256
_APART: Final = " \ue000 "
SNIPPET_CHARS_MAX: Final = LINK_CONTEXT_CHARS_MAX


def plain(text: str) -> str:
    """`text` without case and accents, as in comparisons of `unicode61`."""
    if text.isascii():
        return text.lower()
    folded = unicodedata.normalize("NFKD", text.casefold())
    return "".join(sign for sign in folded if not unicodedata.combining(sign))


def spaced(text: str) -> str:
    """`text` with blanks around ideographs and kana."""
    return text if text.isascii() else _IDEOGRAPH.sub(lambda sign: f" {sign[0]} ", text)


def apart(names: str) -> str:
    """Names, one per line, `spaced`, with a word in between that no query has, so no phrase spans two names."""
    return spaced(names.replace("\n", _APART))


def query_words(words: str) -> list[str]:
    """The distinct words of a query, split at blanks, without those that have no letter or digit."""
    parts = dict.fromkeys(part for part in words.replace("\0", " ").split() if _WORD.search(part))
    return list(parts)[:QUERY_WORDS_MAX]


def match_all(words: Sequence[str], column: str | None = None) -> str:
    """The FTS5 query for notes with all of `words`, in `column` if given."""
    quoted = " ".join(_quoted(spaced(word)) for word in words)
    return f"{{{column}}} : ({quoted})" if column is not None else quoted


def match_any(words: Iterable[str]) -> str:
    """The FTS5 query for notes with any of `words`."""
    return " OR ".join(map(_quoted, words))


def frequent_words(text: str, limit: int) -> list[tuple[str, int]]:
    """The words of `text` that may be distinctive, with their counts, most frequent first."""
    # With their accents: FTS5 removes fewer than `plain` does.
    found: list[str] = _WORD.findall(unicodedata.normalize("NFC", text.lower()))
    distinctive = Counter(
        word
        for word in found
        if _DISTINCTIVE_CHARS_MIN <= len(word) <= _DISTINCTIVE_CHARS_MAX and not word.isdecimal()
    )
    return sorted(distinctive.items(), key=lambda each: (-each[1], each[0]))[:limit]


def snippet_of(note: Note, words: Sequence[str]) -> tuple[int, str]:
    """(raw line, text) of the first line with the most of `words`; (1, "") if no line has any."""
    wanted = [parts for word in words if (parts := _WORD.findall(plain(word)))]
    best, best_count, best_at = "", 0, 1
    for number, line in enumerate(
        _LINE_END.split(note.body[:INDEXED_CHARS_MAX]), start=note.front_matter.body_line
    ):
        folded = plain(line)
        count = sum(1 for parts in wanted if _holds(folded, parts))
        if count > best_count:
            best, best_count, best_at = line, count, number
            if count == len(wanted):
                break
    return best_at, _around(best, wanted)


def _quoted(word: str) -> str:
    return '"' + word.replace('"', '""') + '"'


def _holds(folded: str, parts: Sequence[str]) -> bool:
    """Whether the text has the words one after the other, each whole (an ideograph is a word)."""
    return parts[0] in folded and _pattern(tuple(parts)).search(folded) is not None


_patterns: dict[tuple[str, ...], "regex.Pattern[str]"] = {}


def _pattern(parts: tuple[str, ...]) -> "regex.Pattern[str]":
    if len(_patterns) > QUERY_WORDS_MAX * 64:
        _patterns.clear()
    found = _patterns.get(parts)
    if found is None:
        body = r"[^\p{L}\p{N}]*".join(map(regex.escape, parts))
        before = "" if _IDEOGRAPH.match(parts[0]) else r"(?<![\p{L}\p{N}])"
        after = "" if _IDEOGRAPH.match(parts[-1]) else r"(?![\p{L}\p{N}])"
        found = _patterns[parts] = regex.compile(before + body + after)
    return found


def _around(line: str, wanted: Sequence[Sequence[str]]) -> str:
    """`line` trimmed; for a long line, SNIPPET_CHARS_MAX characters around the first word."""
    line = line.strip()
    if len(line) <= SNIPPET_CHARS_MAX:
        return line
    folded = plain(line)
    places = [found.start() for parts in wanted if (found := _pattern(tuple(parts)).search(folded))]
    start = max(0, _unfolded(line, min(places, default=0)) - SNIPPET_CHARS_MAX // 3)
    return line[start : start + SNIPPET_CHARS_MAX].strip()


def _unfolded(line: str, place: int) -> int:
    """The place in `line` for a place in `plain(line)`, which may be longer: threefold for Hangul."""
    passed = 0
    for start in range(0, len(line), _STRIDE_CHARS):
        size = len(plain(line[start : start + _STRIDE_CHARS]))
        if passed + size > place:
            for at in range(start, len(line)):
                passed += len(plain(line[at]))
                if passed > place:
                    return at
        passed += size
    return len(line)
