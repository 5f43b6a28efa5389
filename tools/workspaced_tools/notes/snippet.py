"""The line of a note that shows best why a search found it."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from ..limits import LINK_CONTEXT_CHARS_MAX, SNIPPETS_CHARS_NORMALISED_MAX
from .markdown import LINE_END, Heading
from .note import Note
from .search_query import Ranking, Term
from .search_text import Kind, kind_of, search_form
from .sections import name_of

SNIPPET_CHARS_MAX: Final = LINK_CONTEXT_CHARS_MAX
_STRIDE_CHARS: Final = 64
_LINES_TOGETHER: Final = 64
_PART_CHARS: Final = 1_000
"""A longer section is divided between paragraphs."""


class Snippet(NamedTuple):
    line: int
    """Raw."""
    text: str
    heading: str | None = None
    """Of the section with the line, as `heading_section` finds it."""


class Snippets:
    """The snippets of one answer. They share a bound, so that an answer with long notes takes no longer."""

    def __init__(self, terms: Sequence[Term], ranking: Ranking | None) -> None:
        """`ranking`: by which notes were found that hold some of the terms."""
        self._terms = terms
        self._ranking = ranking
        self._left = SNIPPETS_CHARS_NORMALISED_MAX
        self._chars_left = SNIPPETS_CHARS_NORMALISED_MAX

    def of(self, note: Note) -> Snippet:
        """The snippet for a note that holds all the terms, with the heading above it."""
        line, text = self._line(note)
        if not text or not self._takes(note.text):
            return Snippet(line, text)
        above = [each for each in note.markdown.headings if each.line <= line]
        return Snippet(line, text, name_of(note, above[-1]) if above and above[-1].text else None)

    def of_part(self, note: Note) -> Snippet:
        """The snippet for a note that holds some of the terms: the best line in the part that holds most of them.
        A part is a section, or some paragraphs of a long one."""
        assert self._ranking is not None
        if not self._takes(note.text):
            return Snippet(1, "")
        lines, first = LINE_END.split(note.body), note.front_matter.body_line
        headings = {each.line: each for each in note.markdown.headings}
        ranking = self._ranking.within(search_form(note.body))
        best, best_score = None, 0.0
        for start, end, heading in _parts(lines, first, headings):
            score = ranking.score_of(search_form("\n".join((heading.text if heading else "", *lines[start:end]))))
            if score > best_score:
                best_score, bounds, best = score, (start, end), heading
        if not best_score:
            return Snippet(*self._line(note))
        scores = {at: ranking.score_of(search_form(lines[at])) for at in range(*bounds)}
        at = max(scores, key=lambda each: (scores[each], -each))
        name = name_of(note, best) if best is not None and best.text else None
        return Snippet(first + at, _around(lines[at], self._terms), name)

    def _takes(self, text: str) -> bool:
        """Whether so much text can still be read in parts."""
        self._chars_left -= len(text)
        return self._chars_left >= 0

    def _line(self, note: Note) -> tuple[int, str]:
        """(raw line, text) of the first line that holds most of the terms, as whole words where it can; one of the
        front matter only if no other holds any; (1, "") if none does. The text is trimmed, and of a long line
        SNIPPET_CHARS_MAX characters around the first term. Of lines that are not ASCII,
        SNIPPETS_CHARS_NORMALISED_MAX characters of all notes are compared."""
        body = note.front_matter.body_offset
        for text, first in ((note.body, note.front_matter.body_line), (note.text[:body], 1)):
            if not self._terms or not text:
                continue
            lines, spent = _bounded(text, self._left)
            self._left -= spent
            found = _best_line(lines, self._terms, first)
            if found[1]:
                return found
        return 1, ""


def _parts(
    lines: Sequence[str], first: int, headings: Mapping[int, Heading]
) -> Iterator[tuple[int, int, Heading | None]]:
    """The bounds in `lines` of each part of a note, with the heading above."""
    start, chars = 0, 0
    heading: Heading | None = None
    for at, line in enumerate(lines):
        opened = headings.get(first + at)
        if opened is not None or (chars > _PART_CHARS and not line.strip()):
            yield start, at, heading
            start, chars, heading = at, 0, opened or heading
        chars += len(line) + 1
    yield start, len(lines), heading


def _bounded(body: str, bound: int) -> tuple[list[str], int]:
    """The lines of `body` that are ASCII, or among the first `bound` characters of the others; the rest are empty.
    And how many characters of the others there are."""
    lines = LINE_END.split(body)
    if body.isascii():
        return lines, 0
    left = bound
    for at, line in enumerate(lines):
        if not line.isascii():
            lines[at] = line[:left]
            left -= len(lines[at])
    return lines, bound - left


def _best_line(lines: Sequence[str], terms: Sequence[Term], first: int) -> tuple[int, str]:
    best, best_worth, best_at = "", 0, 1
    for start in range(0, len(lines), _LINES_TOGETHER):
        several = lines[start : start + _LINES_TOGETHER]
        if not _hold_any(several, terms):
            continue
        for number, line in enumerate(several, start=first + start):
            # Each term that the line holds counts more than how well it holds the others.
            text = search_form(line)
            kinds = (kind_of(term.text, text, whole=term.whole) for term in terms if term.text in text)
            worth = sum(_worth_of(kind) for kind in kinds if kind is not None)
            if worth > best_worth:
                best, best_worth, best_at = line, worth, number
        if best_worth == len(terms) * _worth_of(Kind.WHOLE):
            break
    if not best_worth:
        # The first line in which a phrase begins that goes on in the next line.
        phrases = [term.text for term in terms if " " in term.text]
        for number, (line, following) in enumerate(pairwise(lines) if phrases else (), start=first):
            both = search_form(f"{line} {following}")
            if any(phrase in both for phrase in phrases):
                return number, line.strip()[-SNIPPET_CHARS_MAX:].strip()
        return 1, ""
    return best_at, _around(best, terms)


def _hold_any(lines: Sequence[str], terms: Sequence[Term]) -> bool:
    """Whether some of the lines may hold a term; false only if none does."""
    if len(lines) == 1:
        return True
    text = search_form("\n".join(lines))
    return any(term.text in text for term in terms)


def _worth_of(kind: Kind) -> int:
    return 100 - kind


def _around(line: str, terms: Sequence[Term]) -> str:
    line = line.strip()
    if len(line) <= SNIPPET_CHARS_MAX:
        return line
    text = search_form(line)
    places = [place for term in terms if (place := text.find(term.text)) >= 0]
    start = max(0, _place_in_line(line, min(places, default=0)) - SNIPPET_CHARS_MAX // 3)
    return line[start : start + SNIPPET_CHARS_MAX].strip()


def _place_in_line(line: str, place: int) -> int:
    """The place in `line` for a place in `search_form(line)`, which may be shorter or longer; a few characters off
    where a stretch grows or shrinks."""
    passed = 0
    for start in range(0, len(line), _STRIDE_CHARS):
        part = line[start : start + _STRIDE_CHARS]
        size = len(search_form(f"x{part}x")) - 2  # with the blanks at its ends
        if passed + size > place:
            return start + (place - passed) * len(part) // size
        passed += size
    return len(line)
