"""MCP entries of ours in a program's settings: found, named by their vault, added, removed."""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from . import json_text, toml_text
from .command_lines import OwnCommand, absolute, bridge_line, own_bridge, own_program
from .json_text import Unmergeable
from .runtimes import ServerFile

NAME: Final = "workspaced"
NAME_CHARS_MAX: Final = 32
"""Programs put an entry's name before the names of its tools, which providers limit to some 64 characters."""


class Server(NamedTuple):
    """An MCP entry of ours."""

    name: str
    command: OwnCommand


def parse(spec: ServerFile, text: str) -> dict[str, Any]:
    """Raises Unmergeable: the text is not plain JSON or TOML."""
    return toml_text.parse(text) if spec.syntax == "toml" else json_text.parse(text)


def find(spec: ServerFile, whole: Mapping[str, Any]) -> list[Server]:
    """The entries of ours, in the order of the file."""
    return [
        Server(name, command)
        for name, value in _all(spec, whole).items()
        if isinstance(value, dict) and (command := own_bridge(_argv(value))) is not None
    ]


def name_for(spec: ServerFile, whole: Mapping[str, Any], vault: str) -> str:
    """The name of the entry for a vault: that of one that is there, else one after the folder."""
    for each in find(spec, whole):
        if each.command.serves(vault):
            return each.name
    taken = _all(spec, whole)
    return next(name for name in _names(vault) if name not in taken)


def wanted_argv(spec: ServerFile, whole: Mapping[str, Any], name: str, vault: str) -> list[str]:
    """The command line of the entry for a vault; further arguments of an entry that is there stay."""
    for each in find(spec, whole):
        if each.name == name and each.command.serves(vault):
            return [*own_program(), "mcp", *each.command.arguments]
    return bridge_line(vault)


def entry(spec: ServerFile, argv: list[str]) -> dict[str, Any]:
    """The entry's fields."""
    if spec.command_is_list:
        return {**spec.fixed, "command": argv}
    return {**spec.fixed, "command": argv[0], "args": argv[1:]}


def add(spec: ServerFile, text: str, name: str, argv: list[str]) -> str:
    """The text with the entry. What else an entry that is there says keeps its bytes.

    Raises:
        Unmergeable: the text cannot be changed without loss.
    """
    whole = parse(spec, text)
    fields = entry(spec, argv)
    present = _all(spec, whole).get(name)
    place = (spec.key, name)
    if present is None and spec.syntax == "json":
        return json_text.put(text, place, fields)
    if present is None:
        return toml_text.put(text, spec.key, name, fields)
    if not isinstance(present, dict):
        raise Unmergeable(f"holds something else than an object under '{spec.key}.{name}'")
    changed = {field: value for field, value in fields.items() if present.get(field) != value}
    if spec.syntax == "json":
        for field, value in changed.items():
            text = json_text.put(text, (*place, field), value)
    elif changed:
        if own_bridge(_argv(present)) is None or not present.keys() <= fields.keys():
            raise Unmergeable(f"has another [{spec.key}.{name}]")
        text = toml_text.put(toml_text.take(text, spec.key, name), spec.key, name, fields)
    return text


def remove(spec: ServerFile, text: str, names: list[str]) -> str:
    """The text without these entries; the object that held them goes if it is empty.

    Raises:
        Unmergeable: the text cannot be changed without loss.
    """
    for name in names:
        if spec.syntax == "toml":
            text = toml_text.take(text, spec.key, name)
            continue
        text = json_text.take(text, (spec.key, name))
        if json_text.is_bare(text, (spec.key,)):
            text = json_text.take(text, (spec.key,))
    return text


def _all(spec: ServerFile, whole: Mapping[str, Any]) -> Mapping[str, Any]:
    """The servers, ours and others."""
    found = whole.get(spec.key)
    return found if isinstance(found, dict) else {}


# -- ours, or not --


def _argv(value: Mapping[str, Any]) -> list[str]:
    parts = (value.get("command"), value.get("args", []))
    words = [word for part in parts for word in (part if isinstance(part, list) else [part])]
    texts = [word for word in words if isinstance(word, str)]
    return texts if len(texts) == len(words) else []


# -- names --


def _names(vault: str) -> Iterator[str]:
    """Names for a folder, the plainest first: after the folder, with the folders above it, then numbered."""
    parts = [part for part in map(_plain, Path(absolute(vault)).parts) if part] or ["vault"]
    for depth in range(1, len(parts) + 1):
        yield f"{NAME}-{'-'.join(parts[-depth:])}"[:NAME_CHARS_MAX].rstrip("-")
    number = 2
    while True:
        suffix = f"-{number}"
        yield f"{NAME}-{parts[-1]}"[: NAME_CHARS_MAX - len(suffix)].rstrip("-") + suffix
        number += 1


def _plain(part: str) -> str:
    """Lower-case letters, digits and hyphens: what every program takes."""
    ascii_only = unicodedata.normalize("NFKD", part).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]+", "-", ascii_only.lower()).strip("-")
