"""Edits TOML as text: tables are appended and cut out again, and everything else keeps its bytes."""

import json
import re
import tomllib
from collections.abc import Mapping
from typing import Any, Final

from .json_text import Unmergeable

_HEADER: Final = re.compile(r"[ \t]*\[")


def parse(text: str) -> dict[str, Any]:
    """Raises Unmergeable: the text is no TOML."""
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise Unmergeable(f"is no TOML ({error})") from None


def put(text: str, key: str, name: str, entry: Mapping[str, Any]) -> str:
    """Appends the table `[key.name]`, which must not be there.

    Raises:
        Unmergeable: the text has `key` in a form to which no table can be added.
    """
    whole = parse(text)
    newline = "\r\n" if "\r\n" in text else "\n"
    gap = "" if not text.strip() else newline if text.endswith("\n") else newline * 2
    after = text + gap + table(key, name, entry).replace("\n", newline)
    try:
        good = parse(after) == {**whole, key: {**whole.get(key, {}), name: entry}}
    except (Unmergeable, TypeError):
        good = False
    if not good:
        raise Unmergeable(f"writes {key!r} in a way that no table can be added to")
    return after


def take(text: str, key: str, name: str) -> str:
    """Cuts out the table `[key.name]` and those below it, with the empty line before; comments behind it stay.

    Raises:
        Unmergeable: it is written in another way, for instance inline.
    """
    whole = parse(text)
    lines = text.splitlines(keepends=True)
    kept: list[str] = []
    is_ours = False
    for at, line in enumerate(lines):
        if _HEADER.match(line):
            was_ours, is_ours = is_ours, _is_below(line, key, name)
            if is_ours and not was_ours and kept and not kept[-1].strip():
                kept.pop()
        elif is_ours and _is_outside(lines, at):
            is_ours = False
        if not is_ours:
            kept.append(line)
    after = "".join(kept)
    servers = {other: entry for other, entry in whole[key].items() if other != name}
    expected = {**whole, key: servers}
    without_key = {other: value for other, value in whole.items() if other != key}
    try:
        good = parse(after) in (expected, without_key if not servers else expected)
    except Unmergeable:
        good = False
    if not good:
        raise Unmergeable(f"writes [{key}.{name}] in a way that cannot be cut out")
    return after


def table(key: str, name: str, entry: Mapping[str, Any]) -> str:
    """The table `[key.name]` with strings and lists of strings."""
    return "\n".join([f"[{key}.{name}]", *(f"{field} = {_value(value)}" for field, value in entry.items()), ""])


def _value(value: Any) -> str:
    """JSON's strings and lists of strings are valid TOML, except for DEL and escaped surrogate pairs."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _is_below(header: str, key: str, name: str) -> bool:
    """Whether a line begins the table `[key.name]` or one below it."""
    try:
        whole = tomllib.loads(header)
    except tomllib.TOMLDecodeError:
        return False
    servers = whole.get(key)
    return isinstance(servers, dict) and name in servers


def _is_outside(lines: list[str], at: int) -> bool:
    """Whether only empty lines and comments follow up to the next table: they belong to what comes next."""
    for line in lines[at:]:
        if _HEADER.match(line):
            return True
        if line.strip() and not line.lstrip().startswith("#"):
            return False
    return True
