"""A second reading of Markdown, by other libraries: what `make oracle` holds the product's against.

markdown-it-py reads the blocks and spans, ruamel.yaml the front matter; wikilinks, tags and addresses are read
here by the definitions alone, so that a mistake must be made twice to go unseen. Slow and plain on purpose.
"""

import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple
from urllib.parse import unquote

from markdown_it import MarkdownIt
from markdown_it.parser_inline import ParserInline
from markdown_it.rules_block import StateBlock, table
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.footnote import footnote_plugin
from ruamel.yaml import YAML
from ruamel.yaml.constructor import SafeConstructor

_WIKILINK = re.compile(r"\[\[([^\[\]|\n]+(?:\|(?:(?!\[\[|\]\])[^\n])*)?)\]\]")
_DASHES = re.compile(r"[ >\t]*-+\s*")
_SITE = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.\-]+:|//)")
_EXTENSION = re.compile(r"\.([A-Za-z0-9]{1,8})$")
_TAG_STOP = re.compile(r"[\s\u2000-\u206f\u2e00-\u2e7f]|[!-,.:-@\[-^`{-~]")  # all of ASCII's marks but - / _


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


class Reading(NamedTuple):
    """What one text holds; `fields` is None where the front matter cannot be read."""

    fields: dict[str, Any] | None
    body_offset: int
    body_line: int
    headings: list[Heading]
    links: list[Link]
    tags: list[str]
    title: str | None


def read(text: str) -> Reading:
    fields, offset, line = _front_matter(text)
    headings, links, tags = read_body(text[offset:], line)
    own = fields.get("title") if fields else None
    first = next((heading.text for heading in headings if heading.level == 1 and heading.text), None)
    named = " ".join(str(own).splitlines()).strip() if type(own) in {str, int, float} else ""
    title = named or first
    return Reading(fields, offset, line, headings, links, tags, title)


def read_body(body: str, first_line: int = 1) -> tuple[list[Heading], list[Link], list[str]]:
    headings: list[Heading] = []
    links: list[Link] = []
    tags: dict[str, None] = {}
    tokens = _MARKDOWN.parse(body)
    for before, token in zip([None, *tokens], tokens, strict=False):
        if token.type != "inline" or token.map is None:
            continue
        first = token.map[0] + first_line
        if before is not None and before.type == "heading_open":
            headings.append(Heading(int(before.tag[1]), " ".join(_plain(token.children or []).split()), first))
        for place, child in enumerate(token.children or []):
            found = _link(child)
            if found is not None:
                above = token.content[: child.meta.get("at", 0)].count("\n")
                alias = found.alias if found.wiki else _shown(token.children or [], place)
                links.append(found._replace(line=first + above, alias=alias))
        tags |= dict.fromkeys(_tags(token.children or []))
    return sorted(headings, key=lambda heading: heading.line), links, list(tags)


# Front matter


def _front_matter(text: str) -> tuple[dict[str, Any] | None, int, int]:
    """(fields, where the body begins, its line)."""
    lines = re.findall(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z", text)
    if not lines or lines[0].rstrip(" \t\r\n") != "---":
        return {}, 0, 1
    for number, line in enumerate(lines[1:], start=1):
        if line.rstrip(" \t\r\n") in {"---", "..."}:
            return _load("".join(lines[1:number])), len("".join(lines[: number + 1])), number + 2
    return None, 0, 1


class _Core(SafeConstructor):
    """Values of the core schema of YAML 1.2, which knows no dates."""


def _without_marks(made: Callable[..., Any]) -> Callable[..., Any]:
    """The core schema's numbers hold no `_`."""
    return lambda loader, node: node.value if "_" in node.value else made(loader, node)


_Core.add_constructor("tag:yaml.org,2002:timestamp", SafeConstructor.construct_yaml_str)
_Core.add_constructor("tag:yaml.org,2002:int", _without_marks(SafeConstructor.construct_yaml_int))
_Core.add_constructor("tag:yaml.org,2002:float", _without_marks(SafeConstructor.construct_yaml_float))


def _load(source: str) -> dict[str, Any] | None:
    yaml = YAML(typ="safe", pure=True)
    yaml.Constructor = _Core
    try:
        with warnings.catch_warnings(action="ignore"):  # an anchor used twice
            value = yaml.load(source)
    except Exception:
        return None
    if value is None:
        return {}
    return value if isinstance(value, dict) else None


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


SHOWN_BESIDES_NOTES = {
    *(
        "avif",
        "bmp",
        "gif",
        "jpeg",
        "jpg",
        "png",
        "svg",
        "webp",
        "flac",
        "m4a",
        "mp3",
        "ogg",
        "wav",
        "webm",
        "3gp",
    ),
    *("mkv", "mov", "mp4", "ogv", "pdf", "canvas", "base"),
}
"""Obsidian's list of accepted formats."""


def _target(written: str, *, wiki: bool) -> Link | None:
    name, _, fragment = written.partition("#")
    if wiki:
        name, caret, block = name.partition("^")
        fragment = fragment or caret + block
    else:
        name, fragment = unquote(name.partition("?")[0]), unquote(fragment)
    name, fragment = name.strip(), fragment.strip()
    extension = _EXTENSION.search(name)
    if not name or (not wiki and (name.endswith("/") or (extension and extension[1].lower() != "md"))):
        return None  # a folder, an attachment
    if wiki and extension and extension[1].lower() in SHOWN_BESIDES_NOTES:
        return None  # titles may hold other dots
    block = fragment.rpartition("^")[2] if "^" in fragment else ""
    return Link(name, None if block else fragment or None, block or None, None, False, False, 0)
