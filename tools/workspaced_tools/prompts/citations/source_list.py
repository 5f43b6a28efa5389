"""Lists of sources at the end of an answer: writes ours, and recognises the lines of any.

Ours has a heading and a footnote definition for each source: `[^1]: [title](<address>)`. An answer without
citations gets a plain list of the same links.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Final, Literal, NamedTuple

from ..sources.search_block import Source
from .protected_text import Protected

HEADING: Final = "#### Sources"

LineKind = Literal["heading", "definition", "item", "blank", "text", "inline", "numbered"]
"""`inline`: a heading with its sources on the same line, or a lone word. `numbered`: an item that begins with a
citation and names none of our sources exactly. Both make a list only where the words before it cite something."""

_LINE: Final = re.compile(r"[^\r\n]*+(?:\r\n?|\n|\Z)")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_BLANKS: Final = re.compile(r"\s+")
_MARKUP: Final = re.compile(r"[\\`*_\[\]<>&~|$]")
_BREAKS_ADDRESS: Final = re.compile(r"[\\<>&]")
_ESCAPED: Final = r"\\\g<0>"
_IS_URL: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_LIKE_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_NO_PATH: Final = re.compile(r"[%#?]")

_WORDS: Final = r"(?:sources|references)"
_WORD: Final = r"(?:sources?|references?)"
_HEADING: Final = re.compile(
    rf" {{0,3}}(?:\#{{1,6}}[ \t]++[*_]{{0,3}}{_WORDS}:?[*_]{{0,3}}:?(?:[ \t]++\#++)?"
    rf"|[*_]{{1,3}}{_WORDS}:?[*_]{{1,3}}:?|{_WORDS}:)[ \t]*+",
    re.IGNORECASE,
)
_WORD_ALONE: Final = re.compile(rf" {{0,3}}{_WORDS}[ \t]*+", re.IGNORECASE)
_UNDERLINE: Final = re.compile(r" {0,3}(?:=++|-++)[ \t]*+")
_LEAD: Final = r"[ \t>]*+(?:[-*+][ \t]++|\d{1,9}[.)][ \t]++)?"
_DEFINITION: Final = re.compile(rf"{_LEAD}\[\^(?P<number>[1-9]\d{{0,8}})\]:", re.ASCII)
_OURS: Final = re.compile(
    r"\[\^(?P<number>[1-9]\d{0,8})\]: \[(?:[^\\\[\]]|\\.)*+\]\(<(?P<address>(?:[^\\<>]|\\.)*+)>\)[ \t]*+", re.ASCII
)
_CONTINUED: Final = re.compile(r"(?: {2}|\t)[ \t]*+[^ \t\r\n]")
_ITEM: Final = re.compile(
    r"[ \t>]*+(?:(?:[-*+]|\d{1,9}[.)])[ \t]++(?:\[\^?\d{1,9}\][:.]?[ \t]*+)?|\[\d{1,9}\][:.]?[ \t]++)"
    r"(?P<text>\S.*+)"
)
_LINK: Final = re.compile(r"\[((?:[^\\\[\]]|\\.)*+)\]\(<?((?:[^\\<>()]|\\.)*+)>?\)")
_WIKI_LINK: Final = re.compile(r"\[\[([^\[\]|#]*+)(?:#[^\[\]|]*+)?(?:\|([^\[\]]*+))?\]\]")
_NUMBER: Final = r"(?:\^?\[\^?\d{1,9}[^\[\]]{0,200}\]|【\d{1,9}[^【】]{0,200}】)"
_NUMBERED: Final = re.compile(rf"[ \t>]*+(?:(?:[-*+]|\d{{1,9}}[.)])[ \t]++)?{_NUMBER}(?:[:.]?[ \t].*|[ \t]*)")
_NUMBERS: Final = re.compile(rf"(?:{_NUMBER}[ \t]*+)++(?:[^\W_].*)?")
_INLINE: Final = re.compile(
    rf" {{0,3}}(?:[*_]{{1,3}}{_WORD}:?[*_]{{1,3}}:?|{_WORD}:)[ \t]++(?P<rest>\S.*+)", re.IGNORECASE
)
_BETWEEN_ITEMS: Final = re.compile(r"[,;](?![^\[\]]{0,200}\])")
_BETWEEN: Final = (" (", " - ", " – ", " — ", ": ")
_AROUND: Final = " \t\r\n*_`\"'.,;()<>"


class Line(NamedTuple):
    kind: LineKind
    start: int
    end: int
    """After the line break."""


def link(source: Source) -> str:
    """A Markdown link to the source with its title as text; both are escaped."""
    title = _one_line(source.title) or _one_line(source.source)
    return f"[{_MARKUP.sub(_ESCAPED, title)}](<{address(source.source)}>)"


def _one_line(text: str) -> str:
    return _BLANKS.sub(" ", _CONTROL.sub(" ", text)).strip()


def address(source: str) -> str:
    """The address of a source for use within `<>`. Encodes characters in a path that would not read as such."""
    if not _IS_URL.match(source):
        source = _NO_PATH.sub(lambda sign: _percent(sign[0]), source)
        if (like := _LIKE_SCHEME.match(source)) is not None:
            source = f"{like[1]}{_percent(':')}{source[like.end() :]}"
    return _BREAKS_ADDRESS.sub(_ESCAPED, _CONTROL.sub(lambda sign: _percent(sign[0]), source))


def _percent(sign: str) -> str:
    return "".join(f"%{byte:02X}" for byte in sign.encode(errors="replace"))


def definitions(sources: Iterable[Source]) -> str:
    """Our list for an answer with citations."""
    return "\n".join((f"{HEADING}\n", *(f"[^{each.number}]: {link(each)}" for each in sources)))


def plain_list(sources: Iterable[Source]) -> str:
    """Our list for an answer without citations."""
    return "\n".join((f"{HEADING}\n", *(f"- {link(each)}" for each in sources)))


class Catalogue:
    """The distinct sources of a turn, and the names by which an answer may list them."""

    def __init__(self, catalogue: Sequence[Source]) -> None:
        first: dict[str, Source] = {}
        self.by_number: dict[int, Source] = {}
        for each in catalogue:
            self.by_number.setdefault(each.number, first.setdefault(each.source, each))
        self.sources = tuple(first.values())
        self.by_address = {address(each.source): each for each in self.sources}
        names = (
            name
            for each in catalogue
            for name in (
                each.title,
                each.source,
                each.source.removesuffix(".md"),
                address(each.source),
                link(each),
            )
        )
        self._names = {_name(name) for name in names} - {""}

    def named_in(self, item: str) -> bool:
        """Whether a list item names a source by its link, title or address, or by title and address."""
        found = [item, *(part for each in _LINK.findall(item) for part in each)]
        found += (part for each in _WIKI_LINK.findall(item) for part in each)
        for sign in _BETWEEN:
            found += (*item.partition(sign), *item.rpartition(sign))
        return any(_name(each) in self._names for each in found)


def _name(text: str) -> str:
    return text.strip(_AROUND).casefold()


def lines_of(answer: str, protected: Protected, catalogue: Catalogue) -> list[Line]:
    """The answer's lines. A line with code other than whole code spans has kind `text`."""
    found: list[Line] = []
    before = ""
    for match in _LINE.finditer(answer):
        start, end = match.span()
        if start == end:
            continue
        content = match[0].rstrip("\r\n")
        kind: LineKind = "blank" if not content.strip(" \t") else "text"
        if kind == "text" and not protected.cut(start, end):
            continued = found[-1].kind if found else "blank"
            kind = _kind(content, continued, catalogue)
            if kind == "text" and continued == "inline" and _UNDERLINE.fullmatch(content):
                kind = _underlined(found, before)
        found.append(Line(kind, start, end))
        before = content
    return found


