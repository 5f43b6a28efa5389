"""A second reading of notes, by other libraries: what `make oracle` holds the product's against.

markdown-it-py reads the blocks and spans, ruamel.yaml the front matter, Unicode's names tell what people type for
a sign; wikilinks, comments, tags, addresses and anchors are read here by the definitions alone
(docs/reference/notes.md), so that a mistake must be made twice to go unseen. Slow and plain on purpose.
"""

import json
import re
import unicodedata
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple
from urllib.parse import unquote

import regex
from markdown_it import MarkdownIt
from markdown_it.parser_inline import ParserInline
from markdown_it.rules_block import StateBlock, table
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.footnote import footnote_plugin
from ruamel.yaml import YAML
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from workspaced_tools.notes.formats.kinds import kind_of

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z")
_NAME = r"(?:[^\[\]|\r\n]|\[[^\[\]\r\n]*\](?!\()|\](?![\](]))+"
_WIKILINK = re.compile(rf"\[\[({_NAME}(?:\|(?:(?!\[\[|\]\])[^\r\n])*\]?)?)\]\]")
_DASHES = re.compile(r"[ >\t]*-+\s*")
_SITE = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.\-]+:|//)")
_EXTENSION = re.compile(r"\.([A-Za-z0-9]{1,8})$")
_TAG_STOP = re.compile(r"[\s\u2000-\u206f\u2e00-\u2e7f]|[!-,.:-@\[-^`{-~]")  # all of ASCII's marks but - / _
_ACCENT = re.compile(r"[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]")
_SHOWS_NOTHING = regex.compile(r"\p{Default_Ignorable_Code_Point}")
_CODE = {"code_inline", "code_block", "fence", "math_inline", "math_inline_double", "math_block"}


class Heading(NamedTuple):
    level: int
    text: str
    line: int


class Link(NamedTuple):
    target: str
    heading: str | None
    block: str | None
    alias: str | None
    embed: bool
    wiki: bool
    line: int
    key: str | None = None


class Reading(NamedTuple):
    """What one text holds."""

    fields: dict[str, Any]
    body_offset: int
    body_line: int
    headings: list[Heading]
    links: list[Link]
    tags: list[str]
    title: str | None
    anchors: list[tuple[str, int]]
    """GitHub's anchors of the headings, and the lines where they lead."""
    folded: str
    """As search compares the text."""


def read(text: str) -> Reading:
    front = _front_matter(text)
    headings, links, tags = read_body(front.prose)
    titles = {key: value for key, value in front.fields.items() if key.casefold() == "title"}
    own = titles.get("title", next(iter(titles.values()), None))
    first = next((heading.text for heading in headings if heading.level == 1 and heading.text), None)
    return Reading(
        front.fields,
        front.body_offset,
        front.body_line,
        headings,
        front.links + links,
        tags,
        (" ".join(_written(own).splitlines()).strip() if type(own) in {str, int, float, bool} else "") or first,
        list(_led(headings)),
        fold(text),
    )


def read_body(body: str) -> tuple[list[Heading], list[Link], list[str]]:
    headings: list[Heading] = []
    links: list[Link] = []
    tags: Counter[str] = Counter()
    tokens = _MARKDOWN.parse(_without_comments(body))
    for before, token in zip([None, *tokens], tokens, strict=False):
        if token.type != "inline" or token.map is None:
            continue
        first = token.map[0] + 1
        if before is not None and before.type == "heading_open":
            headings.append(Heading(int(before.tag[1]), " ".join(_plain(token.children or []).split()), first))
        for place, child in enumerate(token.children or []):
            found = _link(child)
            if found is not None:
                above = token.content[: child.meta.get("at", 0)].count("\n")
                alias = found.alias if found.wiki else _shown(token.children or [], place)
                links.append(found._replace(line=first + above, alias=alias))
        tags.update(_tags(token.children or []))
    spelled = {tag.casefold(): tag for tag, _ in reversed(tags.most_common())}
    once = [spelled[each] for each in dict.fromkeys(map(str.casefold, tags))]
    return sorted(headings, key=lambda heading: heading.line), links, once


