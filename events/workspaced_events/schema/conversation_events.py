"""The event types of conversations and their prompts (projections/conversations.py)."""

from functools import partial
from typing import Annotated, Final, Literal

import msgspec

from ..ids import ConversationId, MessageId, NoteId
from .registry import Data, Entry, Number, Redact, Sha256

_entry: Final = partial(Entry, lane="prompts", changes_state=False, names_texts=True, erased="parts")
Text = Annotated[str, Redact.CONTENT]
Role = Literal["user", "assistant"]
ArtifactKind = Literal[
    "note", "active_note", "url", "selected_text", "tool_result", "image", "pdf", "file", "dataview"
]
AttachmentKind = Literal[ArtifactKind, "folder", "tag"]
Pipeline = Literal["chat", "compression"]
"""A prompt's purpose: decides its layers and how it is kept within the budget."""
ProviderKind = Literal["text", "note", "folder", "workspace", "linked-files", "open-files", "recent-changes"]
PartKind = Literal[ArtifactKind, "pin", "changes"]
"""A part of a turn's context: an artifact, what a pin gave, or the line that names changed notes."""
Promotion = Literal["at_fold", "each_turn"]
"""When the context library takes over what turns brought: at a compaction, or by one after each turn."""


class Section(msgspec.Struct, frozen=True, rename="camel"):
    """A part of the first layer."""

    name: Literal["system", "memory", "environment"]
    text_sha256: Sha256


