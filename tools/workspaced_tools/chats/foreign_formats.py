"""Reads chat files of other tools: the format of assistants in note editors.

    ---
    epoch: 1740823200000
    modelKey: large|someone
    topic: Plans
    ---

    **user**: What is left to do?
    [Context: Notes: plan.md | URLs: https://example.org/]
    [Timestamp: 2025/03/01 10:00:00]

    **ai**: Two things.

The context line has bare names without escapes, so a comma may be part of a name. If the last name ends in `.md`,
a part that does not end so belongs to the next part. Context that older tools wrote into the message itself stays
there.
"""

import re
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from workspaced_events.schema.catalogue import Role

from ..notes.frontmatter import FrontMatter
from .context_line import BEGIN, GROUPS
from .message_text import inner
from .model import (
    Chat,
    ChatWarning,
    ReadChat,
    SavedAttachment,
    SavedMessage,
    quoted,
)

_HEADING: Final = re.compile(r"\*\*(user|ai|assistant|system)\*\*:[ \t]?(.*)\Z")
_TIME: Final = re.compile(r"\[Timestamp: ?(.*)\][ \t\r]*\Z")
_MOMENT: Final = re.compile(r"(\d{4})[/-](\d\d)[/-](\d\d)[ T](\d\d:\d\d(?::\d\d)?)\Z")
_ENDING: Final = ".md"
_ROLES: Final[dict[str, Role]] = {"user": "user", "ai": "assistant", "assistant": "assistant", "system": "system"}
_GROUPS: Final = ("Notes", "URLs", "Tags", "Folders")
_GROUP: Final = re.compile(rf"({'|'.join(_GROUPS)}): ?")


class _Found(NamedTuple):
    line: int
    role: Role
    lines: list[str]


def is_older(lines: list[str]) -> bool:
    """Whether a body has this format."""
    return any(_HEADING.match(line) for line in lines)


def read_older(head: FrontMatter, lines: list[str]) -> ReadChat:
    """Reads the chat; its messages have no ids. Linear."""
    warnings: list[ChatWarning] = []
    if head.problem is not None:
        warnings.append(ChatWarning(1, "FRONT_MATTER_INVALID", head.problem))
    fields = _front_matter(head.fields, warnings)
    found: list[_Found] = []
    before: list[int] = []
    for number, line in enumerate(lines, start=head.body_line):
        if (heading := _HEADING.match(line)) is not None:
            found.append(_Found(number, _ROLES[heading[1]], [heading[2]]))
        elif found:
            found[-1].lines.append(line)
        elif line.strip():
            before.append(number)
    if before:
        what = f"Text before the first message is left out, {len(before)} lines."
        warnings.append(ChatWarning(before[0], "TEXT_BEFORE_MESSAGES", what))
    messages = tuple(_message(each, warnings) for each in found)
    return ReadChat(Chat(**fields, messages=messages), tuple(each.line for each in found), tuple(warnings))


def _front_matter(front_matter: dict[str, Any], warnings: list[ChatWarning]) -> dict[str, Any]:
    more = dict(front_matter)
    fields: dict[str, Any] = {"more": more}
    if isinstance(more.get("modelKey"), str):
        name, _bar, provider = more.pop("modelKey").partition("|")
        fields |= {"model": name or None, "provider": provider or None}
    if isinstance(more.get("topic"), str):
        fields["title"] = more.pop("topic")
    if isinstance(epoch := more.get("epoch"), int):
        try:
            moment = datetime.fromtimestamp(epoch / 1000, UTC)
        except (OverflowError, ValueError, OSError):
            warnings.append(
                ChatWarning(1, "FIELD_INVALID", "`epoch` is not read: expected milliseconds since 1970.")
            )
        else:
            del more["epoch"]
            fields["started"] = moment.isoformat().replace("+00:00", "Z")
    return fields


def _message(found: _Found, warnings: list[ChatWarning]) -> SavedMessage:
    """The message; a context line and a time at its end become fields."""
    lines = found.lines
    at: str | None = None
    attachments: tuple[SavedAttachment, ...] = ()
    while True:
        while lines and not lines[-1].strip(" \t\r"):
            lines.pop()
        last = lines[-1].rstrip() if lines else ""
        if at is None and (time := _TIME.match(last)) is not None:
            at = _moment(time[1])
        elif not attachments and len(lines) > 1 and last.startswith(BEGIN) and last.endswith("]"):
            attachments = _attachments(last, found.line + len(lines) - 1, warnings)
        else:
            break
        lines.pop()
    first, _end = inner(lines)
    return SavedMessage(found.role, at=at, text="\n".join(lines[first:]) or None, attachments=attachments)


def _moment(text: str) -> str:
    """A local time as ISO 8601, without an offset because the file has none; any other text unchanged."""
    found = _MOMENT.match(text)
    return f"{found[1]}-{found[2]}-{found[3]}T{found[4]}" if found is not None else text


def _attachments(line: str, number: int, warnings: list[ChatWarning]) -> tuple[SavedAttachment, ...]:
    groups: list[tuple[str, list[str]]] = []
    for part in line.removeprefix(BEGIN).removesuffix("]").strip().split(" | "):
        if (begin := _GROUP.match(part)) is not None:
            groups.append((begin[1], [part[begin.end() :]]))
        elif groups:  # a bar in a name
            groups[-1][1].append(part)
        elif part:
            what = f"{quoted(part)} of the context line is not read: expected one of {', '.join(_GROUPS)}."
            warnings.append(ChatWarning(number, "CONTEXT_INVALID", what))
    named = ((group, name) for group, parts in groups for name in _names(" | ".join(parts)))
    return tuple(SavedAttachment(GROUPS[group][0], name) for group, name in named)


def _names(text: str) -> list[str]:
    parts = text.split(", ")
    if not parts[-1].lower().endswith(_ENDING):
        return [part.strip() for part in parts if part.strip()]
    names: list[str] = []
    pieces: list[str] = []
    for part in parts:
        pieces.append(part)
        if part.lower().endswith(_ENDING):
            names.append(", ".join(pieces).strip())
            pieces = []
    return names
