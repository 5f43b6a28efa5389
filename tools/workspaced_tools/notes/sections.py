"""Finds the part of a note that `#heading` or `^block` names.

A heading's section goes from its line to the next heading of its level or higher. A block is a paragraph, a list
item with the items below it, a table, or a quote; an id on a line of its own names the block before it. Of equal
headings the first is meant, as in Obsidian.

Headings are compared as Obsidian compares them: without case, and with every run of blanks and of the marks that
Markdown or links use taken for one blank. So `Goals & risks` is found as `Goals risks`, and `**Bold**` as `Bold`.
A heading counts as it is shown and as it is written. `A#B` means a heading `B` in the section `A`. Where nothing
is equal, an anchor such as `goals-risks` is compared with the headings' slugs.
"""

import re
from bisect import bisect_right
from collections.abc import Sequence
from typing import Final

import msgspec

from ..limits import BLOCK_IDS_MAX
from .markdown import LINE_END, Block, Heading, parse_blocks
from .name_keys import anchors, slug, without_case
from .normal_form import with_ascii_signs
from .note import Note

_LEVELS: Final = 6
_MARKS: Final = re.compile(r"[\s!\"#$%&()*+,.:;<=>?@^`{|}~/\[\]\\]+")
"""What Obsidian takes for a blank in a heading."""
_SELECTORS: Final = re.compile("[\ufe0e\ufe0f]")
"""Choose between the forms of an emoji."""
_CONTAINERS: Final = re.compile(r"(?:[ \t]*(?:>|[-+*](?=[ \t])|\d{1,9}[.)](?=[ \t])))*+[ \t]*+")
"""The marks of quotes and list items at the beginning of a line."""
_OPENING: Final = re.compile(r"#{1,6}(?=[ \t]|\Z)")
_CLOSING: Final = re.compile(r"(?:\A|[ \t])#+\Z")
_ID_AT_END: Final = re.compile(r"[ \t]\^[A-Za-z0-9-]+[ \t]*\Z")
_BLOCK_ID: Final = re.compile(r"[A-Za-z0-9-]{1,200}")
_ANY_ID: Final = re.compile(r"(?m)(?:^|(?<=\r)|[ \t])\^(?P<id>[A-Za-z0-9-]{1,200})(?=[ \t]*+(?:[\r\n]|\Z))")
_NO_IDS: Final = frozenset({"CodeBlock", "HtmlBlock", "MetadataBlock"})
"""Blocks whose text is no Markdown."""


class Section(msgspec.Struct, frozen=True):
    """A part of a note's body. Lines are 1-based raw lines; offsets are code points of the body."""

    start_line: int
    end_line: int
    start: int
    end: int
    """Where the part ends, exclusively."""
    heading: Heading | None = None
    """The heading that begins it; None for a block."""


def heading_section(note: Note, wanted: str) -> Section | None:
    """The section of the heading `wanted`; None if the note has no such heading."""
    headings = note.markdown.headings
    lines = _Lines(note.body, note.front_matter.body_line)
    at = _find(headings, wanted, lines)
    if at is None:
        return None
    found = headings[at]
    nested = _is_nested(lines, found)
    after = (
        each.line
        for each in headings[at + 1 :]
        if each.level <= found.level and (nested or not _is_nested(lines, each))
    )
    return lines.section(found.line, next(after, lines.last + 1) - 1, found)


def name_of(note: Note, heading: Heading) -> str:
    """What `heading_section` finds a heading by: its text, behind those above it where others have the same text.
    The text alone where nothing tells them apart."""
    headings = note.markdown.headings
    names, level = [heading.text], heading.level
    before = [each for each in headings if each.line < heading.line]
    while True:
        name = "#".join(names)
        found = heading_section(note, name)
        if found is not None and found.heading == heading:
            return name
        above = next((each for each in reversed(before) if each.level < level), None)
        if above is None:
            return heading.text
        names.insert(0, above.text)
        before, level = before[: before.index(above)], above.level


def block_section(note: Note, wanted: str) -> Section | None:
    """The block with the id `wanted`, without regard to case; None if the note has no such block."""
    if not _BLOCK_ID.fullmatch(wanted):
        return None
    body = note.body
    marks = [*re.finditer(rf"(?im)(?:^|(?<=\r)|[ \t])(\^{re.escape(wanted)})(?=[ \t]*+(?:[\r\n]|\Z))", body)]
    if not marks:
        return None
    lines = _Lines(body, note.front_matter.body_line)
    blocks = parse_blocks(note.prose)
    for mark in marks:
        line = lines.number(mark.start(1))
        block = _block_at(blocks, line, alone=_is_alone(lines.text(line), mark[1]))
        if block is not None:
            return lines.section(block.first_line, block.last_line)
    return None


def block_ids(note: Note) -> list[tuple[str, int]]:
    """The ids of the note's blocks with their 1-based lines, in the order of the text."""
    body = note.body
    marks = [*_ANY_ID.finditer(body)]
    if not marks:
        return []
    lines = _Lines(body, note.front_matter.body_line)
    blocks = parse_blocks(note.prose)
    found = [(mark["id"], lines.number(mark.start("id"))) for mark in marks[:BLOCK_IDS_MAX]]
    return [
        (name, line)
        for name, line in found
        if _block_at(blocks, line, alone=_is_alone(lines.text(line), f"^{name}")) is not None
    ]


