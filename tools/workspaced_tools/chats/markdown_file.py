"""Writes a chat as Markdown for a person to read and keep, and reads such files.

    ---
    workspaced-chat: 1
    conversation: "talk-1"
    model: "large"
    ---

    **user** · 2026-03-01 12:00
    [Context: Notes: work/plan.md]
    <!-- workspaced: {"id":"m1","at":"2026-03-01T12:00:00.000000Z"} -->

    What is left to do?

The comment holds details that a reader need not see: ids, titles, inline texts, calls of tools, hashes. Visible
text overrides the comment: a name removed from the context line is gone, and an edited text is the message's text.

A line of a message that reads like one of the file's own lines is escaped (message_text.py). So reading a written
`Chat` restores it exactly.
"""

import re
from typing import Any, Final, NamedTuple

import msgspec

from ..errors import ArgumentInvalid
from ..limits import ECHO_CHARS_MAX
from ..notes.frontmatter import FrontMatter, split_front_matter
from . import context_line as context
from .foreign_formats import is_older, read_older
from .message_text import BLANK, COMMENT, HEADING, escaped, inner, read_text
from .model import (
    VERSION,
    Chat,
    ChatWarning,
    ReadChat,
    Saved,
    SavedAttachment,
    SavedCall,
    SavedMessage,
    SavedResult,
    SavedSummary,
    SavedThinking,
    quoted,
)

MARK: Final = "workspaced-chat"
"""The front-matter field with the format's version."""

_COMMENT_END: Final = "-->"
_ISO: Final = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d)")


class _Hidden(Saved, frozen=True):
    """The content of a comment."""

    id: str | None = None
    at: str | None = None
    attachments: tuple[SavedAttachment, ...] | None = None
    """None: the attachments that the context line names, without further details."""
    tool_calls: tuple[SavedCall, ...] = ()
    tool_results: tuple[SavedResult, ...] = ()
    thinking: tuple[SavedThinking, ...] = ()
    layers: dict[str, str] = msgspec.field(default_factory=dict)
    up_to: str | None = None


_NOTHING_HIDDEN: Final = _Hidden()
_HIDDEN_NAMES: Final = frozenset(_Hidden.__struct_encode_fields__)
_KNOWN: Final[dict[str, tuple[str, type]]] = {
    "conversation": ("conversation", str),
    "title": ("title", str),
    "vault": ("vault", str),
    "provider": ("provider", str),
    "model": ("model", str),
    "contextWindow": ("context_window", int),
    "outputReserve": ("output_reserve", int),
    "started": ("started", str),
}
"""Maps a front-matter name to the field of `Chat` and its type."""


# -- writing --


def write_chat(chat: Chat) -> str:
    """The text of the file. Linear in the size of the chat."""
    parts = [_front_matter(chat)]
    if (summary := chat.summary) is not None:
        parts.append(_section("**summary**", None, _Hidden(up_to=summary.up_to), summary.text))
    parts += map(_message, chat.messages)
    return "".join(parts)


def _front_matter(chat: Chat) -> str:
    known = {name: getattr(chat, field) for name, (field, _type) in _KNOWN.items()}
    lines = [f"{MARK}: {chat.version}"]
    lines += [f"{name}: {_yaml(value)}" for name, value in known.items() if value is not None]
    lines += [f"? {_yaml(name)}\n: {_yaml(value)}" for name, value in chat.more.items()]
    return "\n".join(["---", *lines, "---", ""])


def _yaml(value: Any) -> str:
    if isinstance(value, str):
        return f'"{"".join(map(_yaml_char, value))}"'
    if isinstance(value, dict):
        return f"{{{', '.join(f'? {_yaml(name)} : {_yaml(each)}' for name, each in value.items())}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_yaml, value))}]"
    return msgspec.json.encode(value).decode()


def _yaml_char(char: str) -> str:
    if char in '"\\':
        return f"\\{char}"
    return char if char.isprintable() else f"\\U{ord(char):08x}"


def _message(message: SavedMessage) -> str:
    line = context.context_line(message.attachments)
    plain = context.merged(_line(line), None)
    hidden = _Hidden(
        message.id,
        message.at,
        None if plain == message.attachments else message.attachments,
        message.tool_calls,
        message.tool_results,
        message.thinking,
        message.layers,
    )
    at = _shown_at(message.at)
    heading = f"**{message.role}**" if at is None else f"**{message.role}** · {at}"
    return _section(heading, line, hidden, message.text)


