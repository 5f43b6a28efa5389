"""Front matter: the properties of a note, in YAML between `---` lines at its beginning.

People write it by hand, and write other things between two rules. So what can be read are properties, entry by
entry, and what cannot be read is text of the note: shown, indexed, found and named. A block in which no entry can
be read is no front matter at all.

No front matter makes a note unreadable. Values are JSON-shaped, so that they can be sent, hashed and recorded
unchanged.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any, Final

import msgspec

from ..limits import ECHO_CHARS_MAX, FRONT_MATTER_CHARS_MAX
from .properties import Properties, PropertyLink, Unreadable, read_properties

_OPENING = re.compile(r"---[ \t]*(?:\r\n?|\n|\Z)")
_CLOSING = re.compile(r"(?<=[\r\n])(?:---|\.\.\.)[ \t]*+(?:\r\n?|\n|\Z)")
_LINE_END = re.compile(r"\r\n?|\n")
_ENTRY = re.compile(r"(?:^|(?<=[\r\n]))(?:[^\s#\-\]}:]|-(?=[^\s-]))")
"""The beginning of a top-level entry. A list may stand below its name without being indented."""
_SWITCHED_OFF = re.compile(r"\s*(?:#\s*(?:[\w-]+:.*|-.*)?)?")
"""A comment that holds an entry, or nothing: other ones may be headings between two rules."""
_NAMED = re.compile(r"""["'?]|[^\r\n]*?:(?:\s|\Z)""")
"""How an entry begins that may be `name: value`."""


_PARTS_NAMED: Final = 3
"""So many of the parts that cannot be read are named by their lines."""


class FrontMatter(msgspec.Struct, frozen=True):
    """The front matter of a note, and what of its text is body and Markdown. Offsets are code points."""

    fields: dict[str, Any] = {}
    """The values, JSON-shaped; those that can be read."""
    problem: str | None = None
    """What cannot be read, where, and what became of it; lines are those of the file."""
    body_offset: int = 0
    """Where the body begins. With a problem the whole text is body."""
    body_line: int = 1
    """The 1-based line where the body begins."""
    end_offset: int = 0
    """Where the text behind the closing line begins; 0 where no property could be read."""
    links: tuple[PropertyLink, ...] = ()
    """The wikilinks in values."""
    hidden: tuple[tuple[int, int], ...] = ()
    """The parts that are no Markdown: the lines of dashes, and what could be read."""
    raw: str = ""
    """The text between the lines of dashes, or up to the limit if the closing line is missing."""
    unread: str = ""
    """What of it cannot be read."""
    is_open: bool = False
    """Whether the closing line is missing."""


NO_FRONT_MATTER: Final = FrontMatter()


def split_front_matter(text: str) -> FrontMatter:
    """Separates front matter from the body; never fails.

    The opening line is `---` at the very start, the closing one `---` or `...`; either may end in blanks, the
    closing one also at the end of the text. Without a closing line, all the text is body. Linear in its length.
    """
    opening = _OPENING.match(text) if text.startswith("---") else None
    if opening is None:
        return NO_FRONT_MATTER
    start = opening.end()
    closing = _CLOSING.search(text, start)
    if closing is None:
        raw = text[start : start + FRONT_MATTER_CHARS_MAX]
        problem = None
        if _NAMED.match(raw):
            problem = (
                "Front matter opens on line 1 and is never closed; it is read as text. Close it with a line `---`."
            )
        return FrontMatter(problem=problem, raw=raw, unread=raw, is_open=True)
    raw = text[start : closing.start()]
    try:
        if len(raw) > FRONT_MATTER_CHARS_MAX:
            raise Unreadable(
                f"it has {len(raw)} characters, more than the {FRONT_MATTER_CHARS_MAX} that are read", 0
            )
        found = read_properties(raw)
    except Unreadable as reason:
        return _by_entries(raw, start, closing.end(), reason)
    if found is None and not all(map(_SWITCHED_OFF.fullmatch, raw.splitlines())):
        return FrontMatter(raw=raw)
    return FrontMatter(
        fields=found.fields if found is not None else {},
        body_offset=closing.end(),
        end_offset=closing.end(),
        body_line=3 + sum(1 for _ in _LINE_END.finditer(raw)),
        links=tuple(_moved(found.links, start)) if found is not None else (),
        hidden=((0, closing.end()),),
        raw=raw,
    )


def _by_entries(raw: str, start: int, end: int, whole: Unreadable) -> FrontMatter:
    """Front matter of which only some entries can be read: all of it stays body.

    Args:
        start: the offset of `raw`.
        end: the offset behind the closing line.
        whole: why it cannot be read as a whole.
    """
    fields: dict[str, Any] = {}
    links: list[PropertyLink] = []
    unread: list[tuple[int, int]] = []
    first: Unreadable | None = None
    for begin, stop in _entries(raw) if len(raw) <= FRONT_MATTER_CHARS_MAX else ():
        try:
            found = _entry(raw[begin:stop], fields)
        except Unreadable as reason:
            first = first or Unreadable(reason.what, begin + reason.offset)
            unread.append((begin, stop))
        else:
            fields |= found.fields if found is not None else {}
            links += _moved(found.links, start + begin) if found is not None else ()
    if not fields:
        return FrontMatter(problem=_problem(raw, first or whole, [(0, len(raw))]), raw=raw, unread=raw)
    return FrontMatter(
        fields=fields,
        problem=_problem(raw, first or whole, unread),
        end_offset=end,
        links=tuple(links),
        hidden=_between(unread, start, end),
        raw=raw,
        unread="".join(raw[begin:stop] for begin, stop in unread),
    )


def _entries(raw: str) -> Iterable[tuple[int, int]]:
    """Where each top-level entry begins and ends; the first one may be only what stands before all of them."""
    edges = sorted({0, *(found.start() for found in _ENTRY.finditer(raw)), len(raw)})
    return pairwise(edges)


def _entry(text: str, before: dict[str, Any]) -> Properties | None:
    """The entry; None: only comments and blank lines.

    Raises:
        Unreadable: it is none.
    """
    found = read_properties(text)
    if found is None:
        return None
    if again := next((name for name in found.fields if name in before), None):
        raise Unreadable(f"a second `{again[:ECHO_CHARS_MAX]}`", 0)
    return found


def _moved(links: list[PropertyLink], by: int) -> Iterator[PropertyLink]:
    return (msgspec.structs.replace(link, start=link.start + by, end=link.end + by) for link in links)


def _between(unread: list[tuple[int, int]], start: int, end: int) -> tuple[tuple[int, int], ...]:
    """The parts of the block that are not `unread`."""
    edges = [0, *(start + edge for span in unread for edge in span), end]
    return tuple((low, high) for low, high in zip(edges[::2], edges[1::2], strict=True) if low < high)


def _problem(raw: str, reason: Unreadable, unread: list[tuple[int, int]]) -> str:
    before = _LINE_END.split(raw[: reason.offset])
    more = len(unread) - _PARTS_NAMED
    shown = ", ".join(_lines(raw, *span) for span in unread[:_PARTS_NAMED])
    shown += f" and {more} more parts" if more > 0 else ""
    return (
        f"Front matter cannot be read at line {len(before) + 1}, column {len(before[-1]) + 1}: {reason.what}. "
        f"It is read as text of the note: {shown}."
    )


def _lines(raw: str, start: int, end: int) -> str:
    first = 2 + sum(1 for _ in _LINE_END.finditer(raw, 0, start))
    last = first + sum(1 for _ in _LINE_END.finditer(raw[start:end].rstrip()))
    return f"line {first}" if first == last else f"lines {first} to {last}"
