"""The property `workspaced` of a note, which says its level.

What is not understood is private (docs/reference/sharing.md). Of several flags the strictest counts.

People write front matter by hand, and other programs read it more leniently than our parser. So everything that
looks like front matter counts: after blanks, blank lines, a BOM or invisible characters; after `--- # a comment`
or a tag; in other forms of the same letters; in a merge key. Unreadable front matter that mentions a flag, or has
a line that begins with the property's name, is private. The first HEAD_BYTES of the file decide: front matter that
begins with the file and does not end within them is private.
"""

import codecs
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec
import regex

from workspaced_events.ids import is_markdown

from ..limits import ECHO_CHARS_MAX
from .frontmatter import split_front_matter
from .normal_form import normalized
from .note import Level, Note
from .properties import listed, scalar_text

HEAD_BYTES: Final = 64 * 1024
"""The number of bytes of a file that are read to decide."""

_KEY: Final = "workspaced"
_FLAGS: Final = ("private", "never")
_ON_REQUEST: Final = re.compile(r"(?<!\w)on[\W_]*request(?!\w)")
_SHOWN: Final = frozenset({"", "true", "all", Level.VOLUNTEER.word})
_MERGE: Final = "<<"
_BLANKS: Final = b" \t\r\n\v\f\0"
_FIRST_BYTES: Final = 4 * 1024
"""Nearly all front matter ends within these."""
_INVISIBLE: Final = regex.compile(r"[\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]", regex.VERSION1)
_BEFORE: Final = r"[\s\0\ufffd\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]*"
_OPENING: Final = regex.compile(
    rf"(?P<before>{_BEFORE})---(?:[^\S\r\n]+[#!&][^\r\n]*|[^\S\r\n]*)(?:\r\n?|\n|\Z)", regex.VERSION1
)
"""The first line of a YAML document; prose after the dashes makes it a line of text."""


def level_of(note: Note) -> Level:
    """The level that the note's front matter gives it; only Markdown has any."""
    if not is_markdown(note.id):
        return Level.VOLUNTEER
    known: Level | None = vars(note).get("level")
    if known is None:
        known = level_of_head(note.source[:HEAD_BYTES], whole=len(note.source) <= HEAD_BYTES)
        vars(note)["level"] = known
    return known


def level_of_head(head: bytes, *, whole: bool) -> Level:
    """The level that its front matter gives to a file that begins with `head`.

    Args:
        head: the first HEAD_BYTES of the file.
        whole: whether `head` is the whole file.
    """
    begins = head.lstrip(_BLANKS)[:1]
    if begins.isascii() and begins != b"-":
        return Level.VOLUNTEER
    for size in (_FIRST_BYTES, HEAD_BYTES):
        found = _level(head[:size], whole=whole and len(head) <= size)
        if found is not None:
            return found
    return Level.NEVER


def not_understood(head: bytes) -> str | None:
    """The property of a file that begins with `head`, if it withholds only since nobody knows what it means."""
    text = _decoded(head[:HEAD_BYTES]).lstrip("\ufeff")
    front = split_front_matter(text)
    for name, value in front.fields.items():
        if _plain(name).strip() == _KEY and not _is_understood(value):
            return f"{name}: {msgspec.json.encode(value).decode()}"[:ECHO_CHARS_MAX]
    if front.is_open or not _begins_with_key(front.unread):
        return None
    line = next(each for each in front.unread.splitlines() if _KEY in _plain(each))
    return line.strip()[:ECHO_CHARS_MAX]


def _is_understood(value: Any) -> bool:
    if isinstance(value, list):
        return all(map(_is_understood, value))
    if isinstance(value, dict):
        return all(_is_understood_entry(*each) for each in value.items())
    words = _words(scalar_text(value) or "")
    return _of_value(value) is not Level.NEVER or not words.isdisjoint({*_FLAGS, "none", "names"})


def _is_understood_entry(name: str, value: Any) -> bool:
    key = _plain(name).strip()
    if key in ("share", "level", _MERGE):
        return _is_understood(value)
    return key in _FLAGS or _ON_REQUEST.fullmatch(key) is not None