# -- headings --


def _find(headings: Sequence[Heading], wanted: str, lines: "_Lines") -> int | None:
    """The index of the first heading that `wanted` means."""
    forms = [_forms(heading, lines) for heading in headings]
    parts = [part for part in map(_plain, wanted.split("#")) if part]
    whole = _plain(wanted)
    found = _find_nested(headings, forms, parts, 0, len(headings))
    if found is None and len(parts) > 1:
        found = next((at for at, each in enumerate(forms) if whole in each), None)
    if found is None and not re.search(r"\s", wanted):
        found = _at_anchor([each.text for each in headings], wanted)
    return found


def _at_anchor(headings: Sequence[str], wanted: str) -> int | None:
    """The heading that GitHub's anchor names, else the first with the same words."""
    given = anchors(headings)
    if (anchor := without_case(wanted)) in given:
        return given.index(anchor)
    words = slug(wanted)
    return next((at for at, each in enumerate(headings) if words and slug(each) == words), None)


def _find_nested(
    headings: Sequence[Heading], forms: Sequence[set[str]], parts: Sequence[str], low: int, high: int
) -> int | None:
    """The first heading in [low, high) with the last name of `parts`, in sections of the other names."""
    if not 0 < len(parts) <= _LEVELS:  # Each name is a level deeper than the one before.
        return None
    for at in range(low, high):
        if parts[0] not in forms[at]:
            continue
        if len(parts) == 1:
            return at
        inner = range(at + 1, high)
        end = next((below for below in inner if headings[below].level <= headings[at].level), high)
        found = _find_nested(headings, forms, parts[1:], at + 1, end)
        if found is not None:
            return found
    return None


def _forms(heading: Heading, lines: "_Lines") -> set[str]:
    """The heading as it is shown, and as it is written without its marks."""
    written = lines.text(heading.line)
    written = written[_marks_end(written) :]
    if (opening := _OPENING.match(written)) is not None:
        written = _CLOSING.sub("", written[opening.end() :].strip(" \t"))
    return {_plain(each) for text in (heading.text, written) for each in (text, _ID_AT_END.sub("", text))}


def _plain(text: str) -> str:
    """`text` for comparison; only of a text of nothing but marks the marks count."""
    text = with_ascii_signs(_SELECTORS.sub("", text))
    return without_case(_MARKS.sub(" ", text).strip() or "".join(text.split()))


def _is_nested(lines: "_Lines", heading: Heading) -> bool:
    """Whether the heading stands in a quote or a list: it ends no section of the text around it."""
    line = lines.text(heading.line)
    marks = line[: _marks_end(line)]
    return bool(marks) and not marks.isspace()


# -- blocks --


def _is_alone(line: str, mark: str) -> bool:
    """Whether `mark` has the line to itself, but for the marks of quotes and lists."""
    return line[_marks_end(line) :].strip() == mark


def _marks_end(line: str) -> int:
    """Where the marks of quotes and list items at the beginning of a line end."""
    found = _CONTAINERS.match(line)
    assert found is not None, "it may match nothing"
    return found.end()


def _block_at(blocks: Sequence[Block], line: int, *, alone: bool) -> Block | None:
    """The block that an id in this line names; `alone`: the id is all of the line."""
    here = [at for at, block in enumerate(blocks) if block.first_line <= line <= block.last_line]
    if not here or any(blocks[at].kind in _NO_IDS for at in here):
        return None
    at = here[-1]
    inner = blocks[at]
    if alone and inner.kind == "Paragraph" and inner.first_line == inner.last_line:
        before = (block for block in reversed(blocks[:at]) if block.parent == inner.parent)
        return next(before, inner)
    if inner.kind == "Paragraph" and inner.parent >= 0 and blocks[inner.parent].kind in ("Item", "BlockQuote"):
        inner = blocks[inner.parent]
    while inner.kind == "BlockQuote" and inner.parent >= 0 and blocks[inner.parent].kind == "BlockQuote":
        inner = blocks[inner.parent]
    return inner


class _Lines:
    """The lines of a body, by their numbers in the raw file."""

    def __init__(self, body: str, first_line: int) -> None:
        self._body = body
        self._first = first_line
        self._starts = [0, *(end.end() for end in LINE_END.finditer(body))]
        if len(self._starts) > 1 and self._starts[-1] == len(body):
            self._starts.pop()  # the text ends with a line end

    @property
    def last(self) -> int:
        """The number of the last line."""
        return self._first + len(self._starts) - 1

    def number(self, offset: int) -> int:
        return bisect_right(self._starts, offset) - 1 + self._first

    def text(self, line: int) -> str:
        """The line without its end."""
        return self._body[self._start(line) : self._start(line + 1)].rstrip("\r\n")

    def section(self, first: int, last: int, heading: Heading | None = None) -> Section:
        """The lines from `first` to `last`."""
        return Section(first, last, self._start(first), self._start(last + 1), heading)

    def _start(self, line: int) -> int:
        at = line - self._first
        return self._starts[at] if at < len(self._starts) else len(self._body)
