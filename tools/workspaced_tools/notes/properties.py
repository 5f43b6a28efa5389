"""Tags and aliases from front matter."""

from collections.abc import Iterable
from typing import Any


def tags_of(fields: dict[str, Any], inline: Iterable[str]) -> tuple[str, ...]:
    """Distinct tags without `#`: the front matter's `tags` or `tag` (a list, or a string), then the text's."""
    value = fields.get("tags" if "tags" in fields else "tag")
    if isinstance(value, str):
        value = value.replace(",", " ").split()
    named = value if isinstance(value, list) else []
    found = (str(each).strip().removeprefix("#") for each in named if isinstance(each, str | int | float))
    return tuple(tag for tag in dict.fromkeys((*found, *inline)) if tag)


def aliases_of(fields: dict[str, Any]) -> tuple[str, ...]:
    """Front-matter `aliases` (or `alias`): a list, or one string."""
    value = fields.get("aliases", fields.get("alias"))
    names = value if isinstance(value, list) else [value]
    return tuple(name for each in names if (name := scalar_text(each)) is not None)


def scalar_text(value: object) -> str | None:
    """A name as text: strings trimmed, numbers as written; None for anything else and for the empty string."""
    if isinstance(value, str):
        return value.strip() or None
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    return None