def flag_line(head: bytes) -> int | None:
    """The 1-based line of a file that begins with `head` in which its front matter first names the flag's key."""
    lines = _decoded(head[:HEAD_BYTES]).splitlines()
    return next((number for number, line in enumerate(lines, start=1) if _KEY in _plain(line)), None)


def _level(head: bytes, *, whole: bool) -> Level | None:
    """The level by the front matter in `head`; None if it may begin in `head` and does not end there."""
    text = _decoded(head)
    opening = _OPENING.match(_plain_dashes(text), partial=not whole)
    if opening is None or opening.partial:
        return Level.VOLUNTEER if opening is None else None
    front = split_front_matter("---\n" + text[opening.end() :])
    if front.is_open:  # the front matter does not end here
        is_rule = "\n" in opening["before"] or "\r" in opening["before"]  # below blank lines
        if not whole:
            return Level.VOLUNTEER if is_rule and len(head) == HEAD_BYTES else None
        return Level.NEVER if not is_rule and _mentions(front.raw) else Level.VOLUNTEER
    if front.problem is not None and (_mentions(front.raw) or _begins_with_key(front.unread)):
        return Level.NEVER
    return _of_fields(front.fields)


def _decoded(head: bytes) -> str:
    """Decodes the text and removes NULs, which are every second byte in UTF-16 without a BOM."""
    encoding = "utf-16" if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8"
    return head.decode(encoding, errors="replace").replace("\0", "")


def _plain_dashes(text: str) -> str:
    """The text with plain dashes for dashes of full width; the length stays the same."""
    return text if text.isascii() else text.replace("\uff0d", "-").replace("\ufe63", "-")


def _plain(text: str) -> str:
    """The text without differences of case and compatibility forms, and without invisible characters."""
    if text.isascii():
        return text.casefold()
    return _INVISIBLE.sub("", normalized("NFKC", text)).casefold()


def _mentions(text: str) -> bool:
    plain = _plain(text)
    has_flag = "private" in plain or (_KEY in plain and "never" in plain)  # a word of many texts
    return has_flag or _ON_REQUEST.search(plain) is not None


def _begins_with_key(text: str) -> bool:
    """Whether a line begins with the property's name."""
    return any(line.lstrip(" \t\"'?-").startswith(_KEY) for line in _plain(text).splitlines())


def _of_fields(fields: Mapping[str, Any]) -> Level:
    return _least(_of_field(*each) for each in fields.items())


def _of_field(name: str, value: Any) -> Level:
    key = _plain(name).strip()
    if key == _KEY:
        return _of_value(value)
    if key == _MERGE:
        return _least(_of_fields(each) for each in listed(value) if isinstance(each, dict))
    return Level.VOLUNTEER


def _least(levels: Iterable[Level]) -> Level:
    return min(levels, default=Level.VOLUNTEER)


def _of_value(value: Any) -> Level:
    if isinstance(value, list):
        return _least(map(_of_value, value))
    if isinstance(value, dict):
        return _least(_of_entry(*each) for each in value.items())
    plain = _plain(scalar_text(value) or "").strip()
    if plain in _SHOWN:
        return Level.VOLUNTEER
    has_flag = not _words(plain).isdisjoint(_FLAGS)
    return Level.ON_REQUEST if not has_flag and _ON_REQUEST.search(plain) is not None else Level.NEVER


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", _plain(text)))


def _of_entry(name: str, value: Any) -> Level:
    key = _plain(name).strip()
    if key in ("share", "level"):
        return _of_value(value)
    if key == _MERGE:
        return _least(map(_of_value, listed(value)))
    on_request = _ON_REQUEST.fullmatch(key) is not None
    if (on_request or key in _FLAGS) and _plain(scalar_text(value) or "").strip() in frozenset(
        {"false", "no", "off", "0"}
    ):
        return Level.VOLUNTEER
    return Level.ON_REQUEST if on_request else Level.NEVER
