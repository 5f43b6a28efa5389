r"""Writes a conversation as Markdown for a person to read and keep, and reads such files.

    ---
    workspaced-chat: 1
    conversation: "talk-1"
    model: "large"
    ---

    **user** · 2026-03-01 12:00
    [Context: work/plan.md]
    <!-- workspaced: {"id":"m1","attachments":[{"kind":"note","id":"work/plan.md"}]} -->

    What is left to do?

The comment holds what a message has besides its words, as `workspaced/context/message` takes it. The line above it
is for people and is not read. A line of a text that reads like a heading of the file gets a backslash.
"""

import re
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

import msgspec
from msgspec.structs import replace

from workspaced_tools.errors import ArgumentInvalid
from workspaced_tools.notes.frontmatter import split_front_matter

from . import params as p

MARK: Final = "workspaced-chat"
"""The front-matter field with the format's version."""
VERSION: Final = 1
SETTINGS: Final[tuple[str, ...]] = ("provider", "model", "contextWindow", "outputReserve")
_FIELDS: Final = ("conversation", *SETTINGS)
_SUMMARY: Final = "summary"
_ROLES: Final = rf"\*\*(user|assistant|system|{_SUMMARY})\*\*"
_HEADING: Final = re.compile(rf"{_ROLES}(?:[ \t]*·.*)?[ \t\r]*")
_LIKE_HEADING: Final = re.compile(rf"^(\\*{_ROLES})", re.MULTILINE)
_ESCAPED: Final = re.compile(rf"^\\(\\*{_ROLES})", re.MULTILINE)
_CONTEXT: Final = "[Context:"
_COMMENT: Final = "<!-- workspaced:"
_COMMENT_END: Final = "-->"
_IN_COMMENT: Final = frozenset({"id", "attachments", "toolCalls", "toolResults", "thinking"})


class Summary(NamedTuple):
    text: str
    up_to: str


class ChatFile(NamedTuple):
    fields: dict[str, Any]
    """The conversation's id and SETTINGS by their names on the wire, those that the file has."""
    messages: tuple[p.Message, ...]
    """Each with an id."""
    times: tuple[str, ...] = ()
    """When each message came, ISO 8601; nothing reads them from a file."""
    summary: Summary | None = None


def write_chat(chat: ChatFile) -> str:
    """The text of the file. Linear in the size of the chat."""
    lines = ["---", f"{MARK}: {VERSION}", *(f"{name}: {_yaml(value)}" for name, value in chat.fields.items())]
    parts = ["\n".join([*lines, "---", ""])]
    if chat.summary is not None:
        parts.append(_section(f"**{_SUMMARY}**", "", {"upTo": chat.summary.up_to}, chat.summary.text))
    for message, at in zip(chat.messages, chat.times, strict=True):
        names = ", ".join(each.id for each in message.attachments if each.id)
        context = f"{_CONTEXT} {_one_line(names)}]" if names else ""
        told = msgspec.to_builtins(message)
        hidden = {name: told[name] for name in told if name in _IN_COMMENT}
        heading = f"**{message.role}** · {at[:16].replace('T', ' ')}"
        parts.append(_section(heading, context, hidden, message.text or ""))
    return "".join(parts)


def _yaml(value: str | int) -> str:
    if isinstance(value, int):
        return str(value)
    escaped = (each if each.isprintable() and each not in _QUOTED else f"\\U{ord(each):08x}" for each in value)
    return f'"{"".join(escaped)}"'


_QUOTED: Final = frozenset('"\\')


def _one_line(text: str) -> str:
    return "".join(each if each.isprintable() else " " for each in text)


def _section(heading: str, context: str, hidden: dict[str, Any], text: str) -> str:
    json = msgspec.json.encode(hidden).decode().replace("--", "-\\u002d").replace(">", "\\u003e")
    head = [heading, *([context] if context else []), f"{_COMMENT} {json} {_COMMENT_END}"]
    body = _LIKE_HEADING.sub(r"\\\1", text.strip("\n"))
    return "\n".join(["", *head, *(["", body] if body else []), ""])


