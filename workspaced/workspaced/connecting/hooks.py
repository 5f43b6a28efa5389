"""Hooks of ours in a program's settings: found, added, removed. Hooks for other vaults, and of others, stay."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from . import json_text
from .command_lines import OwnCommand, own_hook, renewed_hook_line
from .json_text import Path
from .runtimes import HookEvent, HookFile

KEY = "hooks"


class Hook(NamedTuple):
    """A hook of ours."""

    event: str
    line: str
    """As it is written."""
    command: OwnCommand
    path: Path
    """Where it stands in the file."""


def find(spec: HookFile, whole: Mapping[str, Any]) -> list[Hook]:
    """The hooks of ours, in the order of the file. What has another form is passed over."""
    found = []
    for event, groups in _items(whole.get(KEY)):
        for place, group in _elements(groups):
            hooks: list[tuple[Path, dict[str, Any]]] = [((KEY, event, place), group)]
            if spec.is_grouped:
                hooks = [((KEY, event, place, KEY, at), hook) for at, hook in _elements(group.get(KEY))]
            for path, hook in hooks:
                line = hook.get("command")
                if isinstance(line, str) and (command := own_hook(line)) is not None:
                    found.append(Hook(event, line, command, path))
    return found


def add(spec: HookFile, text: str, line: str, vault: str) -> str:
    """The text with a hook for the vault at each event. One that is there keeps its place and its arguments.

    Raises:
        Unmergeable: the text cannot be changed without loss.
    """
    whole = json_text.parse(text)
    for name, value in spec.head.items():
        if name not in whole:
            text = json_text.put(text, (name,), value)
    ours = [each for each in find(spec, whole) if each.command.serves(vault)]
    for event in spec.events:
        present = [each for each in ours if each.event == event.name]
        for each in present:
            if not each.command.is_of_this_installation:
                text = json_text.put(text, (*each.path, "command"), renewed_hook_line(each.command))
        if not present:
            text = json_text.put(text, (KEY, event.name, _count(whole, event.name)), _new(spec, event, line))
    return text


def remove(spec: HookFile, text: str, is_wanted: Callable[[Hook], bool]) -> str:
    """The text without those hooks of ours; groups, lists and objects that it leaves empty go too.

    Raises:
        Unmergeable: the text is no plain JSON.
    """
    wanted = [each for each in find(spec, json_text.parse(text)) if is_wanted(each)]
    for each in reversed(wanted):  # from behind, so that positions stay true
        text = json_text.take(text, each.path)
        for holder, goes in _holders(each.path):
            if not json_text.is_bare(text, holder):
                break
            text = json_text.take(text, goes)
    return text


def settings(spec: HookFile, line: str) -> dict[str, Any]:
    """What a file that holds nothing else would be."""
    return {**spec.head, KEY: {event.name: [_new(spec, event, line)] for event in spec.events}}


def _new(spec: HookFile, event: HookEvent, line: str) -> dict[str, Any]:
    if not spec.is_grouped:
        return {"command": line, "timeout": spec.timeout}
    matcher = {} if event.matcher is None else {"matcher": event.matcher}
    return {**matcher, KEY: [{"type": "command", "command": line, "timeout": spec.timeout}]}


def _items(value: Any) -> list[tuple[str, Any]]:
    return list(value.items()) if isinstance(value, dict) else []


def _elements(value: Any) -> list[tuple[int, dict[str, Any]]]:
    """The objects in a list, with their positions."""
    elements = value if isinstance(value, list) else []
    return [(at, each) for at, each in enumerate(elements) if isinstance(each, dict)]


def _count(whole: Mapping[str, Any], event: str) -> int:
    events = whole.get(KEY)
    groups = events.get(event) if isinstance(events, dict) else None
    return len(groups) if isinstance(groups, list) else 0


def _holders(hook: Path) -> list[tuple[Path, Path]]:
    """What held the hook, from the inside: what must be empty, and what goes then."""
    event, group = (hook[:2], hook[:3])
    in_group = [((*group, KEY), group)] if len(hook) > len(group) else []
    return [*in_group, (event, event), (hook[:1], hook[:1])]
