"""Reads outline, links and inline tags of a note's text, and counts its words.

pulldown-cmark (through pyromark) parses the Markdown, wikilinks included, in linear time for any input, and
decides what is text, code, HTML or math. Its offsets are bytes of the UTF-8 form, so this module works on bytes
and decodes only the parts that it keeps. What Obsidian reads differently is changed before, without moving a byte:
a comment (`%%`) is blank, and brackets within a wikilink belong to its name.

A long text is parsed in windows, since the parser needs up to 70 times the size of a text in memory. Each begins
with a block that the one before did not end, so the only difference is that a definition of a reference
(`[name]: address`) counts within its window.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any, Final
from urllib.parse import unquote

import msgspec
import pyromark
from pyromark import Options

from ..limits import (
    CONTAINERS_PER_LINE_MAX,
    HEADING_CHARS_MAX,
    HEADINGS_PER_NOTE_MAX,
    LINK_BYTES_MAX,
    LINK_CONTEXT_CHARS_MAX,
    LINK_TARGET_CHARS_MAX,
    LINKS_PER_NOTE_MAX,
    MARKDOWN_BLOCK_BYTES_MAX,
    MARKDOWN_WINDOW_BYTES,
    TAG_CHARS_MAX,
    TAGS_PER_NOTE_MAX,
)
from .formats.kinds import IMAGE, is_image_name, kind_of

_PARSER: Final = pyromark.Markdown(
    options=Options.ENABLE_TABLES
    | Options.ENABLE_FOOTNOTES
    | Options.ENABLE_STRIKETHROUGH
    | Options.ENABLE_TASKLISTS
    | Options.ENABLE_MATH
    | Options.ENABLE_WIKILINKS
)
LINE_END = re.compile(r"\r\n?|\n")
_LINE_END = re.compile(rb"\r\n?|\n")
_LONE_CR = re.compile(r"\r(?!\n)")
_COMMENT = re.compile(b"%%")
_BRACKETED = re.compile(
    r"(?<!\\)\[\[("
    r"(?:[^\[\]\r\n]*\[[^\[\]\r\n]*\](?!\())+[^\[\]\r\n]*"
    r"|[^\[\]\r\n]+\][^\[\]\r\n(][^\[\]\r\n]*"
    r"|[^\[\]\r\n#|]+#(?:[^\[\]\r\n]*\[[^\[\]\r\n]*\])+[^\[\]\r\n]*"
    r")\]\]"
)
"""A wikilink with brackets in its name, such as `[[draft [2]]]`, which the parser takes for none.
A heading may be a link."""
_OPENED, _CLOSED = "\x02", "\x03"
"""What stands for such brackets while the parser reads."""
_MARK = r"[ \t]*+(?:>|[-+*](?=[ \t])|\d{1,9}[.)](?=[ \t]))"
"""The mark of a quote or of a list item."""
_TOO_MANY_MARKS = re.compile(rf"(?m)^(?:{_MARK}){{{CONTAINERS_PER_LINE_MAX}}}(?P<rest>(?:{_MARK})++)")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_SUFFIX = re.compile(r"\.[A-Za-z0-9]{1,8}\Z")
_IMAGE = re.compile(r"(?i)\.(?:avif|bmp|gif|jpe?g|png|svg|webp)\s*(?:#|\Z)")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
# Obsidian's tags: anything but blanks, ASCII punctuation (save _ - /) and general punctuation.
_TAG_CHARACTER = r"[^\s\u2000-\u206f\u2e00-\u2e7f'!\"#$%&()*+,.:;<=>?@^`{|}~\[\]\\]"
_TAG = re.compile(rf"(?<!\S)#({_TAG_CHARACTER}{{1,1000}})")
_LIKE_TAG = re.compile(rf"#{_TAG_CHARACTER}")
_IDEOGRAPH = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_WORD = re.compile(rf"[^\W{_IDEOGRAPH}]++(?:['’-][^\W{_IDEOGRAPH}]++)*+|[{_IDEOGRAPH}]")
_ASCII_KINDS: Final = bytes(
    ord("w") if chr(each).isalnum() or each == ord("_") else ord("-") if each in b"'-" else ord(" ")
    for each in range(128)
).ljust(256)
"""For `bytes.translate`: `w` for what words are made of, `-` for what joins them."""
_COUNTED_CHARS: Final = 65_536
"""Words are counted in so many characters at once, so that a large body needs little memory."""


class Heading(msgspec.Struct, frozen=True):
    """An ATX or setext heading. `text` is without markup; `line` is the 1-based raw line where it begins."""

    level: int
    text: str
    line: int


class Link(msgspec.Struct, frozen=True):
    """One link, or embed, to a note or another file; or a wikilink in a property.

    A wikilink's target is as written, without heading, block and alias. A Markdown link's target is its
    percent-decoded path, relative to the linking note's folder, or to the vault's root when it begins with `/`.
    """

    target: str
    raw: str
    """The link's text in the source."""
    heading: str | None
    block: str | None
    alias: str | None
    embed: bool
    wiki: bool
    line: int
    """The 1-based raw line where the link begins."""
    start: int
    """The byte offset of the link in the UTF-8 form of the text."""
    key: str | None = None
    """The property that holds it; None: it stands in the body."""


