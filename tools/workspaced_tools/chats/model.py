"""A chat as it is kept in a file: values only (file.py writes and reads them)."""

from typing import Any, Final

import msgspec

from workspaced_events.schema.catalogue import AttachmentKind, Form, Role

from ..limits import ECHO_CHARS_MAX

VERSION: Final = 1

# What a warning of a file is about.
FRONT_MATTER_INVALID: Final = "FRONT_MATTER_INVALID"
FIELD_INVALID: Final = "FIELD_INVALID"
NEWER_VERSION: Final = "NEWER_VERSION"
TEXT_BEFORE_MESSAGES: Final = "TEXT_BEFORE_MESSAGES"
UNKNOWN_ROLE: Final = "UNKNOWN_ROLE"
CONTEXT_INVALID: Final = "CONTEXT_INVALID"
COMMENT_INVALID: Final = "COMMENT_INVALID"
COMMENT_FIELD_UNKNOWN: Final = "COMMENT_FIELD_UNKNOWN"
DUPLICATE_ID: Final = "DUPLICATE_ID"
SECOND_SUMMARY: Final = "SECOND_SUMMARY"


class Saved(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """A part of a chat; its JSON names are camelCase."""


class SavedAttachment(Saved, frozen=True):
    kind: AttachmentKind
    id: str = ""
    title: str | None = None
    text: str | None = None
    """What the runtime gave. Of a search it is its JSON; what a note holds is not kept."""
    form: Form = "text"
    before: str | None = None
    after: str | None = None


class SavedCall(Saved, frozen=True):
    id: str
    name: str
    arguments: str = "{}"
    """JSON text."""


class SavedResult(Saved, frozen=True):
    id: str
    name: str
    text: str = ""
    is_error: bool = False
    form: Form = "text"


class SavedThinking(Saved, frozen=True):
    text: str
    signature: str | None = None


class SavedMessage(Saved, frozen=True):
    role: Role
    id: str | None = None
    """No other message of the chat has it. None: the file names none."""
    at: str | None = None
    text: str | None = None
    attachments: tuple[SavedAttachment, ...] = ()
    tool_calls: tuple[SavedCall, ...] = ()
    tool_results: tuple[SavedResult, ...] = ()
    thinking: tuple[SavedThinking, ...] = ()
    layers: dict[str, str] = {}
    """Of the prompt that was made for it: each layer's hash."""


class SavedSummary(Saved, frozen=True):
    text: str
    up_to: str | None = None
    """The message that it goes up to; None: the file does not say."""


class Chat(Saved, frozen=True):
    conversation: str | None = None
    title: str | None = None
    """At most TITLE_CHARS_MAX characters."""
    vault: str | None = None
    provider: str | None = None
    model: str | None = None
    context_window: int | None = None
    output_reserve: int | None = None
    started: str | None = None
    version: int = VERSION
    """Of the format."""
    more: dict[str, Any] = {}
    """Front matter that this version does not know; kept and written again."""
    summary: SavedSummary | None = None
    messages: tuple[SavedMessage, ...] = ()


class ChatWarning(Saved, frozen=True, omit_defaults=False):
    """Something that was not read, or not found, as the file has it."""

    line: int
    """Of the file, from 1 on."""
    code: str
    message: str
    candidates: tuple[str, ...] = ()
    """Notes that may have been meant, sorted."""


def quoted(text: str) -> str:
    """A text of the file, cut, within a warning."""
    return repr(text[:ECHO_CHARS_MAX])[:ECHO_CHARS_MAX]


class ReadChat(Saved, frozen=True):
    """What a file holds."""

    chat: Chat
    lines: tuple[int, ...]
    """Of each message: where it begins."""
    warnings: tuple[ChatWarning, ...] = ()