def _without_comments(text: str) -> str:
    """The text with blanks from one `%%` to the next, those in code aside.

    The parser tells no places, so each `%%` is another character while it looks for code.
    """
    parts = text.split("%%")
    marks = [chr(0x100000 + number) for number in range(len(parts) - 1)]
    marked = "".join(part + mark for part, mark in zip(parts, [*marks, ""], strict=True))
    tokens = [each for token in _MARKDOWN.parse(marked) if marks for each in (token, *(token.children or []))]
    code = "".join(token.content for token in tokens if token.type in _CODE)
    edges = [mark for mark in marks if mark not in code]
    for start, end in zip(edges[::2], edges[1::2], strict=False):
        head, comment, tail = re.split(f"{start}|{end}", marked)
        marked = head + re.sub(r"[^\r\n]", " ", comment) + "    " + tail
    return re.sub("[\U00100000-\U0010fffd]", "%%", marked)


def anchors(headings: Sequence[Heading]) -> list[str]:
    """github-slugger: letters, marks, digits, connectors and hyphens stay."""
    found: list[str] = []
    for heading in headings:
        kinds = [(each, unicodedata.category(each)) for each in heading.text.lower()]
        letters = [each for each, kind in kinds if each in " -" or re.match("[LMN]|Pc", kind)]
        anchor = plain = "".join(letters).replace(" ", "-")
        number = found.count(plain)
        while anchor in found:
            anchor, number = f"{plain}-{number}", number + 1
        found.append(anchor)
    return found


def _led(headings: Sequence[Heading]) -> Iterator[tuple[str, int]]:
    """Each anchor and the line where it leads: a heading that reads so comes before the one whose anchor it is."""
    for anchor, heading in zip(anchors(headings), headings, strict=True):
        if not anchor:  # an empty fragment leads to the page
            continue
        reads_so = (each for each in headings if _words(each.text) == _words(anchor))
        yield anchor, next(reads_so, heading).line


def _words(heading: str) -> list[str]:
    """Obsidian takes the marks in a heading for blanks, but for `'`, `-` and `_`."""
    return re.sub(r"[!-&(-,./:-@\[-^`{-~]", " ", heading.casefold()).split()


# Front matter


class _Front(NamedTuple):
    fields: dict[str, Any]
    links: list[Link]
    body_offset: int
    body_line: int
    prose: str
    """The text with blank lines for what was read."""


class _Unreadable(Exception):
    pass


def _front_matter(text: str) -> _Front:
    """Entry by entry where the whole cannot be read; what cannot be read is text."""
    lines = _LINE.findall(text)
    ends = [at for at, line in enumerate(lines) if line.rstrip(" \t\r\n") in {"---", "..."}]
    none = _Front({}, [], 0, 1, text)
    end = next((at for at in ends if at > 0), 0)
    if end == 0 or lines[0].rstrip(" \t\r\n") != "---":
        return none
    block, behind = lines[1:end], "".join(lines[end + 1 :])
    try:
        fields, links = _load("".join(block), 2)
        if not fields and not all(map(_is_switched_off, block)):
            return none
        return _Front(fields, links, len(text) - len(behind), end + 2, _blank(lines[: end + 1]) + behind)
    except _Unreadable:
        pass
    fields, links, prose = dict[str, Any](), list[Link](), list[str]()
    begins = [at for at, line in enumerate(block) if at == 0 or re.match(r"[^\s#\-\]}:]|-[^\s-]", line)]
    for begin, stop in zip(begins, [*begins[1:], end - 1], strict=True):
        entry = block[begin:stop]
        try:
            more, linked = _load("".join(entry), begin + 2)
            if more.keys() & fields.keys():
                raise _Unreadable
            fields |= more
            links += linked
            prose.append(_blank(entry))
        except _Unreadable:
            prose += entry
    if not fields:
        return none
    dashes = _blank(lines[:1]), _blank(lines[end : end + 1])
    return none._replace(fields=fields, links=links, prose="".join([dashes[0], *prose, dashes[1], behind]))


def _blank(lines: Sequence[str]) -> str:
    return re.sub(r"[^\r\n]", " ", "".join(lines))


def _is_switched_off(line: str) -> bool:
    return re.fullmatch(r"\s*(?:#\s*(?:[\w-]+:.*|-.*)?)?\s*", line) is not None


def _load(source: str, first: int) -> tuple[dict[str, Any], list[Link]]:
    """The values and the links in them; `first` is the line of the file where `source` begins.

    Raises:
        _Unreadable: it is no mapping.
    """
    try:
        with warnings.catch_warnings(action="ignore"):  # an anchor used twice
            root = YAML(typ="safe", pure=True).compose(source)
    except Exception:
        raise _Unreadable from None
    if root is None or (isinstance(root, ScalarNode) and not root.value and not root.style):
        return {}, []
    if not isinstance(root, MappingNode):
        raise _Unreadable
    links: list[Link] = []
    return _value(root, source, [], links, first), links


