"""The values of a chat file; markdown_file.py writes and reads them."""

from typing import Any, Final

import msgspec

from workspaced_events.schema.catalogue import AttachmentKind, Form, Role

from ..limits import ECHO_CHARS_MAX

VERSION: Final = 1


class Saved(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """A part of a chat; its JSON names are camelCase."""


class SavedAttachment(Saved, frozen=True):
    kind: AttachmentKind
    id: str = ""
    title: str | None = None
    text: str | None = None
    """The inline text that the runtime sent, for a search its JSON; texts of notes are not saved."""
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
    images: tuple[str, ...] = ()
    """Data URIs."""


class SavedThinking(Saved, frozen=True):
    text: str
    signature: str | None = None
    redacted: bool = False
    """As in `conversation_events.Thinking`."""


class SavedMessage(Saved, frozen=True):
    role: Role
    id: str | None = None
    """Unique within the chat. None: the file has no id for the message."""
    at: str | None = None
    text: str | None = None
    attachments: tuple[SavedAttachment, ...] = ()
    tool_calls: tuple[SavedCall, ...] = ()
    tool_results: tuple[SavedResult, ...] = ()
    thinking: tuple[SavedThinking, ...] = ()
    layers: dict[str, str] = {}
    """The hash of each layer of the message's prompt."""


class SavedSummary(Saved, frozen=True):
    text: str
    up_to: str | None = None
    """The last message that the summary covers; None: the file does not say."""


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
    """The format's version."""
    more: dict[str, Any] = {}
    """Front matter unknown to this version; it is written back unchanged."""
    summary: SavedSummary | None = None
    messages: tuple[SavedMessage, ...] = ()


class ChatWarning(Saved, frozen=True, omit_defaults=False):
    """A part of the file that was not read, or a note that was not found."""

    line: int
    """The line in the file, from 1 on."""
    code: str
    message: str
    candidates: tuple[str, ...] = ()
    """Notes that the name may mean, sorted."""


def quoted(text: str) -> str:
    """Quotes and cuts a text of the file for a warning."""
    return repr(text[:ECHO_CHARS_MAX])[:ECHO_CHARS_MAX]


class ReadChat(Saved, frozen=True):
    """A chat as read from a file."""

    chat: Chat
    lines: tuple[int, ...]
    """The line at which each message begins."""
    warnings: tuple[ChatWarning, ...] = ()