class Attachment(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """What a message was given to look at."""

    kind: AttachmentKind
    id: Text
    """note, active_note, folder: path; tag: its name; url: itself; selected_text: `path#Lx-Ly`; others: any."""
    text_sha256: Sha256 | None = None
    """The text the runtime sent inline; a note's text is read when a prompt is assembled."""
    title: Text | None = None
    resolved: bool = False
    """Whether the daemon filled in `id`: the active note, or the place of the selection, when the message came.
    Empty: there was none."""


class ToolCall(msgspec.Struct, frozen=True, rename="camel"):
    id: Annotated[str, Redact.ID]
    name: Text
    arguments_sha256: Sha256
    """Names the JSON text."""


class ResultImage(msgspec.Struct, frozen=True, rename="camel"):
    """An image in a tool's result."""

    sha256: Sha256
    """Names its bytes."""
    media_type: Text


class ToolResult(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    id: Annotated[str, Redact.ID]
    """The id of the answered call."""
    name: Text
    text_sha256: Sha256
    is_error: bool = False
    images: tuple[ResultImage, ...] = ()


class Thinking(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    text_sha256: Sha256
    """Names the text; of redacted thinking the provider's data, which only the provider can read."""
    signature: Annotated[str, Redact.SECRET] | None = None
    redacted: bool = False


class MessageData(Data, frozen=True):
    """A message whole; texts are blobs."""

    conversation: Annotated[ConversationId, Redact.ID]
    message: Annotated[MessageId, Redact.ID]
    role: Role
    text_sha256: Sha256 | None = None
    attachments: tuple[Attachment, ...] = ()
    tool_calls: tuple[ToolCall, ...] = ()
    tool_results: tuple[ToolResult, ...] = ()
    """A user's message that begins with tool results continues the turn before it."""
    thinking: tuple[Thinking, ...] = ()


class ConversationData(Data, frozen=True, kw_only=True):
    """Data about one conversation."""

    conversation: Annotated[ConversationId, Redact.ID]


@_entry("conversation_started", says="started {0.conversation} with {0.model}", may_lack=("tools_sha256",))
class ConversationStarted(ConversationData, frozen=True):
    """A runtime begins a conversation; started again, its settings are these from now on."""

    provider: Text
    model: Text
    context_window: Number
    """Tokens."""
    output_reserve: Number
    sections: tuple[Section, ...] = ()
    """Sections of the first layer, in order."""
    tools_sha256: Sha256 | None = None
    """Names the JSON text of the tool definitions, which the runtime sends beside the prompt."""
    promotion: Annotated[Promotion, Redact.PUBLIC] | None = None
    """None: at a compaction, and from the first prompt on that names what the provider keeps (`Shape`) each
    turn."""


@_entry("conversation_ended", says="ended {0.conversation}", in_pause=True)
class ConversationEnded(ConversationData, frozen=True):
    """Nothing more will be asked about it."""


@_entry(
    "message_added", says="added a message of the role {0.role} in {0.conversation}", may_lack=("text_sha256",)
)
class MessageAdded(MessageData, frozen=True):
    """The next message."""


@_entry(
    "message_replaced",
    says="replaced a message of the role {0.role} in {0.conversation}",
    may_lack=("text_sha256",),
)
class MessageReplaced(MessageData, frozen=True):
    """The message of that id is this one now (it was edited, or generated again)."""


@_entry(
    "message_removed",
    says=lambda data: f"removed {'messages' if data.following else 'a message'} of {data.conversation}",
)
class MessageRemoved(ConversationData, frozen=True):
    """The message goes, and with `following` all after it. A summary up to it stands for those before it."""

    message: Annotated[MessageId, Redact.ID]
    following: bool = False


@_entry("summary_set", says="summed up what was said")
class SummarySet(ConversationData, frozen=True):
    """What the messages up to `up_to`, that one included, come to: it stands for them from now on."""

    text_sha256: Sha256
    up_to: Annotated[MessageId, Redact.ID]


@_entry(
    "context_pinned",
    says=lambda data: f"pinned {data.kind} {data.path or data.folder or data.id} in {data.conversation}",
)
class ContextPinned(ConversationData, frozen=True):
    """A provider gives a text to every prompt; the same id again replaces it in its place."""

    id: Text
    kind: ProviderKind
    path: NoteId | None = None
    """`note`: the note; `linked-files`: the note whose links are followed, by default the active note."""
    folder: Annotated[str, Redact.PATH] | None = None
    text_sha256: Sha256 | None = None
    """`text`: names the text."""


@_entry("context_unpinned", says="unpinned {0.id} in {0.conversation}")
class ContextUnpinned(ConversationData, frozen=True):
    id: Text


@_entry("artifact_recorded", says="kept the text of {0.kind} {0.id}: {0.bytes} bytes")
class ArtifactRecorded(Data, frozen=True):
    """A version of something was read for a prompt; its text is a blob."""

    id: Text
    kind: ArtifactKind
    revision: Sha256
    """The hash of the text."""
    bytes: Number


class LibraryEntry(msgspec.Struct, frozen=True, rename="camel"):
    """What the context library holds of one artifact: the same bytes until a compaction makes another library."""

    id: Text
    kind: ArtifactKind
    revision: Sha256
    block_sha256: Sha256
    """Names the blob of the rendered block."""
    tokens: Number
    """As estimated for that prompt."""
    message: Annotated[MessageId, Redact.ID]
    """The first turn with this artifact attached; the library holds it for later turns only."""


class Shape(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, kw_only=True):
    """The body that a prompt was given as."""

    name: Text
    template_sha256: Sha256 | None = None
    """The hash at that time of a template of a runtime's own."""
    body_hash: Sha256
    """The hash of the body's compact JSON."""
    renderer: Number | None = None
    """Of a built-in shape: the version of what rendered it."""
    cached_content: Text | None = None
    """The provider's resource with the first two layers, which the body then omits."""


class LayerHashes(msgspec.Struct, frozen=True):
    """Lower-case hex sha256 of each layer's text."""

    L1_SYSTEM: Sha256
    L2_PREVIOUS: Sha256
    L3_TURN: Sha256
    L4_STRIP: Sha256
    L5_USER: Sha256


class PromptTotals(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the manifest adds up to: tokens as estimated, and how many things did not get into the prompt."""

    L1_SYSTEM: Number = 0
    L2_PREVIOUS: Number = 0
    L3_TURN: Number = 0
    L4_STRIP: Number = 0
    L5_USER: Number = 0
    tools: Number = 0
    """Of the tools' definitions."""
    dropped: Number = 0
    failed: Number = 0


@_entry("prompt_assembled", says="assembled a prompt of {0.conversation}: about {0.estimate} tokens")
class PromptAssembled(ConversationData, frozen=True):
    """A prompt was made: what it was made from, and what it came to."""

    message: Annotated[MessageId, Redact.ID]
    """The prompt's last message."""
    as_of_seq: Number
    """The prompt is a function of the conversation folded up to here and of `inputs_sha256`."""
    inputs_sha256: Sha256
    """Names the JSON of the `Turn` (workspaced_tools.prompts.model.types): everything read for the prompt."""
    manifest_sha256: Sha256
    layer_hashes: LayerHashes
    combined_hash: Sha256
    prefix_tokens: Number
    """Tokens of the first two layers."""
    estimate: Number
    """Tokens, calibrated."""
    seed_estimate: Number
    """`estimate` before calibration; `usage_reported` calibrates it."""
    limit: Number
    elided: Number = 0
    """Parts omitted or shortened to fit the limit."""
    pipeline: Annotated[Pipeline, Redact.PUBLIC] = "chat"
    """Only chat prompts use the library."""
    shape: Shape | None = None
    turn_sha256: Sha256 | None = None
    """Names the JSON of the `SentTurn` (workspaced_tools.prompts.model.sent_turn): what this turn's user message
    holds, context included. Later prompts repeat it as it is. None: later prompts repeat the words alone."""
    totals: PromptTotals | None = None


class LeftOut(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """A part of a turn that was sent, for which one line stands from now on."""

    message: Annotated[MessageId, Redact.ID]
    """The turn's first message."""
    kind: PartKind
    id: Text
    why: Literal["withheld", "gone"] | None = None
    """Why nothing stands for it: a line would name what the client may not see; or its file is not there, so that
    nobody knows whether the client may see it. None: a line stands for it."""


@_entry("context_folded", says="shortened {0.conversation}: {0.reason}")
class ContextFolded(ConversationData, frozen=True):
    """The only event that shortens what earlier turns sent. The library holds what is still in use."""

    reason: Literal["budget", "asked", "pays", "summary", "each_turn", "withheld", "gone", "edited"]
    library: tuple[LibraryEntry, ...]
    """The library from now on."""
    up_to: Annotated[MessageId, Redact.ID] | None = None
    """The last message of the turns that prompts omit from now on; None: no further turn."""
    left_out: tuple[LeftOut, ...] = ()
    """Parts of turns that stay; they add to those of earlier compactions."""
    results_up_to: Annotated[MessageId, Redact.ID] | None = None
    """Results of tools up to this message are replaced by a note of their size; None: no further ones."""
    saved: Number = 0
    """Tokens that the compaction took from the prompt, as estimated."""


@_entry("context_near_limit", says="found {0.conversation} near its limit: about {0.estimate} of {0.limit} tokens")
class ContextNearLimit(ConversationData, frozen=True):
    """A prompt has most of its limit, so a compaction is near: the runtime may set a summary before.

    Told once, until `up_to` has left the prompt.
    """

    message: Annotated[MessageId, Redact.ID]
    """The prompt's last message."""
    estimate: Number
    limit: Number
    up_to: Annotated[MessageId, Redact.ID]
    """The last message of the turns that the compaction would leave out: a summary should go up to it."""


@_entry(
    "usage_reported",
    says="reported {0.input_tokens} tokens in, {0.cached_tokens} of them cached, {0.output_tokens} out",
    in_pause=True,
)
class UsageReported(ConversationData, frozen=True):
    """What a provider counted of the prompt for `message`."""

    message: Annotated[MessageId, Redact.ID]
    provider: Text
    model: Text
    input_tokens: Number
    cached_tokens: Number = 0
    output_tokens: Number = 0