def _value(node: Node, source: str, path: list[str], links: list[Link], first: int) -> Any:
    start, end = node.start_mark.index, node.end_mark.index
    if isinstance(node, MappingNode):
        found: dict[str, Any] = {}
        for key, value in node.value:
            if not isinstance(key, ScalarNode) or key.value in found or not (key.value or key.style):
                raise _Unreadable
            found[key.value] = _value(value, source, [*path, key.value], links, first)
        return found
    at = start
    written = node.value if isinstance(node, ScalarNode) else source[start:end]
    if isinstance(node, SequenceNode) and not (node.flow_style and _WIKILINK.fullmatch(written)):
        return [_value(each, source, path, links, first) for each in node.value]
    for link in _WIKILINK.finditer(written):
        if source.find(link[0], at, end) >= 0:
            at = source.find(link[0], at, end)
        name, bar, alias = link[1].partition("|")
        line = first + len(_LINE.findall(source[:at] + "x")) - 1
        if target := _target(name, wiki=True):
            links.append(
                target._replace(
                    alias=(alias.strip() or None) if bar else None, wiki=True, line=line, key=".".join(path)
                )
            )
    if isinstance(node, SequenceNode):
        return [_value(each, source, path, [], first) for each in node.value]
    return _scalar(node.value) if node.style is None and node.tag.startswith("tag:yaml.org") else node.value


def _scalar(text: str) -> Any:
    """A number, if JSON writes it so; else what is written."""
    if text in {"", "~", "null"}:
        return None
    try:
        value = json.loads(text)
    except ValueError:
        return text
    is_one = isinstance(value, bool) or (isinstance(value, int | float) and abs(value) <= 2**53)
    return value if is_one and _written(value) == text else text