class Markdown(msgspec.Struct, frozen=True):
    """Headings, links and tags of a text, in document order."""

    headings: tuple[Heading, ...]
    links: tuple[Link, ...]
    """Every occurrence. Links within the same note (`[[#heading]]`) and to sites or images are left out."""
    tags: tuple[str, ...]
    """Inline tags without `#`; of several spellings of a tag the most frequent."""
    complete: bool = True
    """Whether nothing was left out for the limits on headings, links and tags per note."""


def parse_markdown(text: str, more: Sequence[Link] = ()) -> Markdown:
    """Reads a text. Linear in its length. `more`: links of its properties, which come before its own."""
    return _Reader(_encoded(text), more).read()


NO_MARKDOWN: Final = Markdown((), (), ())
"""What is found in a text that is no Markdown."""


class Block(msgspec.Struct, frozen=True):
    """A paragraph, list, item, table, quote, code block or the like; lines are 1-based raw lines."""

    kind: str
    """The parser's name of it, such as `Item`."""
    parent: int
    """The index of the block around it; -1 for none."""
    first_line: int
    last_line: int
    """The last line that is not blank."""


_NO_BLOCKS: Final = frozenset(
    {"Link", "Image", "Emphasis", "Strong", "Strikethrough", "TableHead", "TableRow", "TableCell"}
)


def parse_blocks(text: str) -> list[Block]:
    """The blocks of a text, in the order of their beginnings."""
    source = _encoded(text)
    lines = _Lines(source)
    blocks: list[Block] = []
    around = [-1]
    for event, start, stop in _events(source):
        value = (event.get("Start") or event.get("End")) if type(event) is dict else None
        kind = value if value is None or type(value) is str else next(iter(value))
        if kind is None or kind in _NO_BLOCKS:
            continue
        if "End" in event:
            around.pop()
            continue
        part = source[start:stop]  # Behind a tab the parser lets an item begin in the line before.
        first = start + len(part) - len(part.lstrip()) if part.strip() else start
        last = max(first, start + len(part.rstrip()) - 1)
        blocks.append(Block(kind, around[-1], lines.number(first), lines.number(last)))
        around.append(len(blocks) - 1)
    return blocks


def word_count(text: str) -> int:
    """Words: runs of letters and digits, joined by apostrophe or hyphen; each ideograph or kana counts as one."""
    count = begin = 0
    while begin < len(text):
        end = text.find("\n", begin + _COUNTED_CHARS) + 1 or len(text)
        lines = text[begin:end].split("\n")
        count += _ascii_word_count("\n".join(filter(str.isascii, lines)))
        count += sum(1 for _ in _WORD.finditer("\n".join(each for each in lines if not each.isascii())))
        begin = end
    return count


