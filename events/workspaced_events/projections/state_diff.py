"""The difference of two states: values for programs, lines for people."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, Literal

import msgspec
from msgspec import to_builtins

from ..escaping import escape_control
from .workspace_state import StateJson

_NAMES_IN_ORDER: Final = 4
"""Names of a new order that are shown to people."""


class Change(msgspec.Struct, frozen=True, omit_defaults=True):
    """One difference of the second state. Applied in this order, the changes lead from the first state to the
    second: remove each `removed`, bring the rest into the new `order`, set each `changed`, insert each `added` at
    its place, first places first."""

    field: str
    """Wire name of the state's field."""
    kind: Literal["changed", "added", "removed", "order"]
    id: str | None = None
    """The list entry (in `sharing` and `volunteering`: the client); null if the field itself changed."""
    at: int | None = None
    """The entry's index: in the second state, or for a removed one in the first."""
    before: Any = None
    after: Any = None
    """The plain values. For an `order`: the ids in both states, in the order of each."""


def changes(before: StateJson, after: StateJson) -> list[Change]:
    """The differences of `after` from `before`, in reading order; ignores `seq`."""
    all_changes: list[Change] = []
    for field, name in _SCALARS.items():
        all_changes += _scalar(name, getattr(before, field), getattr(after, field))
    for field, name in _LISTS.items():
        old, new = getattr(before, field), getattr(after, field)
        if old != new:
            all_changes += _entries(name, _by_id(old), _by_id(new))
    if before.sharing != after.sharing:
        all_changes += _entries("sharing", before.sharing or {}, after.sharing or {}, ordered=False)
    if before.volunteering != after.volunteering:
        told_before, told = before.volunteering or {}, after.volunteering or {}
        all_changes += _entries("volunteering", told_before, told, ordered=False)
    all_changes += _scalar("paused", before.paused or None, after.paused or None)
    all_changes += _scalar("lastUpdated", before.last_updated, after.last_updated)
    return all_changes


def lines(changes: Iterable[Change]) -> list[str]:
    """The changes for people, one line each; `lastUpdated` only if nothing else changed.

    Escapes control characters in names.
    """
    listed = list(changes)
    return [escape_control(_line(each)) for each in listed if each.field != "lastUpdated" or len(listed) == 1]


# -- comparing --

_SCALARS: Final = {
    "current_vault_id": "currentVaultId",
    "active_note": "activeNote",
    "active_tab_id": "activeTabId",
    "selection": "selection",
}
_LISTS: Final = {
    "pinned_notes": "pinnedNotes",
    "temporary_tabs": "temporaryTabs",
    "recent_notes": "recentNotes",
    "archived": "archived",
    "vaults": "vaults",
}


def _scalar(name: str, before: Any, after: Any) -> list[Change]:
    return (
        [] if before == after else [Change(name, "changed", before=to_builtins(before), after=to_builtins(after))]
    )


def _by_id(entries: list[Any]) -> dict[str, Any]:
    return {entry if isinstance(entry, str) else entry.id: entry for entry in entries}


def _entries(
    name: str, before: Mapping[str, Any], after: Mapping[str, Any], *, ordered: bool = True
) -> Iterator[Change]:
    for at, (key, value) in enumerate(before.items()):
        if key not in after:
            yield Change(name, "removed", key, at if ordered else None, before=to_builtins(value))
    for at, (key, value) in enumerate(after.items()):
        if key not in before:
            yield Change(name, "added", key, at if ordered else None, after=to_builtins(value))
        elif value != before[key]:
            was, now = to_builtins(before[key]), to_builtins(value)
            yield Change(name, "changed", key, at if ordered else None, was, now)
    old, new = [key for key in before if key in after], [key for key in after if key in before]
    if ordered and old != new:
        yield Change(name, "order", before=old, after=new)


# -- for people --

_WORDS: Final = {
    "currentVaultId": "vault",
    "activeNote": "active",
    "activeTabId": "active tab",
    "selection": "selected",
    "pinnedNotes": "pinned",
    "temporaryTabs": "tab",
    "recentNotes": "recent",
    "archived": "archived",
    "vaults": "open vault",
    "sharing": "shared",
    "volunteering": "volunteered",
    "paused": "paused",
    "lastUpdated": "last updated",
}


def _line(change: Change) -> str:
    word = _WORDS[change.field]
    match change.kind:
        case "added":
            place = f" at {change.at}" if change.field in ("pinnedNotes", "temporaryTabs") else ""
            return f"{word} + {_entry(change, change.after)}{place}"
        case "removed":
            return f"{word} - {_entry(change, change.before)}"
        case "order":
            more = len(change.after) - _NAMES_IN_ORDER
            names = ", ".join(change.after[:_NAMES_IN_ORDER])
            return f"{word} order {names}{f' and {more} more' if more > 0 else ''}"
    if isinstance(change.before, dict) and isinstance(change.after, dict):
        return f"{word} {_inside(change)}"
    about = "" if change.id is None else f"{change.id} "
    return f"{word} {about}{_value(change.before)} -> {_value(change.after)}"


def _inside(change: Change) -> str:
    """The change inside an entry, or in the active or selected note."""
    before, after = change.before, change.after
    if change.id is None and _value(before) != _value(after):
        return f"{_value(before)} -> {_value(after)}"
    keys = [key for key in dict.fromkeys((*before, *after)) if before.get(key) != after.get(key)]
    parts = ["text" if key == "text" else f"{key} {before.get(key)} -> {after.get(key)}" for key in keys]
    return f"{_entry(change, after)}: {', '.join(parts)}"


def _entry(change: Change, value: Any) -> str:
    """A list entry's id, with a detail where that helps."""
    match change.field:
        case "temporaryTabs":
            return f"{change.id} {value['noteId']}"
        case "vaults":
            return f"{change.id} {value['path']}"
        case "sharing" | "volunteering":
            return f"{change.id}: {value}"
        case _:
            return _value(value) if change.id is None else change.id


def _value(value: Any) -> str:
    """A field's value, without a selection's text."""
    if value is None:
        return "none"
    if isinstance(value, dict) and "id" not in value and "note" not in value:
        return f"until {value['until']}" if "until" in value else "until resumed"
    if isinstance(value, dict):
        return f"{value['note']} {value['startLine']}-{value['endLine']}" if "note" in value else str(value["id"])
    return str(value)