def _written(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


# Search

_SIGNS = {  # by Unicode's names of the signs and letters
    r".*SINGLE.*QUOTATION MARK|PRIME|MODIFIER LETTER (?:APOSTROPHE|PRIME|TURNED COMMA)": "'",
    r"HEBREW PUNCTUATION GERESH|ACUTE ACCENT": "'",
    r".*DOUBLE.*QUOTATION MARK|DOUBLE PRIME|HEBREW PUNCTUATION GERSHAYIM": '"',
    r"HYPHEN|NON-BREAKING HYPHEN|(?:FIGURE|EN|EM) DASH|HORIZONTAL BAR|MINUS SIGN|.* MAQAF": "-",
    r"WAVE DASH": "~",
    r"LATIN SMALL (?:LETTER|LIGATURE) (AE|OE|[A-Z])(?: WITH STROKE)?|LATIN SMALL LETTER DOTLESS (I)": r"\1\2",
    r"LATIN SMALL LETTER ETH": "d",
    r"LATIN SMALL LETTER THORN": "th",
    r"HEBREW (?:POINT|ACCENT|MARK) .*": "",
    r"ARABIC (?:(?:FATHA|DAMMA|KASRA)(?:TAN)?|SHADDA|SUKUN|LETTER SUPERSCRIPT ALEF|TATWEEL)": "",
}


def fold(text: str) -> str:
    for form in ("NFC", "NFKD", "NFKD"):
        text = "".join(map(_typed, unicodedata.normalize(form, text).casefold()))
    return " ".join(unicodedata.normalize("NFC", text).split())


@cache
def _typed(sign: str) -> str:
    """What people type for one character."""
    if sign == "\0":
        return " "
    if _ACCENT.match(sign) or _SHOWS_NOTHING.match(sign):
        return ""
    for names, typed in _SIGNS.items():
        if found := re.fullmatch(names, unicodedata.name(sign, "")):
            return found.expand(typed).lower()
    return sign


# Spans


class _State(StateInline):
    """Notes with each token where in the block's content it begins."""

    def push(self, ttype: str, tag: str, nesting: Any) -> Token:
        token = super().push(ttype, tag, nesting)
        token.meta["at"] = self.pos
        return token


class _Inline(ParserInline):
    def parse(self, src: str, md: MarkdownIt, env: Any, tokens: list[Token]) -> list[Token]:
        state = _State(src, md, env, tokens)
        self.tokenize(state)
        for rule in self.ruler2.getRules(""):
            rule(state)
        return state.tokens


def _wikilink(state: StateInline, silent: bool) -> bool:
    embed = state.src.startswith("![[", state.pos)
    found = _WIKILINK.match(state.src, state.pos + embed, state.posMax)
    if found is None or not _whole(state, found.start(1), found.end(1)):
        return False
    if not silent:
        token = state.push("wikilink", "", 0)
        token.content = found[1]
        token.meta["embed"] = embed
    state.pos = found.end()
    return True


def _whole(state: StateInline, start: int, end: int) -> bool:
    """Whether no escape, code, math or HTML that begins within reaches beyond: they bind tighter."""
    before, state.pos = state.pos, start
    while state.pos < end:
        state.md.inline.skipToken(state)
    beyond, state.pos = state.pos > end, before
    return not beyond


def _table(state: StateBlock, first: int, last: int, silent: bool) -> bool:
    """As GitHub's parser: a bare line of dashes below makes a heading, never a table."""
    if first < last and _DASHES.fullmatch(state.getLines(first + 1, first + 2, 0, False)):
        return False
    return table(state, first, last, silent)


def _made() -> MarkdownIt:
    markdown = MarkdownIt("commonmark")
    markdown.inline = _Inline()
    markdown.configure("commonmark").enable(["table", "strikethrough"])
    footnote_plugin(markdown)
    dollarmath_plugin(markdown, allow_labels=False, allow_space=False, allow_digits=True, double_inline=True)
    markdown.disable(["footnote_tail", "footnote_inline", "text_join"])
    markdown.block.ruler.at("table", _table, {"alt": ["paragraph", "reference"]})
    markdown.inline.ruler.before("link", "wikilink", _wikilink)
    markdown.normalizeLink = lambda url: url  # type: ignore[method-assign]
    markdown.validateLink = lambda _url: True  # type: ignore[method-assign]
    return markdown


_MARKDOWN = _made()


def _plain(children: Sequence[Token]) -> str:
    return "".join(_parts(children))


def _parts(children: Sequence[Token]) -> Iterator[str]:
    for child in children:
        if child.type in {"softbreak", "hardbreak"}:
            yield " "
        elif child.type == "image":
            yield _plain(child.children or [])
        elif child.type == "wikilink":
            name, _, alias = child.content.partition("|")
            yield alias or name
        elif child.type != "html_inline":
            yield child.content


def _shown(children: Sequence[Token], place: int) -> str | None:
    """The text of the Markdown link or image that begins at `place`."""
    end, level = place, children[place].level
    if children[place].type == "link_open":
        while (children[end].type, children[end].level) != ("link_close", level):
            end += 1
    return _plain(children[place : end + 1]).strip() or None


def _tags(children: Sequence[Token]) -> Iterator[str]:
    """`#name` at the beginning of a line, of a span or after a blank, not in a link; more than digits."""
    written, in_links = "", 0
    for child in children:
        in_links += child.nesting if child.type in {"link_open", "link_close"} else 0
        if child.type != "text":
            begins = child.nesting > 0 or child.type in {"softbreak", "hardbreak"}
            written = "" if begins else child.content if child.info == "escape" else "x"
            continue
        text = child.content
        for place, letter in enumerate(text):
            before = text[place - 1] if place else written[-1:]
            if letter == "#" and (not before or before.isspace()):
                stop = _TAG_STOP.search(text, place + 1)
                name = text[place + 1 : stop.start() if stop else None].rstrip("/")
                if name and not name.isdigit() and not in_links:
                    yield name
        written = text or written


# Addresses


def _link(token: Token) -> Link | None:
    if token.type == "wikilink":
        name, bar, alias = token.content.partition("|")
        target = _target(name.removesuffix("\\"), wiki=True)
        return target and target._replace(
            alias=(alias.strip() or None) if bar else None, embed=token.meta["embed"], wiki=True
        )
    if token.type in {"link_open", "image"}:
        address = str(token.attrGet("href" if token.type == "link_open" else "src") or "")
        if _SITE.match(address):
            return None
        target = _target(address, wiki=False)
        return target and target._replace(embed=token.type == "image")
    return None


def _target(written: str, *, wiki: bool) -> Link | None:
    name, _, fragment = written.partition("#")
    if wiki:
        name, caret, block = name.partition("^")
        fragment = fragment or caret + block
    else:
        name, fragment = unquote(name.partition("?")[0]), unquote(fragment)
    name, fragment = name.strip(), fragment.strip()
    extension = _EXTENSION.search(name)
    if not name or kind_of(name) == "image" or (not wiki and name.endswith("/")):
        return None  # a folder, or what is read as an embedded image
    if not wiki and extension and extension[1].lower() != "md" and kind_of(name) == "file":
        return None  # of no known kind; a wikilink's title may hold dots
    block = fragment.rpartition("^")[2] if "^" in fragment else ""
    return Link(name, None if block else fragment or None, block or None, None, False, False, 0)