def _ascii_word_count(text: str) -> int:
    """As `word_count`, six times as fast: the runs of letters and digits that no mark joins to the one before."""
    joined = b" " + text.encode().translate(_ASCII_KINDS).replace(b"w-", b"wj")
    return joined.count(b" w") + joined.count(b"-w")


def title_and_tags(text: str) -> tuple[str | None, tuple[str, ...]]:
    """The first level-one heading with a text, and the tags that `parse_markdown` finds."""
    source = _encoded(text)
    if not _LIKE_TAG.search(text):
        return _title(source), ()
    reader = _Reader(source)
    tags = reader.read().tags
    return reader.title, tags


def _title(source: bytes) -> str | None:
    parts: list[str] | None = None
    for event, _, _ in _events(source):
        if type(event) is str:  # SoftBreak, HardBreak, Rule
            if parts is not None:
                parts.append(" ")
            continue
        ((kind, value),) = event.items()
        if kind == "Start" and type(value) is dict and value.get("Heading", {}).get("level") == "H1":
            parts = []
        elif parts is not None and kind in ("Text", "Code", "InlineMath", "DisplayMath"):
            parts.append(value)
        elif parts is not None and kind == "End" and type(value) is dict and "Heading" in value:
            if title := _heading_text(parts):
                return title
            parts = None
    return None


def embedded_images(text: str) -> tuple[str, ...]:
    """The distinct addresses of the images in a text, in document order.

    They are the file of `![[x.png]]` and the address of `![](...)` unless it leads to a note. A long address, such
    as a data URI, is cut.
    """
    if "![" not in text:
        return ()
    found: dict[str, None] = {}
    for event, _, _ in _events(_encoded(text)):
        value = event.get("Start") if type(event) is dict else None
        image = value.get("Image") if type(value) is dict else None
        if image is None:
            continue
        address, written = image["dest_url"], image["link_type"]
        wiki = isinstance(written, dict) and "WikiLink" in written
        if wiki:
            address = address.removesuffix("\\")  # of `![[x.png\|100]]` in a table
        if _IMAGE.search(address) if wiki else _path_target(address, embed=True) is None:
            found[address[:LINK_TARGET_CHARS_MAX]] = None
    return tuple(found)


def link_contexts(text: str, links: Sequence[Link]) -> list[str]:
    """The line where each link begins, trimmed; of a long line at most 240 characters around the link."""
    if not links:
        return []
    lines = LINE_END.split(text) if "\r" in text else text.split("\n")
    source = b""
    contexts = []
    for link in links:
        line = lines[link.line - 1]
        if len(line) > LINK_CONTEXT_CHARS_MAX:
            source = source or text.encode(errors="replace")
            contexts.append(_around(source, link))
        else:
            contexts.append(line.strip())
    return contexts


