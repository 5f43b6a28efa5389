"""Edits JSON as text: what is not edited keeps its bytes, so that an edit can be taken back without a trace.

A path leads from the top to a member: names of objects' members, and positions in arrays.
"""

import json
import re
from typing import Any, Final, NamedTuple, NoReturn

Path = tuple[str | int, ...]

_SPACE: Final = re.compile(r"[ \t\r\n]*")
_DECODER: Final = json.JSONDecoder()
_HALF_CHARACTER: Final = re.compile(r"[\ud800-\udfff]")


class Unmergeable(Exception):
    """The reason why a file cannot be changed; continues a sentence that begins with the file's path."""


def parse(text: str) -> dict[str, Any]:
    """The text's object; an empty text is an empty object.

    Raises:
        Unmergeable: the text is no plain JSON, names a key twice, or is no object.
    """
    if not text.strip():
        return {}
    try:
        whole = json.loads(text, object_pairs_hook=_unique, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise Unmergeable(f"is no plain JSON ({error}); comments and final commas are not changed by us") from None
    if not isinstance(whole, dict):
        raise Unmergeable("holds no JSON object")
    return whole


def put(text: str, path: Path, value: Any) -> str:
    """Sets the member at the path, replaced or appended; makes the objects and arrays that lead to it.

    The text must have been parsed before.

    Raises:
        Unmergeable: something on the way is neither an object nor an array as the path has it.
    """
    text = text if text.strip() else "{}\n"
    style, (container, member, rest) = _Style.of(text), _follow(text, path)
    if member is not None:
        written = style.written(value, _line_indent(text, member.value), inline=_is_inline(text))
        return text[: member.value] + written + text[member.end :]
    for below in reversed(rest[1:]):
        value = [value] if isinstance(below, int) else {below: value}
    return _insert(text, container, rest[0], value, style)


def take(text: str, path: Path) -> str:
    """Removes the member at the path, which must be there, with its comma; what holds it stays, even if empty."""
    container, member, _rest = _follow(text, path)
    assert member is not None, f"nothing at {path}"
    members, place = container.members, container.members.index(member)
    if len(members) == 1:
        return text[: container.start + 1] + text[container.end :]
    if place == 0:
        return text[: member.start] + text[members[1].start :]
    return text[: members[place - 1].end] + text[member.end :]


# -- reading --


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


def _insert(text: str, container: _Container, key: str | int, value: Any, style: _Style) -> str:
    """Appends a member behind the last one, in lines or not as the others are."""
    start, members, end = container
    lead = text[start + 1 : members[0].start] if members else ""
    inline = "\n" not in lead if members else _is_inline(text)
    indent = lead.rpartition("\n")[2] if members else _line_indent(text, start) + style.indent
    name = json.dumps(key, ensure_ascii=style.is_ascii) + style.colon if isinstance(key, str) else ""
    written = name + style.written(value, indent, inline=inline)
    if members:
        gap = style.comma if inline else f",{style.newline}{indent}"
        return text[: members[-1].end] + gap + written + text[members[-1].end :]
    if inline:
        return text[: start + 1] + written + text[end:]
    closing = style.newline + _line_indent(text, start)
    return text[: start + 1] + style.newline + indent + written + closing + text[end:]


def _is_inline(text: str) -> bool:
    """Whether the whole text is one line with something in it."""
    stripped = text.strip()
    return "\n" not in stripped and len(stripped) > len("{}")


def _line_indent(text: str, at: int) -> str:
    line = text.rfind("\n", 0, at) + 1
    return text[line : _indent_end(text, line)]


def _indent_end(text: str, line: int) -> int:
    while line < len(text) and text[line] in " \t":
        line += 1
    return line