def _section(heading: str, line: str | None, hidden: _Hidden, text: str | None) -> str:
    head = ["", heading]
    if line is not None:
        head.append(line)
    if hidden != _NOTHING_HIDDEN:
        json = msgspec.json.encode(hidden).decode().replace("--", "-\\u002d").replace(">", "\\u003e")
        head.append(f"{COMMENT} {json} {_COMMENT_END}")
    return "\n".join([*head, *(["", escaped(text)] if text is not None else []), ""])


def _shown_at(at: str | None) -> str | None:
    found = _ISO.match(at) if at is not None else None
    return f"{found[1]} {found[2]}" if found is not None else None


# -- reading --


class _Section(NamedTuple):
    line: int
    heading: re.Match[str]
    lines: list[str]
    """The lines below the heading."""


def read_chat(text: str) -> ReadChat:
    """Reads a chat file; for a broken file, the readable parts and a warning for each other part. Linear.

    Reads files of other tools too (foreign_formats.py).

    Raises:
        ArgumentInvalid: the text is no chat file.
    """
    text = text.removeprefix("\ufeff")
    if text.partition("\n")[0].endswith("\r"):  # saved by an editor that ends all lines with CRLF
        text = text.replace("\r\n", "\n")
    head = split_front_matter(text)
    end = head.end_offset  # what of the front matter cannot be read is no message
    head = msgspec.structs.replace(head, body_line=text.count("\n", 0, end) + 1)
    lines = text[end:].split("\n")
    if MARK not in head.fields and is_older(lines):
        return read_older(head, lines)
    reading = _Reading(head)
    begin = next((at for at, line in enumerate(lines) if HEADING.match(line)), len(lines))
    if MARK not in head.fields and begin == len(lines):
        raise ArgumentInvalid(
            "The text holds no message of a chat",
            hint="A chat file says above each message whose it is: a line '**user**' or '**assistant**'; files of "
            "other tools have lines such as '**user**: text'.",
        )
    reading.before(lines[:begin])
    for section in _sections(lines, begin, head.body_line):
        reading.section(section)
    return ReadChat(reading.chat(), tuple(reading.lines), tuple(reading.warnings))


def _sections(lines: list[str], begin: int, first_line: int) -> list[_Section]:
    sections: list[_Section] = []
    for at in range(begin, len(lines)):
        if (heading := HEADING.match(lines[at])) is not None:
            sections.append(_Section(first_line + at, heading, []))
        else:
            sections[-1].lines.append(lines[at])
    return sections