# -- reading --


class _Section(NamedTuple):
    line: int
    role: str
    lines: list[str]
    """Below the heading."""


def read_chat(text: str) -> ChatFile:
    """Reads a chat file. Linear.

    Raises:
        ArgumentInvalid: the text is no chat file, or a part of it cannot be read; names the line.
    """
    text = text.removeprefix("\ufeff")
    if text.partition("\n")[0].endswith("\r"):  # saved by an editor that ends all lines with CRLF
        text = text.replace("\r\n", "\n")
    head = split_front_matter(text)
    if head.problem is not None:
        raise _invalid(1, "no line `---` ends its front matter" if head.is_open else head.problem.rstrip("."))
    if head.fields.get(MARK) != VERSION:
        raise ArgumentInvalid(
            f"Expected a chat file of version {VERSION}, which begins with front matter that has "
            f"`{MARK}: {VERSION}`.",
            hint="`workspaced context export` writes such a file.",
        )
    sections = _sections(text[head.end_offset :].split("\n"), text.count("\n", 0, head.end_offset) + 1)
    summary, messages = None, []
    for each in sections:
        hidden, words = _hidden(each), _words(each.lines)
        if each.role == _SUMMARY:
            if summary is not None or not isinstance(hidden.get("upTo"), str):
                raise _invalid(each.line, "expected one summary, with the message that it goes up to")
            summary = Summary(words, hidden["upTo"])
        else:
            messages.append(_message(each, hidden, words))
    ids = [each.id for each in messages]
    if len(set(ids)) < len(ids):
        twice = next(each for each in ids if ids.count(each) > 1)
        raise ArgumentInvalid(f"Two messages have the id {twice!r}.", hint="Take the id out of one's comment.")
    fields = {name: head.fields[name] for name in _FIELDS if name in head.fields}
    return ChatFile(fields, tuple(messages), summary=summary)


def _sections(lines: list[str], first_line: int) -> list[_Section]:
    sections: list[_Section] = []
    for number, line in enumerate(lines, start=first_line):
        if (heading := _HEADING.fullmatch(line)) is not None:
            sections.append(_Section(number, heading[1], []))
        elif sections:
            sections[-1].lines.append(line)
        elif line.strip():
            raise _invalid(number, "expected a heading such as `**user**` before all text")
    return sections


def _hidden(section: _Section) -> dict[str, Any]:
    """The content of the section's comment."""
    for number, line in enumerate(_head(section.lines), start=section.line + 1):
        if line.startswith(_COMMENT):
            json = line.removeprefix(_COMMENT).rstrip(" \t\r").removesuffix(_COMMENT_END)
            try:
                return msgspec.json.decode(json, type=dict[str, Any])
            except (msgspec.MsgspecError, RecursionError) as error:
                raise _invalid(number, f"the comment cannot be read: {error}") from None
    return {}


def _head(lines: list[str]) -> Iterable[str]:
    """The lines directly below a heading that are not the message's text."""
    for line in lines:
        if not line.startswith((_CONTEXT, _COMMENT)):
            return
        yield line


def _words(lines: list[str]) -> str:
    return _ESCAPED.sub(r"\1", "\n".join(lines[len(list(_head(lines))) :]).strip("\n"))


def _message(section: _Section, hidden: dict[str, Any], words: str) -> p.Message:
    if other := hidden.keys() - _IN_COMMENT:
        raise _invalid(section.line, f"its comment has {min(other)!r}, which is not known")
    try:
        message = msgspec.convert({**hidden, "role": section.role, "text": words or None}, p.Message)
    except (msgspec.ValidationError, RecursionError) as error:
        raise _invalid(section.line, f"the message cannot be taken: {error}") from None
    return message if message.id is not None else replace(message, id=f"line-{section.line}")


def _invalid(line: int, problem: str) -> ArgumentInvalid:
    return ArgumentInvalid(f"The chat file cannot be read at line {line}: {problem}.", hint="Mend it there.")
