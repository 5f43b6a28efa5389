"""Edits JSON as text: what is not edited keeps its bytes, so that an edit can be taken back without a trace.

Comments and final commas, as editors' settings have them, are text that is kept: the structure is read from a copy
of the same length in which they are blank.

A path leads from the top to a member: names of objects' members, and positions in arrays.
"""

import json
import re
from typing import Any, Final, NamedTuple, NoReturn

Path = tuple[str | int, ...]

_SPACE: Final = re.compile(r"[ \t\r\n]*")
_INDENT: Final = re.compile(r"[ \t]*")
_DECODER: Final = json.JSONDecoder()
_COMMENT: Final = re.compile(r'"(?:[^"\\]|\\.)*+"|(//[^\r\n]*+|/\*.*?\*/)', re.DOTALL)
"""A string, or a comment as the group."""
_FINAL_COMMA: Final = re.compile(r'"(?:[^"\\]|\\.)*+"|(,)(?=\s*+[}\]])', re.DOTALL)
_HALF_CHARACTER: Final = re.compile(r"[\ud800-\udfff]")


class Unmergeable(Exception):
    """The reason why a file cannot be changed; continues a sentence that begins with the file's path."""


def parse(text: str) -> dict[str, Any]:
    """The text's object; an empty text is an empty object.

    Raises:
        Unmergeable: the text is no JSON, names a key twice, or is no object.
    """
    plain = _plain(text)
    if not plain.strip():
        return {}
    try:
        whole = json.loads(plain, object_pairs_hook=_unique, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise Unmergeable(f"is no JSON ({error})") from None
    if not isinstance(whole, dict):
        raise Unmergeable("holds no JSON object")
    return whole


def comments(text: str) -> list[str]:
    """The comments in a text."""
    return [each[1] for each in _COMMENT.finditer(text) if each[1]]


def is_plain(text: str) -> bool:
    """Whether a text has neither comments nor final commas."""
    return _plain(text) == text


def is_bare(text: str, path: Path) -> bool:
    """Whether the object or array at the path, which must be there, holds neither members nor comments."""
    _container, member, _rest = _follow(_plain(text), path)
    assert member is not None, f"nothing at {path}"
    return not text[member.value + 1 : member.end - 1].strip()


def put(text: str, path: Path, value: Any) -> str:
    """Sets the member at the path, replaced or appended; makes the objects and arrays that lead to it.

    The text must have been parsed before.

    Raises:
        Unmergeable: something on the way is neither an object nor an array as the path has it.
    """
    plain = _plain(text)
    if not plain.strip():
        text = f"{text.rstrip()}\n{{}}\n".lstrip()
        plain = _plain(text)
    style, (container, member, rest) = _Style.of(plain), _follow(plain, path)
    if member is not None:
        written = style.written(value, _line_indent(text, member.value), inline=_is_inline(text))
        return text[: member.value] + written + text[member.end :]
    for below in reversed(rest[1:]):
        value = [value] if isinstance(below, int) else {below: value}
    return _insert(text, plain, container, rest[0], value, style)


def take(text: str, path: Path) -> str:
    """Removes the member at the path, which must be there, with its comma; what holds it stays, even if empty."""
    container, member, _rest = _follow(_plain(text), path)
    assert member is not None, f"nothing at {path}"
    members, place = container.members, container.members.index(member)
    begin = members[place - 1].end if place else container.start + 1
    end = members[place + 1].start if place + 1 < len(members) else container.end
    is_last = place + 1 == len(members)
    has_comments = bool(comments(text[begin : member.start]) or comments(text[member.end : end]))
    if has_comments or (is_last and _comma(text, member.end, end) is not None):
        return _take_alone(text, begin, member, end, is_last=is_last)
    if len(members) == 1:
        return text[: container.start + 1] + text[container.end :]
    if place == 0:
        return text[: member.start] + text[members[1].start :]
    return text[:begin] + text[member.end :]


def _take_alone(text: str, begin: int, member: "_Member", end: int, *, is_last: bool) -> str:
    """Removes a member with one comma and the space before it: comments on both sides stay, and a final comma.

    Args:
        begin: where the member before it ends.
        end: where the next one begins, or the closing bracket is.
    """
    comma = _comma(text, member.end, end)
    behind = member.end if comma is None else comma + 1
    start = len(text[: member.start].rstrip(" \t\r\n"))
    *_, last = ["", *comments(text[begin:start])]
    is_open = last.startswith("//") and text[:start].endswith(last)  # the comment ends with the line
    if is_open and "\n" not in text[behind : _after_space(text, behind)]:
        start = member.start
    before = text[:start]
    if comma is None and is_last and (comma := _comma(text, begin, member.start)) is not None:
        before = text[:comma] + text[comma + 1 : start]
    return before + text[behind:]


def _comma(text: str, begin: int, end: int) -> int | None:
    """Where the comma between two members is."""
    found = _without_comments(text[begin:end]).find(",")
    return None if found < 0 else begin + found


# -- reading --


def _plain(text: str) -> str:
    return _blanked(_FINAL_COMMA, _without_comments(text))


def _without_comments(text: str) -> str:
    return _blanked(_COMMENT, text) if "//" in text or "/*" in text else text


def _blanked(pattern: re.Pattern[str], text: str) -> str:
    """The text with the pattern's group blank, but for the ends of lines."""
    return pattern.sub(lambda found: re.sub(r"[^\r\n]", " ", found[0]) if found[1] else found[0], text)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    unique_keys = dict(pairs)
    if len(unique_keys) != len(pairs):
        raise Unmergeable("names a key twice")
    return unique_keys


def _no_number(name: str) -> NoReturn:
    raise Unmergeable(f"is no plain JSON ({name} is no number)")


class _Member(NamedTuple):
    key: str | int
    start: int
    """Where the key begins, or the element of an array."""
    value: int
    end: int


class _Container(NamedTuple):
    start: int
    """The opening bracket."""
    members: list[_Member]
    end: int
    """The closing bracket."""

    def find(self, key: str | int) -> _Member | None:
        return next((each for each in self.members if each.key == key), None)


def _follow(text: str, path: Path) -> tuple[_Container, _Member | None, Path]:
    """The member at the path with its container; or None, the last container there is, and the path from there."""
    container = _container(text, _after_space(text, 0), path, 0)
    for depth, step in enumerate(path):
        member = container.find(step)
        if member is None or depth + 1 == len(path):
            return container, member, path[depth:]
        container = _container(text, member.value, path, depth + 1)
    raise AssertionError("a path has at least one step")


def _container(text: str, at: int, path: Path, depth: int) -> _Container:
    is_object = isinstance(path[depth], str)
    if text[at] != ("{" if is_object else "["):
        name = ".".join(map(str, path[:depth]))
        raise Unmergeable(f"holds something else than {'an object' if is_object else 'a list'} under {name!r}")
    members: list[_Member] = []
    start, at = at, _after_space(text, at + 1)
    while text[at] not in "}]":
        key, begin = len(members), at
        if is_object:
            key, at = _DECODER.raw_decode(text, at)
            at = _after_space(text, _after_space(text, at) + 1)  # the colon
        _value, end = _DECODER.raw_decode(text, at)
        members.append(_Member(key, begin, at, end))
        at = _after_space(text, end)
        if text[at] == ",":
            at = _after_space(text, at + 1)
    return _Container(start, members, at)


def _after_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


# -- writing --


class _Style(NamedTuple):
    """How a text is written, as far as it can be seen."""

    newline: str
    indent: str
    colon: str
    is_ascii: bool

    @classmethod
    def of(cls, text: str) -> "_Style":
        first_indent = re.search(r"^([ \t]+)\S", text, re.MULTILINE)
        is_dense = '":' in text and '": ' not in text and '":\n' not in text
        return cls(
            "\r\n" if "\r\n" in text else "\n",
            first_indent[1] if first_indent else "  ",
            ":" if is_dense else ": ",
            text.isascii(),
        )

    @property
    def comma(self) -> str:
        return "," if self.colon == ":" else ", "

    def written(self, value: Any, indent: str, *, inline: bool) -> str:
        if inline:
            written = json.dumps(value, ensure_ascii=self.is_ascii, separators=(self.comma, self.colon))
        else:
            lines = json.dumps(value, ensure_ascii=self.is_ascii, indent=self.indent)
            written = lines.replace("\n", self.newline + indent)
        # An escape can say one, UTF-8 cannot.
        return _HALF_CHARACTER.sub(lambda half: f"\\u{ord(half[0]):04x}", written)


def _insert(text: str, plain: str, container: _Container, key: str | int, value: Any, style: _Style) -> str:
    """Appends a member behind the last one and all comments, in lines or not as the others are."""
    start, members, end = container
    lead = plain[start + 1 : members[0].start] if members else ""
    last = members[-1].end if members else start + 1
    behind = len(text[:end].rstrip(" \t\r\n"))
    has_comments = behind > last and bool(comments(text[last:behind]))
    inline = ("\n" not in lead if members else _is_inline(text)) and not has_comments
    is_in_lines = "\n" in lead
    indent = _line_indent(text, members[0].start if is_in_lines else start) + ("" if is_in_lines else style.indent)
    name = json.dumps(key, ensure_ascii=style.is_ascii) + style.colon if isinstance(key, str) else ""
    written = name + style.written(value, indent, inline=inline)
    if members or has_comments:
        has_comma = _comma(text, last, end) is not None
        comma, final = ("", ",") if has_comma else ("," if members else "", "")
        gap = style.comma[1:] if inline else style.newline + indent
        return text[:last] + comma + text[last:behind] + gap + written + final + text[behind:]
    if inline:
        return text[: start + 1] + written + text[end:]
    closing = style.newline + _line_indent(text, start)
    return text[: start + 1] + style.newline + indent + written + closing + text[end:]


def _is_inline(text: str) -> bool:
    """Whether the whole text is one line with something in it."""
    stripped = text.strip()
    return "\n" not in stripped and len(stripped) > len("{}")


def _line_indent(text: str, at: int) -> str:
    found = _INDENT.match(text, text.rfind("\n", 0, at) + 1)
    return found[0] if found is not None else ""
