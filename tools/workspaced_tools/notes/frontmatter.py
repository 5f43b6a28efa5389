"""Front matter: the YAML between `---` lines at the beginning of a note.

No front matter makes a note unreadable: if it cannot be read, `fields` is empty and `error` says why. Values are
JSON-shaped, so that they can be sent, hashed and recorded unchanged.

The YAML is version 1.2 without merge keys (`<<` stays an ordinary key). The loader refuses deep nesting, duplicate
keys and recursive aliases itself, but lets a small text expand to many nodes by repeating one long list. So a text
with many aliases is refused before loading, and the loaded nodes are counted.
"""

import math
import re
from typing import Any, Final

import msgspec
import ryaml

from ..limits import (
    ECHO_CHARS_MAX,
    FRONT_MATTER_ALIASES_MAX,
    FRONT_MATTER_CHARS_MAX,
    FRONT_MATTER_NODES_MAX,
    FRONT_MATTER_OPEN_MAX,
)

_OPENING = re.compile(r"---[ \t]*(?:\r\n?|\n|\Z)")
_CLOSING = re.compile(r"(?<=[\r\n])(?:---|\.\.\.)[ \t]*+(?:\r\n?|\n|\Z)")
_LINE_END = re.compile(r"\r\n?|\n")
_ANCHOR = re.compile(r"(?:^|[\s\[{,:?-])&[^\s\[\]{},]", re.MULTILINE)
_ALIAS = re.compile(r"(?:^|[\s\[{,:?-])\*(?=[^\s\[\]{},*])", re.MULTILINE)
_BRACKET = re.compile(r"[\[\]{}]")
_INTEGER_MIN, _INTEGER_MAX = -(2**63), 2**64 - 1


class FrontMatter(msgspec.Struct, frozen=True):
    """The front matter of a note and the place where the body begins."""

    fields: dict[str, Any]
    """The values, JSON-shaped; empty if there are none or they cannot be read."""
    error: str | None
    """Why the fields cannot be read; lines are those of the raw file."""
    body_offset: int
    """The offset of the body in code points."""
    body_line: int
    """The 1-based raw line where the body begins."""
    raw: str
    """With an error, the text between the lines of dashes, or up to the limit if the closing line is missing.

    The share policy still searches this text."""


NO_FRONT_MATTER: Final = FrontMatter({}, None, 0, 1, "")


def split_front_matter(text: str) -> FrontMatter:
    """Separates front matter from the body; never fails.

    The opening line is `---` at the very start, the closing one `---` or `...`; either may end in blanks, the
    closing one also at the end of the text. Without a closing line, all the text is body. Linear in its length.
    """
    opening = _OPENING.match(text) if text.startswith("---") else None
    if opening is None:
        return FrontMatter({}, None, 0, 1, "")
    start = opening.end()
    closing = _CLOSING.search(text, start)
    if closing is None:
        error = "Front matter opens on line 1 and is never closed; expected a line `---` after it."
        return FrontMatter({}, error, 0, 1, text[start : start + FRONT_MATTER_CHARS_MAX])
    raw = text[start : closing.start()]
    fields, error_or_none = _load(raw)
    body_line = 3 + sum(1 for _ in _LINE_END.finditer(raw))
    return FrontMatter(fields, error_or_none, closing.end(), body_line, raw if error_or_none else "")


def _load(raw: str) -> tuple[dict[str, Any], str | None]:
    if len(raw) > FRONT_MATTER_CHARS_MAX:
        return {}, f"Front matter has {len(raw)} characters; at most {FRONT_MATTER_CHARS_MAX} are read."
    if "&" in raw and "*" in raw and _aliases(raw) > FRONT_MATTER_ALIASES_MAX:
        return {}, f"Front matter has more than {FRONT_MATTER_ALIASES_MAX} aliases."
    if _are_too_many_open(raw):
        return {}, f"Front matter has more than {FRONT_MATTER_OPEN_MAX} brackets open at once."
    try:
        # The added line makes the loader's line numbers those of the file.
        value = ryaml.loads("\n" + raw)  # type: ignore[attr-defined]  # its package re-exports by a star
        if value is None:
            return {}, None
        if not isinstance(value, dict):
            return {}, f"Expected front matter to be a mapping of names to values, got {_name(value)}."
        return _Shaper().mapping(value), None
    except (ValueError, TypeError, OverflowError) as reason:
        return {}, f"Front matter cannot be read: {str(reason)[:ECHO_CHARS_MAX]}."


def _aliases(raw: str) -> int:
    return sum(1 for _ in _ALIAS.finditer(raw)) if _ANCHOR.search(raw) else 0


def _are_too_many_open(raw: str) -> bool:
    """Counts brackets in quotes too: real text does not have so many open there."""
    if raw.count("[") + raw.count("{") <= FRONT_MATTER_OPEN_MAX:
        return False
    depth = deepest = 0
    for bracket in _BRACKET.findall(raw):
        depth = depth + 1 if bracket in "[{" else max(0, depth - 1)
        deepest = max(deepest, depth)
    return deepest > FRONT_MATTER_OPEN_MAX


def _name(value: object) -> str:
    return "a list" if isinstance(value, list) else "a single value"


class _Shaper:
    """Converts values to JSON's types. The loader's own limit of 128 levels bounds the recursion."""

    def __init__(self) -> None:
        self.nodes = 0

    def mapping(self, value: dict[Any, Any]) -> dict[str, Any]:
        return {self.key(key): self.value(item) for key, item in value.items()}

    def key(self, key: object) -> str:
        if isinstance(key, str):
            return key
        if key is None:
            return "null"
        if isinstance(key, bool):
            return "true" if key else "false"
        return str(key)

    def value(self, value: Any) -> Any:
        self.nodes += 1
        if self.nodes > FRONT_MATTER_NODES_MAX:
            raise ValueError(f"it holds more than {FRONT_MATTER_NODES_MAX} values")
        if value is None or isinstance(value, str | bool):
            return value
        if isinstance(value, int):
            return value if _INTEGER_MIN <= value <= _INTEGER_MAX else str(value)
        if isinstance(value, float):
            return value if math.isfinite(value) else str(value)
        if isinstance(value, dict):
            return self.mapping(value)
        if isinstance(value, list | tuple | set | frozenset):
            return [self.value(item) for item in value]
        return str(value)