class _Reading:
    """Collects the parts of a chat file while they are read."""

    def __init__(self, head: FrontMatter) -> None:
        self.lines: list[int] = []
        self.warnings: list[ChatWarning] = []
        self._head = head
        self._messages: list[SavedMessage] = []
        self._ids: set[str] = set()
        self._summary: SavedSummary | None = None
        self._fields = self._front_matter()

    def _warn(self, line: int, code: str, message: str) -> None:
        self.warnings.append(ChatWarning(line, code, message))

    def chat(self) -> Chat:
        return Chat(**self._fields, summary=self._summary, messages=tuple(self._messages))

    def _front_matter(self) -> dict[str, Any]:
        if self._head.problem is not None:
            self._warn(1, "FRONT_MATTER_INVALID", self._head.problem)
        fields: dict[str, Any] = {"more": {}}
        for name, value in self._head.fields.items():
            if name == MARK:
                fields["version"] = self._version(value)
            elif name not in _KNOWN:
                fields["more"][name] = value
            elif (read := _scalar(value, _KNOWN[name][1])) is not None:
                fields[_KNOWN[name][0]] = read
            elif value is not None:
                self._warn(1, "FIELD_INVALID", f"`{name}` is not read: expected {_EXPECTED[_KNOWN[name][1]]}.")
        return fields

    def _version(self, value: Any) -> int:
        if type(value) is not int or value < 1:
            self._warn(1, "FIELD_INVALID", f"`{MARK}` is read as {VERSION}: expected a whole number from 1 on.")
            return VERSION
        if value > VERSION:
            what = f"The file is of version {value}; this program knows {VERSION}, and reads what it can."
            self._warn(1, "NEWER_VERSION", what)
        return value

    def before(self, lines: list[str]) -> None:
        """Warns of text before the first message."""
        first, end = inner(lines)
        if first < end:
            what = f"Text before the first message is left out: {quoted(lines[first])}."
            self._warn(self._head.body_line + first, "TEXT_BEFORE_MESSAGES", what)

    def section(self, section: _Section) -> None:
        role = section.heading[1]
        line, hidden, body = self._parts(section)
        text = read_text(body)
        if role is None:
            what = f"A message of the unknown role {quoted(section.heading[3])} is left out."
            self._warn(section.line, "UNKNOWN_ROLE", what)
        elif role == "summary":
            if self._summary is not None:
                self._warn(section.line, "SECOND_SUMMARY", "A second summary is left out.")
                return
            self._summary = SavedSummary(text or "", hidden.up_to)
        else:
            self._message(section, line, hidden, text)

    def _message(self, section: _Section, line: context.Line, hidden: _Hidden, text: str | None) -> None:
        name = hidden.id
        if name is not None and name in self._ids:
            what = f"The id {quoted(name)} stands at an earlier message, too; this one gets another."
            self._warn(section.line, "DUPLICATE_ID", what)
            name = None
        if name is not None:
            self._ids.add(name)
        seen = (section.heading[2] or "").strip(" \t\r") or None
        self.lines.append(section.line)
        self._messages.append(
            SavedMessage(
                section.heading[1],  # type: ignore[arg-type]  # the pattern has no other
                name,
                hidden.at if _shown_at(hidden.at) == seen else seen,
                text,
                context.merged(line, hidden.attachments),
                hidden.tool_calls,
                hidden.tool_results,
                hidden.thinking,
                hidden.layers,
            )
        )

    def _parts(self, section: _Section) -> tuple[context.Line, _Hidden, list[str]]:
        """The context line, the comment, and the lines of the text."""
        line: context.Line | None = None
        hidden: _Hidden | None = None
        for at, each in enumerate(section.lines):
            number = section.line + 1 + at
            if line is None and each.startswith(context.BEGIN):
                line = self._context(number, each)
            elif hidden is None and each.startswith(COMMENT):
                hidden = self._comment(number, each)
            elif not BLANK.match(each):
                return line or _line(None), hidden or _NOTHING_HIDDEN, section.lines[at:]
        return line or _line(None), hidden or _NOTHING_HIDDEN, []

    def _context(self, number: int, text: str) -> context.Line:
        line = context.read_line(text)
        if not line.closed:
            self._warn(number, "CONTEXT_INVALID", "The context line does not end with `]`; it is read to its end.")
        for part in line.unknown:
            groups = ", ".join(context.GROUPS)
            what = f"{quoted(part)} of the context line is not read: expected one of {groups}, and a colon."
            self._warn(number, "CONTEXT_INVALID", what)
        return line

    def _comment(self, number: int, text: str) -> _Hidden:
        """Reads the comment; an empty result if it cannot be read."""
        json = text.removeprefix(COMMENT).rstrip(" \t\r")
        try:
            if not json.endswith(_COMMENT_END):
                raise ValueError(f"expected `{_COMMENT_END}` at its end")
            decoded = msgspec.json.decode(json.removesuffix(_COMMENT_END))
            hidden = msgspec.convert(decoded, _Hidden)
        except (ValueError, RecursionError) as error:  # msgspec's are ValueErrors
            self._warn(number, "COMMENT_INVALID", f"The comment is not read: {str(error)[:ECHO_CHARS_MAX]}.")
            return _NOTHING_HIDDEN
        for name in sorted(decoded.keys() - _HIDDEN_NAMES):
            self._warn(
                number, "COMMENT_FIELD_UNKNOWN", f"{quoted(name)} of the comment is not known; it is left out."
            )
        return hidden


_EXPECTED: Final = {str: "a text", int: "a whole number from 0 on"}


def _scalar(value: Any, expected: type) -> Any:
    """A text or a number, converted because YAML may have taken one for the other; None if it is neither."""
    if expected is int:
        return value if type(value) is int and value >= 0 else None
    return str(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else None


def _line(text: str | None) -> context.Line:
    return context.read_line(text) if text is not None else context.Line({}, True, ())
