"""Tags and aliases out of front matter."""

from collections.abc import Iterable
from typing import Any


def tags_of(fields: dict[str, Any], inline: Iterable[str]) -> tuple[str, ...]:
    """Distinct tags without `#`: the front matter's `tags` or `tag` (a list, or a string), then the text's."""
    given = fields.get("tags" if "tags" in fields else "tag")
    if isinstance(given, str):
        given = given.replace(",", " ").split()
    named = given if isinstance(given, list) else []
    found = (str(each).strip().removeprefix("#") for each in named if isinstance(each, str | int | float))
    return tuple(tag for tag in dict.fromkeys((*found, *inline)) if tag)


def aliases_of(fields: dict[str, Any]) -> tuple[str, ...]:
    """Front-matter `aliases` (or `alias`): a list, or one string."""
    given = fields.get("aliases", fields.get("alias"))
    names = given if isinstance(given, list) else [given]
    return tuple(name for each in names if (name := _scalar(each)) is not None)


def _scalar(value: object) -> str | None:
    """A name as text: strings trimmed, numbers as written; None for anything else and for the empty string."""
    if isinstance(value, str):
        return value.strip() or None
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    return None
