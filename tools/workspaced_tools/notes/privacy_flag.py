"""The flag in a note's front matter that withholds it from every agent.

`workspaced: private`, in any case, also as one of a list or within a longer text; `workspaced: {private: true}`
(anything but a plain no); `workspaced: {share: X}` where X is not `all`.

People write front matter by hand, and other programs read it more leniently than our parser. So everything that
looks like front matter counts: after blanks, blank lines, a BOM or invisible characters; after `--- # a comment`
or a tag; in other forms of the same letters; in a merge key. Unreadable front matter withholds the note if it
mentions the word. The first HEAD_BYTES of the file decide: front matter that begins with the file and does not end
within them withholds the note.
"""

import codecs
import re
from collections.abc import Mapping
from typing import Any, Final

import regex

from .frontmatter import split_front_matter
from .normal_form import normalized
from .note import Note

HEAD_BYTES: Final = 64 * 1024
"""The number of bytes of a file that are read to decide."""

_KEY: Final = "workspaced"
_FLAG: Final = "private"
_WORDS: Final = (_FLAG, "on-request")
"""Words that withhold a note if its front matter is unreadable."""
_MERGE: Final = "<<"
_TAG: Final = "!"
"""A tagged value is read as a mapping of its tag to the value."""
_BLANKS: Final = b" \t\r\n\v\f\0"
_FIRST_BYTES: Final = 4 * 1024
"""Nearly all front matter ends within these."""
_NEGATIVE: Final = frozenset({"false", "no", "off", "0"})
_INVISIBLE: Final = regex.compile(r"[\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]", regex.VERSION1)
_BEFORE: Final = r"[\s\0\ufffd\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]*"
_OPENING: Final = regex.compile(
    rf"(?P<before>{_BEFORE})---(?:[^\S\r\n]+[#!&][^\r\n]*|[^\S\r\n]*)(?:\r\n?|\n|\Z)", regex.VERSION1
)
"""The first line of a YAML document; prose after the dashes makes it a line of text."""


def says_private(note: Note) -> bool:
    """Whether the note's front matter withholds it."""
    known: bool | None = vars(note).get("private")
    if known is None:
        known = head_says_private(note.source[:HEAD_BYTES], whole=len(note.source) <= HEAD_BYTES)
        vars(note)["private"] = known
    return known


def head_says_private(head: bytes, *, whole: bool) -> bool:
    """Whether a file that begins with `head` is withheld by its front matter.

    Args:
        head: the first HEAD_BYTES of the file.
        whole: whether `head` is the whole file.
    """
    begins = head.lstrip(_BLANKS)[:1]
    if begins.isascii() and begins != b"-":
        return False
    for size in (_FIRST_BYTES, HEAD_BYTES):
        found = _says(head[:size], whole=whole and len(head) <= size)
        if found is not None:
            return found
    return True


def _says(head: bytes, *, whole: bool) -> bool | None:
    """Whether the front matter in `head` withholds; None if it may begin in `head` and does not end there."""
    text = _decoded(head)
    opening = _OPENING.match(_plain_dashes(text), partial=not whole)
    if opening is None or opening.partial:
        return False if opening is None else None
    front = split_front_matter("---\n" + text[opening.end() :])
    if front.body_offset == 0:  # the front matter does not end here
        is_rule = "\n" in opening["before"] or "\r" in opening["before"]  # below blank lines
        if not whole:
            return False if is_rule and len(head) == HEAD_BYTES else None
        return not is_rule and _mentions(front.raw)
    if front.error is not None:
        return _mentions(front.raw)
    return _flags(front.fields)


def _decoded(head: bytes) -> str:
    """Decodes the text and removes NULs, which are every second byte in UTF-16 without a BOM."""
    encoding = "utf-16" if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8"
    return head.decode(encoding, errors="replace").replace("\0", "")


def _plain_dashes(text: str) -> str:
    """The text with plain dashes for dashes of full width; the length stays the same."""
    return text if text.isascii() else text.replace("\uff0d", "-").replace("\ufe63", "-")


def _folded(text: str) -> str:
    """The text without differences of case and compatibility forms, and without invisible characters."""
    if text.isascii():
        return text.casefold()
    return _INVISIBLE.sub("", normalized("NFKC", text)).casefold()


def _mentions(text: str) -> bool:
    folded = _folded(text)
    return any(word in folded for word in _WORDS)


def _flags(fields: Mapping[str, Any]) -> bool:
    for name, value in fields.items():
        key = _folded(name).strip()
        if key == _KEY and _is_flag(value):
            return True
        if (key == _MERGE or key.startswith(_TAG)) and any(
            isinstance(each, dict) and _flags(each) for each in _listed(value)
        ):
            return True
    return False


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _is_flag(value: Any) -> bool:
    if isinstance(value, str):
        return _FLAG in re.findall(r"\w+", _folded(value))
    if isinstance(value, list):
        return any(_is_flag(each) for each in value)
    if not isinstance(value, dict):
        return False
    for name, each in value.items():
        key, plain = _folded(name).strip(), _folded(str(each)).strip()
        if (key == _FLAG and plain not in _NEGATIVE) or (key == "share" and plain != "all"):
            return True
        if (key == _MERGE or key.startswith(_TAG)) and any(map(_is_flag, _listed(each))):
            return True
    return False
