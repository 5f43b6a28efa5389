r"""Untrusted text in prompts: blocks that nothing written in a note can close.

A prompt is one string, so a block ends at its closing delimiter, and a note may contain that very text. Only this
module puts note text into a block, in one of two ways.

A body keeps all its bytes, so that an agent finds what it looks for. If it holds a text that reads as the closing
of a block, the names of the block's own tags end in `-` and hexadecimal digits, its fence, which the body does not
contain and its author cannot know beforehand.

Where there is no fence, as around titles, paths and what is volunteered, a text changes in two ways, and both have
an inverse:

- Invisible characters become visible escapes such as `\u{202e}`: control characters (ANSI), bidi controls, tag
  characters, zero-width and other ignorable characters. Some stay where ordinary writing needs them: joiners
  within emoji and within words of scripts that join, one variation selector after a character that has variants,
  the tags of the three flags made of them. A `\u{` in the text itself becomes `\u{5c}u{`.
- A text that reads as the closing of a block is broken at its first character: `</note_context>` becomes
  `\u{3c}/note_context>`. The match is lenient because models read leniently: case, accents, blanks, width,
  look-alikes, entities and escapes make no difference. HTML and other markup stays as it is.

Neither can close its own block, whatever its name, nor one whose name is in RESERVED or has an underscore.
Everything is pure and linear in the length of the text.
"""

import html
import unicodedata
from collections.abc import Callable, Mapping
from functools import lru_cache
from hashlib import sha256
from typing import Final

import regex

RESERVED: Final = frozenset(
    {
        *("active_note", "note_context", "selected_text", "tool_result"),
        *("assistant", "attachment", "citation", "content", "context", "dataview", "document", "documents"),
        *("file", "folder", "human", "image", "instruction", "instructions", "mtime", "path", "pdf"),
        *("source", "summary", "system", "tag", "title", "url", "user"),
    }
)
"""Names without underscore that blocks and fields may have, and names that bodies cannot even open."""

_NAME: Final = regex.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*+")
_BLOCK_NAME: Final = regex.compile(r"[A-Za-z][A-Za-z0-9_-]*+")
_NAME_CHARS_MAX: Final = 80
_FENCE_DIGITS: Final = 8

# -- invisible characters --

_JOINING: Final = (
    r"[[\p{Arabic}\u064b-\u0652\p{Syriac}\p{Nko}\p{Mongolian}\p{Devanagari}\p{Bengali}\p{Gurmukhi}\p{Gujarati}"
    r"\p{Oriya}\p{Tamil}\p{Telugu}\p{Kannada}\p{Malayalam}\p{Sinhala}\p{Khmer}\p{Myanmar}\p{Tibetan}]--\p{Default_Ignorable_Code_Point}]"
)
_FLAG_TAGS: Final = "|".join(
    "".join(chr(0xE0000 + ord(letter)) for letter in region) for region in ("gbeng", "gbsct", "gbwls")
)
_SEEN: Final = regex.compile(
    r"(?P<kept>\r\n"
    rf"|\U0001f3f4(?:{_FLAG_TAGS})\U000e007f"
    r"|(?<=\p{Extended_Pictographic}\p{Emoji_Modifier}?\ufe0f?)\u200d(?=\p{Extended_Pictographic})"
    r"|(?<=[\p{Extended_Pictographic}\p{Emoji_Modifier}])[\ufe0e\ufe0f]|(?<=[0-9#*])\ufe0f(?=\u20e3)"
    r"|(?<=\p{Han})[\ufe00-\ufe02\U000e0100-\U000e01ef]|(?<=\p{Sm})\ufe00"
    r"|(?<=[\p{Mongolian}&&\p{L}])[\u180b-\u180f]"
    rf"|(?<={_JOINING})[\u200c\u200d](?={_JOINING})"
    # Signs that Unicode counts as format characters though they are drawn: of numbers, years, verses.
    r"|[\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd])"
    r"|[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800--\n\t]|\\(?=u\{)",
    regex.VERSION1,
)
_SHOWN: Final = regex.compile(r"\\u\{([0-9a-f]{1,6})\}")

# -- texts that read as a delimiter --

_AMP: Final = r"&(?:(?:amp|\#0*+38|\#x0*+26);?)*+"
_LESS: Final = rf"[<＜﹤‹〈⟨\u2329˂❮❬]|{_AMP}(?:lt|\#0*+60|\#x0*+3c);?|\\u003c|\\x3c|%3c"
_SLASH: Final = rf"[/／∕⁄╱⧸⟋]|{_AMP}(?:sol|\#0*+47|\#x0*+2f);?|\\/|\\u002f|\\x2f|%2f"
_JUNK: Final = r"(?:[\s\u200c\u200d\u180b-\u180f\p{M}]|\\u\{[0-9a-f]{1,6}\})*+"
_LETTER: Final = rf"(?:{_AMP}(?!(?:lt|\#0*+60|\#x0*+3c)\b)\#?\w{{1,32}}+;?|[\w\-‐‑‒–—‿⁀])"
_DELIMITER: Final = regex.compile(
    rf"(?:{_LESS})(?=(?P<closing>{_JUNK}(?:{_SLASH}){_JUNK})?+"
    rf"(?P<name>(?:{_LETTER}{_JUNK}){{1,{_NAME_CHARS_MAX}}}+))",
    regex.IGNORECASE,
)
_MARKS: Final = regex.compile(r"[\p{M}\W_]+")
_CONNECTORS: Final = regex.compile(r"\p{Pc}")
_LOOK_ALIKE: Final = str.maketrans("асеорхуіјѕԁтнкмвոαοεινρτυχκσı", "aceopxyijsdthkmbnaoeivptuxkci")
"""Letters as NFKD and case folding leave them: of ϲ they make σ."""
_XML: Final = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"})