def _kind(content: str, before: LineKind, catalogue: Catalogue) -> LineKind:
    if _HEADING.fullmatch(content):
        return "heading"
    if _DEFINITION.match(content) or (before == "definition" and _CONTINUED.match(content)):
        return "definition"
    item = _ITEM.fullmatch(content)
    if item is not None and catalogue.named_in(item["text"]):
        return "item"
    if _NUMBERED.fullmatch(content):
        return "numbered"
    return "inline" if _is_inline(content, catalogue) else "text"


def _is_inline(content: str, catalogue: Catalogue) -> bool:
    if _WORD_ALONE.fullmatch(content):
        return True
    inline = _INLINE.fullmatch(content)
    items = _BETWEEN_ITEMS.split(inline["rest"]) if inline is not None else ()
    named = [_NUMBERS.match(item.strip(" \t")) or catalogue.named_in(item) for item in items]
    return bool(named) and all(named)


def _underlined(found: list[Line], before: str) -> LineKind:
    """The kind of an underline: with a lone word before it, both lines become a heading."""
    if not _WORD_ALONE.fullmatch(before):
        return "text"
    found[-1] = found[-1]._replace(kind="heading")
    return "heading"


def trailing_list(lines: Sequence[Line], end: int, *, loose: bool) -> int:
    """The start of the heading of the list of sources that ends the answer; `end` if there is none.

    `loose` counts the kinds `inline` and `numbered` as heading and item, not as text.
    """
    begin = end
    for line in reversed(lines):
        if line.kind == "text" or (not loose and line.kind in ("inline", "numbered")):
            break
        if line.kind in ("heading", "inline"):
            begin = line.start
    return begin


def our_definitions(answer: str, lines: Iterable[Line], catalogue: Catalogue) -> dict[int, Source]:
    """The sources by number from definitions of our form; the first of a number counts, as in Markdown."""
    found: dict[int, Source] = {}
    for line in lines:
        if line.kind == "definition" and (ours := _OURS.fullmatch(answer[line.start : line.end].rstrip("\r\n"))):
            source = catalogue.by_address.get(ours["address"])
            if source is not None:
                found.setdefault(int(ours["number"]), source)
    return found
