"""The parameters of `workspaced/context/*`: what runtimes say of conversations, as it comes over the wire."""

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from workspaced_events.catalogue import AttachmentKind, ProviderKind, Role
from workspaced_events.limits import ID_CHARS_MAX, NOTE_ID_CHARS_MAX, TITLE_CHARS_MAX

from .limits import (
    ATTACHMENTS_PER_MESSAGE_MAX,
    CONTEXT_NAME_CHARS_MAX,
    CONTEXT_TOKENS_MAX,
    MESSAGES_PER_REQUEST_MAX,
    SIGNATURE_CHARS_MAX,
    SKILLS_MAX,
    THINKING_PER_MESSAGE_MAX,
    TOOL_CALLS_PER_MESSAGE_MAX,
)

Id = Annotated[str, Meta(min_length=1, max_length=ID_CHARS_MAX)]
Name = Annotated[str, Meta(min_length=1, max_length=CONTEXT_NAME_CHARS_MAX)]
Path = Annotated[str, Meta(min_length=1, max_length=NOTE_ID_CHARS_MAX)]
Tokens = Annotated[int, Meta(ge=0, le=CONTEXT_TOKENS_MAX)]


class Params(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Parameters of a method, or a part of them; an unknown one is an error."""


class Skill(Params, frozen=True):
    name: Name
    description: str = ""


class Start(Params, frozen=True):
    provider: Name
    model: Name
    context_window: Annotated[int, Meta(ge=1, le=CONTEXT_TOKENS_MAX)]
    output_reserve: Tokens
    conversation: Id | None = None
    """None: the daemon makes one."""
    system: str = ""
    memory: str = ""
    project: str = ""
    environment: bool = True
    """Whether the first layer says which vault this is."""
    skills: Annotated[list[Skill], Meta(max_length=SKILLS_MAX)] = []
    tools: list[dict[str, Any]] | None = None
    """The definitions that the runtime sends besides: they take room."""
    cached_in_input: bool | None = None
    """Whether the provider counts cached tokens among the input's; None: as it is known to."""


class Attached(Params, frozen=True):
    kind: AttachmentKind
    id: Annotated[str, Meta(max_length=NOTE_ID_CHARS_MAX)] = ""
    text: str | None = None
    title: Annotated[str, Meta(max_length=TITLE_CHARS_MAX)] | None = None


class ToolCall(Params, frozen=True):
    id: Id
    name: Name
    arguments: dict[str, Any] | str = {}
    """A string is the JSON text as the model wrote it."""


class ToolResult(Params, frozen=True):
    id: Id
    name: Name
    text: str
    is_error: bool = False


class Thinking(Params, frozen=True):
    text: str
    signature: Annotated[str, Meta(max_length=SIGNATURE_CHARS_MAX)] | None = None


class Message(Params, frozen=True):
    role: Role
    id: Id | None = None
    text: str | None = None
    attachments: Annotated[list[Attached], Meta(max_length=ATTACHMENTS_PER_MESSAGE_MAX)] = []
    tool_calls: Annotated[list[ToolCall], Meta(max_length=TOOL_CALLS_PER_MESSAGE_MAX)] = []
    tool_results: Annotated[list[ToolResult], Meta(max_length=TOOL_CALLS_PER_MESSAGE_MAX)] = []
    thinking: Annotated[list[Thinking], Meta(max_length=THINKING_PER_MESSAGE_MAX)] = []
    replaces: Id | None = None
    """The message that this one is instead of, keeping its id and place."""


class Removal(Params, frozen=True):
    message: Id
    following: bool = False


class Messages(Params, frozen=True):
    conversation: Id
    messages: Annotated[list[Message], Meta(max_length=MESSAGES_PER_REQUEST_MAX)] = []
    remove: Removal | None = None
    """Goes first."""


class Pin(Params, frozen=True):
    conversation: Id
    id: Id
    kind: ProviderKind
    path: Path | None = None
    folder: Annotated[str, Meta(max_length=NOTE_ID_CHARS_MAX)] | None = None
    text: str | None = None


class Unpin(Params, frozen=True):
    conversation: Id
    id: Id


class Usage(Params, frozen=True):
    conversation: Id
    input_tokens: Tokens
    message: Id | None = None
    """None: of the last prompt."""
    provider: Name | None = None
    model: Name | None = None
    cached_tokens: Tokens = 0
    output_tokens: Tokens = 0


class Summarise(Params, frozen=True):
    conversation: Id
    text: str
    up_to: Id


class Assemble(Params, frozen=True):
    conversation: Id
    message: Id | None = None
    """The last one of the prompt; None: of the conversation."""
    rebase: bool = False
    """Whether the library is to hold what its notes are now."""
    layers: bool = True
    """Whether the layers' texts come along, which the messages hold as well."""


class Named(Params, frozen=True):
    conversation: Id