def render_block(name: str, fields: Mapping[str, str], body: str, *, fence: str) -> str:
    """A block called `name`: a line for each field, then the body in `<content>`.

    Whatever the title, path or body contains, the block has its closing delimiter once, as its last line.

    Args:
        fence: a text that nobody who writes the body knows.
    """
    names = (name, *fields)
    if not _BLOCK_NAME.fullmatch(name):
        raise ValueError(f"Expected a name of letters, digits, `_` and `-`, got {name!r}.")
    for each in fields:
        if not _NAME.fullmatch(each) or not ("_" in each or each in RESERVED):
            raise ValueError(f"Expected a name of RESERVED or with an underscore, got {each!r}.")
    if "content" in fields:
        raise ValueError("Expected the body's text as `body`, got a field `content`.")
    lines = [f"<{field}>{escape_field(value, names=names)}</{field}>" for field, value in fields.items()]
    end = _fence_for(body, names, fence)
    return "\n".join([f"<{name}{end}>", *lines, f"<content{end}>", body, f"</content{end}>", f"</{name}{end}>"])


_BLOCK: Final = regex.compile(
    r"<(?P<name>[^>\n]+?)(?P<end>(?:-[0-9a-f]+)?)>\n(?P<lines>.*?)<content(?P=end)>\n.*\n</content(?P=end)>\n[^\n]+",
    regex.DOTALL,
)


def with_body(block: str, body: str, *, fence: str) -> str:
    """A block that `render_block` has made, as it would be with another body; any other text as it is."""
    if (found := _BLOCK.fullmatch(block)) is None:
        return block
    name, lines = found["name"], found["lines"]
    end = _fence_for(body, (name, *regex.findall(r"^<(\w+)>", lines, regex.MULTILINE)), fence)
    return f"<{name}{end}>\n{lines}<content{end}>\n{body}\n</content{end}>\n</{name}{end}>"


def _fence_for(body: str, names: tuple[str, ...], fence: str) -> str:
    """What the names of a block's tags end in; nothing if the body holds nothing that reads as one of them."""
    if not any(map(_is_harmful(names), _DELIMITER.finditer(show_invisible(body)))):
        return ""
    digits = sha256(fence.encode()).hexdigest()
    for length in range(_FENCE_DIGITS, len(digits) + 1, _FENCE_DIGITS):
        end = f"-{digits[:length]}"
        if end not in body:
            return end
    return _fence_for(body, names, digits)


def escape_body(text: str, *, names: tuple[str, ...] = (), blocks: tuple[str, ...] = ()) -> str:
    """Escapes `text` for the body of a block. It can neither open nor close any of `blocks`.

    `names`: of the block itself and of its fields, which it cannot close.
    """
    is_harmful = _is_harmful(names, blocks)

    def broken(less: "regex.Match[str]") -> str:
        return f"{_shown(less[0][0])}{less[0][1:]}" if is_harmful(less) else less[0]

    return _DELIMITER.sub(broken, show_invisible(text))


def escape_field(text: str, *, names: tuple[str, ...] = ()) -> str:
    """Escapes `text` for a title, path or attribute: one line, with `&`, `<`, `>` and `"` as XML entities.

    `names`: as in `escape_body`.
    """
    seen = escape_body(text, names=names).translate(_XML)
    for sign in "\n\r\t":
        seen = seen.replace(sign, _shown(sign))
    return seen


def show_invisible(text: str) -> str:
    """Replaces invisible characters in `text` by `\\u{...}`."""
    return text if _is_plain(text) else _SEEN.sub(lambda seen: seen["kept"] or _shown(seen[0]), text)


def _is_plain(text: str) -> bool:
    return text.isascii() and "\\u{" not in text and text.replace("\n", "").replace("\t", "").isprintable()


def _is_harmful(names: tuple[str, ...], blocks: tuple[str, ...] = ()) -> "Callable[[regex.Match[str]], bool]":
    """Returns whether a match of _DELIMITER reads as one that a body must not have."""
    opening, closing = _skeletons(names, blocks)

    def is_harmful(less: "regex.Match[str]") -> bool:
        name = less["name"]
        if less["closing"] is None:
            return skeleton(name).startswith(opening)
        return "_" in _plain(name.split(maxsplit=1)[0]) or skeleton(name).startswith(closing)

    return is_harmful


@lru_cache(maxsize=64)
def _skeletons(names: tuple[str, ...], blocks: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Skeletons of the names that a body may not open, and of those that it may not close."""
    opening = {*(each for each in RESERVED if "_" in each), *names[:1], *blocks}
    return tuple(map(skeleton, opening)), tuple(map(skeleton, RESERVED | {*names, *blocks}))


def _shown(sign: str) -> str:
    return f"\\u{{{ord(sign):x}}}"


def _plain(name: str) -> str:
    """A delimiter's name as a model reads it: entities resolved, escapes removed, one width, lower case."""
    for _ in range(3):
        name = html.unescape(name)
    return str(_CONNECTORS.sub("_", unicodedata.normalize("NFKD", _SHOWN.sub("", name)).casefold()))


def skeleton(name: str) -> str:
    """The same string for all spellings of one name."""
    return str(_MARKS.sub("", _plain(name).translate(_LOOK_ALIKE)))
