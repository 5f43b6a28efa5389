"""The parameters of `workspaced/context/*`, as runtimes send them."""

from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from workspaced_events.limits import ID_CHARS_MAX, NOTE_ID_CHARS_MAX, TITLE_CHARS_MAX
from workspaced_events.schema.catalogue import AttachmentKind, Pipeline, Promotion, ProviderKind, Role
from workspaced_tools.limits import CONTEXT_TOKENS_MAX

from ..limits import ATTACHMENTS_PER_MESSAGE_MAX, CONTEXT_NAME_CHARS_MAX, MESSAGES_PER_REQUEST_MAX

_SIGNATURE_CHARS_MAX: Final = 100_000
_THINKING_PER_MESSAGE_MAX: Final = 200
_TOOL_CALLS_PER_MESSAGE_MAX: Final = 200
_IMAGES_PER_RESULT_MAX: Final = 20
"""Images in one result of a tool."""
Id = Annotated[str, Meta(min_length=1, max_length=ID_CHARS_MAX)]
Name = Annotated[str, Meta(min_length=1, max_length=CONTEXT_NAME_CHARS_MAX)]
Path = Annotated[str, Meta(min_length=1, max_length=NOTE_ID_CHARS_MAX)]
Tokens = Annotated[int, Meta(ge=0, le=CONTEXT_TOKENS_MAX)]
Sha256 = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
"""Names a text uploaded with workspaced/blob/put."""


class Params(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True, omit_defaults=True):
    """Parameters of a method, or a part of them; an unknown one is an error."""


def bytes_of(params: Params) -> int:
    """About how much memory the parameters occupy until they are written."""
    return len(msgspec.json.encode(params))


class Start(Params, frozen=True):
    provider: Name
    model: Name
    context_window: Annotated[int, Meta(ge=1, le=CONTEXT_TOKENS_MAX)]
    output_reserve: Tokens
    conversation: Id | None = None
    """None: the daemon chooses one."""
    vault: Id | None = None
    """The vault that the conversation is about; None: the current one when it begins."""
    system: str = ""
    memory: str = ""
    environment: bool = True
    """Whether the first layer describes the vault, and names the files of the memory folder."""
    tools: list[dict[str, Any]] | None = None
    """The definitions that the runtime sends beside the prompt: they count against the context window."""
    promotion: Promotion | None = None
    """When the context library takes over what turns brought; None: at a compaction, or each turn if what the
    provider keeps of prompts was named in one."""


class Attached(Params, frozen=True):
    kind: AttachmentKind
    id: Annotated[str, Meta(max_length=NOTE_ID_CHARS_MAX)] = ""
    text: str | None = None
    title: Annotated[str, Meta(max_length=TITLE_CHARS_MAX)] | None = None
    text_sha256: Sha256 | None = None
    """Instead of `text`."""


class ToolCall(Params, frozen=True):
    id: Id
    name: Name
    arguments: dict[str, Any] | str = {}
    """A string is the JSON text that the model wrote."""


class Image(Params, frozen=True):
    """A data URI; either of the two."""

    text: str | None = None
    text_sha256: Sha256 | None = None


class ToolResult(Params, frozen=True):
    id: Id
    name: Name
    text: str | None = None
    """May be left out where there are images."""
    is_error: bool = False
    text_sha256: Sha256 | None = None
    """Instead of `text`."""
    images: Annotated[list[Image], Meta(max_length=_IMAGES_PER_RESULT_MAX)] = []


class Thinking(Params, frozen=True):
    text: str | None = None
    signature: Annotated[str, Meta(max_length=_SIGNATURE_CHARS_MAX)] | None = None
    redacted: str | None = None
    """Instead of `text`: the data of thinking that the provider encrypted, which goes back to it unchanged."""


class Message(Params, frozen=True):
    role: Role
    id: Id | None = None
    text: str | None = None
    text_sha256: Sha256 | None = None
    """Instead of `text`."""
    attachments: Annotated[list[Attached], Meta(max_length=ATTACHMENTS_PER_MESSAGE_MAX)] = []
    tool_calls: Annotated[list[ToolCall], Meta(max_length=_TOOL_CALLS_PER_MESSAGE_MAX)] = []
    tool_results: Annotated[list[ToolResult], Meta(max_length=_TOOL_CALLS_PER_MESSAGE_MAX)] = []
    thinking: Annotated[list[Thinking], Meta(max_length=_THINKING_PER_MESSAGE_MAX)] = []
    replaces: Id | None = None
    """The message that this one replaces; it keeps the id and the place."""


class Removal(Params, frozen=True):
    message: Id
    following: bool = False


class Messages(Params, frozen=True):
    conversation: Id
    messages: Annotated[list[Message], Meta(max_length=MESSAGES_PER_REQUEST_MAX)] = []
    remove: Removal | None = None
    """Applied before `messages`."""


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
    report: dict[str, Any]
    """The provider's usage object as it came; decoded according to `shape`."""
    message: Id | None = None
    """None: the message of the last prompt."""
    shape: Name | None = None
    """openai, responses, anthropic or gemini; None: the shape of the prompt, or the one of the provider's name."""


class Summarise(Params, frozen=True):
    conversation: Id
    text: str
    up_to: Id


class Assemble(Params, frozen=True):
    conversation: Id
    message: Id | None = None
    """The last message of the prompt; None: the last message of the conversation."""
    rebase: bool = False
    """Whether to rebuild the library from the present versions of its notes."""
    layers: bool = True
    """Whether the answer holds the layers' texts, which the messages hold as well."""
    pipeline: Pipeline = "chat"
    shape: Name | None = None
    """Answer with a provider's body instead of messages: openai, responses, anthropic, gemini, or a template."""
    cached_content: Name | None = None
    """The Gemini resource that caches the first two layers; the body leaves them out."""


class Named(Params, frozen=True):
    conversation: Id