def _around(source: bytes, link: Link) -> str:
    """The text around `link` in its line of `source`."""
    start, end = link.start, link.start + len(link.raw.encode(errors="replace"))
    # A character has at most four bytes. Only this window is read, however long the line: it may have thousands of
    # links.
    reach = LINK_CONTEXT_CHARS_MAX * 4
    first, last = max(0, start - reach), min(len(source), end + reach)
    line_start = max(source.rfind(b"\n", first, start), source.rfind(b"\r", first, start), first - 1) + 1
    ends = source.find(b"\n", start, last), source.find(b"\r", start, last)
    line_end = min((end for end in ends if end >= 0), default=last)
    end = min(end, line_end)
    before = source[line_start:start].decode(errors="ignore").lstrip()
    written = source[start:end].decode(errors="ignore")[:LINK_CONTEXT_CHARS_MAX]
    after = source[end:line_end].decode(errors="ignore").rstrip()
    spare = LINK_CONTEXT_CHARS_MAX - len(written)
    left = min(len(before), max(spare // 2, spare - len(after)))
    return (before[len(before) - left :] + written + after[: spare - left]).strip()


def _encoded(text: str) -> bytes:
    """`text` in UTF-8. Only bytes are kept: the parser makes a string keep its UTF-8 form, which would double a
    cached note."""
    return text.encode(errors="replace")


def _events(source: bytes) -> Iterator[tuple[Any, int, int]]:
    """The parser's events, with the offsets of the bytes that they are about."""
    return _windows(_fed(source))


def _windows(fed: bytes) -> Iterator[tuple[Any, int, int]]:
    begin, size = 0, MARKDOWN_WINDOW_BYTES
    while begin < len(fed):
        is_one_line = fed.find(b"\n", begin, begin + size) < 0
        longest = size if is_one_line else MARKDOWN_BLOCK_BYTES_MAX
        end = min(fed.find(b"\n", begin + size) + 1 or len(fed), begin + longest)
        while end < len(fed) and fed[end] & 0xC0 == 0x80:  # within a character
            end -= 1
        text = fed[begin:end].decode()
        stop = end - begin if end == len(fed) or is_one_line else _last_block(text)
        if stop == 0 and size < MARKDOWN_BLOCK_BYTES_MAX:  # one block: a longer window
            size *= 2
            continue
        stop = stop or end - begin
        for event, place in _PARSER.events_with_range(text, merge_text=True):
            if place["start"] >= stop:
                break
            yield event, begin + place["start"], begin + place["end"]
        begin, size = begin + stop, MARKDOWN_WINDOW_BYTES


def _last_block(text: str) -> int:
    """Where the last block begins that stands in no other."""
    last = depth = 0
    event: Any
    for event, place in _PARSER.events_with_range(text, merge_text=True):
        if type(event) is dict and "Start" in event:
            last = place["start"] if depth == 0 else last
            depth += 1
        elif type(event) is dict and "End" in event:
            depth -= 1
    return last


def _fed(source: bytes) -> bytes:
    """The text as the parser is to read it, without moving any offset.

    A lone CR becomes a line feed, since the parser does not end an HTML block or a fence there. Containers nested
    too deep in one line become text.
    """
    text = source.decode()
    if "\r" in text:
        text = _LONE_CR.sub("\n", text)
    text = _TOO_MANY_MARKS.sub(_as_text, text)
    if "[[" in text and _OPENED not in text and _CLOSED not in text:
        text = _BRACKETED.sub(_with_marks, text)
    if "%%" in text:
        return _without_comments(text.encode())
    return text.encode()


def _with_marks(found: re.Match[str]) -> str:
    return f"[[{found[1].replace('[', _OPENED).replace(']', _CLOSED)}]]"


def _plain(text: str) -> str:
    """The text with the brackets that `_with_marks` replaced."""
    return text.replace(_OPENED, "[").replace(_CLOSED, "]")


def _without_comments(source: bytes) -> bytes:
    """The text with blanks for each byte between two `%%` that do not stand in code."""
    edges: list[int] = []
    behind = 0
    for event, start, end in _windows(source):
        kind, value = next(iter(event.items())) if type(event) is dict else (event, "")
        if kind in ("Code", "InlineMath", "DisplayMath") or (kind == "Start" and "CodeBlock" in value):
            edges += (found.start() for found in _COMMENT.finditer(source, behind, start))
            behind = max(behind, end)
    edges += (found.start() for found in _COMMENT.finditer(source, behind))
    parts, behind = list[bytes](), 0
    for start, end in zip(edges[::2], edges[1::2], strict=False):  # the last may have no other
        parts += [source[behind:start], blanked(source[start : end + 2])]
        behind = end + 2
    return b"".join([*parts, source[behind:]])


def blanked(part: bytes) -> bytes:
    """A blank for each byte, so that lines and offsets behind it stay."""
    return re.compile(rb"[^\r\n]").sub(b" ", part)


def _as_text(found: re.Match[str]) -> str:
    begin = found.start("rest") - found.start()
    return found[0][:begin] + "." * (len(found[0]) - begin)


def _heading_text(parts: list[str]) -> str:
    return " ".join(_plain("".join(parts)).split())[:HEADING_CHARS_MAX]


class _Lines:
    """Line numbers by byte offset."""

    def __init__(self, source: bytes) -> None:
        self.starts = list(accumulate(map(len, source.splitlines(keepends=True)), initial=0))

    def number(self, offset: int) -> int:
        return bisect_right(self.starts, offset)


def _distinct(tags: Mapping[str, int]) -> tuple[str, ...]:
    """The tags, those that differ in case once: as they are written most often, else first."""
    best: dict[str, str] = {}
    for tag, count in tags.items():
        before = best.setdefault(tag.casefold(), tag)
        if count > tags[before]:
            best[tag.casefold()] = tag
    return tuple(best.values())


class _Opened(msgspec.Struct):
    """A link whose end was not read yet. `slot` is its index among the links, -1 if it leads to no note."""

    slot: int
    parts: int


class _Reader:
    """Takes the parser's events. One instance reads one text."""

    def __init__(self, source: bytes, more: Sequence[Link] = ()) -> None:
        self.source = source
        self.fed = _fed(source)
        self.lines = _Lines(source)
        self.headings: list[Heading] = []
        self.links = list(more)
        self.tags: dict[str, int] = {}
        """How often each tag occurs, as it is written."""
        self.complete = True
        self.has_tags = b"#" in self.fed
        self.opened: list[_Opened] = []
        self.parts: list[str] = []
        self.heading: tuple[int, int] | None = None
        self.title: str | None = None
        """The first level-one heading with a text."""
        self.in_code = False
        self.fresh = True
        """Whether the next text begins a block, a line or a span, as a tag must."""

    def read(self) -> Markdown:
        fed, opened = self.fed, self.opened
        for event, begin, end in _windows(fed):
            if type(event) is str:  # SoftBreak, HardBreak, Rule
                self.text(" ")
                self.fresh = True
                continue
            kind, value = event.popitem()
            if kind == "Text":
                if not self.in_code:
                    self.text(value)
                    if self.has_tags and not opened and fed.find(b"#", begin, end) >= 0:
                        self.find_tags(begin, end)
                self.fresh = False
            elif kind == "Start":
                self.fresh = True
                if type(value) is not str:
                    self.start(value, begin, end)
            elif kind == "End":
                self.fresh = False
                if opened or self.heading is not None or self.in_code:
                    self.end(value)
            else:
                if kind in ("Code", "InlineMath", "DisplayMath"):
                    self.text(value)
                self.fresh = kind == "TaskListMarker"
        return Markdown(tuple(self.headings), tuple(self.links), _distinct(self.tags), self.complete)

    def text(self, value: str) -> None:
        if self.opened or self.heading is not None:
            self.parts.append(value)

    def start(self, value: dict[str, Any], start: int, end: int) -> None:
        kind, data = value.popitem()
        if kind == "Link" or kind == "Image":
            self.fresh = False
            slot = -1
            is_full = len(self.links) >= LINKS_PER_NOTE_MAX
            if end - start <= LINK_BYTES_MAX and (self.complete or not is_full):  # else nothing new is learnt
                link = self.link(data, kind == "Image", start, end)
                if link is not None and not is_full:
                    slot = len(self.links)
                    self.links.append(link)
                elif link is not None:
                    self.complete = False
            self.opened.append(_Opened(slot, len(self.parts)))
        elif kind == "Heading":
            self.heading = (int(data["level"][1:]), start)
        elif kind == "CodeBlock":
            self.in_code = True

    def end(self, value: Any) -> None:
        kind = value if isinstance(value, str) else next(iter(value))
        if kind == "Link" or kind == "Image":
            opened = self.opened.pop()
            if opened.slot >= 0 and not self.links[opened.slot].wiki:
                alias = _plain("".join(self.parts[opened.parts :])).strip() or None
                self.links[opened.slot] = msgspec.structs.replace(self.links[opened.slot], alias=alias)
        elif kind == "Heading" and self.heading is not None:
            level, start = self.heading
            text = _heading_text(self.parts)
            if level == 1 and self.title is None:
                self.title = text or None
            if len(self.headings) < HEADINGS_PER_NOTE_MAX:
                self.headings.append(Heading(level, text, self.lines.number(start)))
            else:
                self.complete = False
            self.heading = None
        elif kind == "CodeBlock":
            self.in_code = False
        if not self.opened and self.heading is None:
            self.parts.clear()

    def link(self, data: dict[str, Any], embed: bool, start: int, end: int) -> Link | None:
        """The link in these bytes, or None if it leads to no note."""
        found = _link_name(data, embed)
        if found is None:
            return None
        (target, heading, block), wiki = found
        raw = self.source[start:end].decode()
        alias = None
        if wiki:
            _, bar, written = raw[: -len("]]")].partition("|")
            alias = written.strip() or None if bar else None
        return Link(target, raw, heading, block, alias, embed, wiki, self.lines.number(start), start)

    def find_tags(self, start: int, end: int) -> None:
        """Adds the tags in a text, searched in the source because escapes and entities make no tags."""
        for found in _TAG.finditer(self.fed[start:end].decode()):
            if found.start() == 0 and not self.may_begin(start):
                continue
            tag = found[1].rstrip("/")
            if not tag or tag.isdecimal() or len(tag) > TAG_CHARS_MAX:
                continue
            if tag in self.tags or len(self.tags) < TAGS_PER_NOTE_MAX:
                self.tags[tag] = self.tags.get(tag, 0) + 1
            else:
                self.complete = False

    def may_begin(self, start: int) -> bool:
        before = self.source[start - 1 : start]
        return before != b"\\" and (self.fresh or before.isspace())


def _link_name(data: dict[str, Any], embed: bool) -> tuple[tuple[str, str | None, str | None], bool] | None:
    """((target, heading, block), whether it is a wikilink) of a parser's link; None if it leads to no note."""
    written = data["link_type"]
    wiki = isinstance(written, dict) and "WikiLink" in written
    if wiki:
        # Brackets that stand there without our marks are not of a name, as in `[[![image](x.png)]](b.md)`.
        name = data["dest_url"].partition("#")[0]
        named = wiki_target(_plain(data["dest_url"])) if "[" not in name and "]" not in name else None
    elif written in ("Autolink", "Email"):
        return None
    else:
        named = _path_target(data["dest_url"], embed)
    return (named, wiki) if named is not None else None


def wiki_target(written: str) -> tuple[str, str | None, str | None] | None:
    """(target, heading, block) of `target#heading`, `target#^block` or `target^block`."""
    if "\n" in written or "\r" in written:
        return None
    # In a table the bar before the alias is written `\|`; the parser leaves the backslash.
    written = written.removesuffix("\\")
    name, mark, rest = written.partition("#")
    if "://" in name or is_image_name(name.strip()):
        return None
    heading = block = None
    if "^" in name:
        name, _, block = name.partition("^")
    elif mark and rest.startswith("^"):
        block = rest[1:]
    elif mark:
        heading = rest
    return _checked(name, heading, block)


def _path_target(url: str, embed: bool) -> tuple[str, str | None, str | None] | None:
    """(target, heading, block) of a Markdown link's address; None for a site, an image or an empty one."""
    if _SCHEME.match(url) or url.startswith("//"):
        return None
    path, _, fragment = url.partition("#")
    asked, mark, _ = path.partition("?")
    if mark and asked.lower().endswith(".md"):
        path = asked
    path = unquote(path)
    # Other files are those that a user may look at; images are read by `embedded_images`.
    is_file = path.lower().endswith(".md") or kind_of(path) not in (IMAGE, "file")
    if not is_file and (embed or path.endswith("/") or _SUFFIX.search(path)):
        return None
    fragment = unquote(fragment)
    if fragment.startswith("^"):
        return _checked(path, None, fragment[1:])
    return _checked(path, fragment, None)


def _checked(name: str, heading: str | None, block: str | None) -> tuple[str, str | None, str | None] | None:
    name = name.strip()
    if not name or len(name) > LINK_TARGET_CHARS_MAX or _CONTROL.search(name):
        return None
    return name, (heading or "").strip() or None, (block or "").strip() or None
