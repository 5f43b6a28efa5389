"""The vocabulary of prompt context: what goes into the assembler, and what comes out.

`Turn` is what was read for one prompt; with the `Conversation` it is all that the assembler knows. Texts are
blobs, named by their sha256. The prompt is a function of both, so that log and blobs give any prompt again.
"""

from collections.abc import Callable
from typing import Final, Literal

import msgspec

from workspaced_events.ids import ConversationId, MessageId, NoteId
from workspaced_events.schema.catalogue import (
    ArtifactKind,
    Form,
    LayerHashes,
    LibraryEntry,
    Pipeline,
    ProviderKind,
)

from ...ports.base import Wire
from ...ports.manifest import LayerId, Manifest

Texts = Callable[[str], str]
"""The text of that sha256. Raises NotRecorded where it is not kept."""
TURN_VERSION: Final = 1
ENVELOPE_VERSION: Final = 1


# -- what goes in --


class Artifact(Wire, frozen=True):
    """One thing attached to this turn, as it was read. A folder or tag is its notes, sorted by path."""

    kind: ArtifactKind
    id: str
    title: str
    revision: str = ""
    """sha256 of its text (of an image: of its bytes), and so its blob's name; empty where it could not be read."""
    mtime: str | None = None
    """ISO 8601 UTC; of notes and files."""
    has_images: bool = False
    """A note that embeds images (rule 5)."""
    bytes: int = 0
    media_type: str | None = None
    """Of an image or pdf that is given as bytes."""
    failed: str | None = None
    """Why it could not be read: a code such as NOTE_NOT_FOUND."""
    note: NoteId | None = None
    """The note that it was read from, or that names it; None where the runtime gave it."""
    form: Form = "text"
    before: str = ""
    """Of selected text: the blob of what stands before it; empty where nothing does."""
    after: str = ""


class Provided(Wire, frozen=True):
    """What a pinned provider gave. Empty text is not shown."""

    id: str
    kind: ProviderKind
    text_sha256: str | None = None
    failed: str | None = None
    notes: tuple[NoteId, ...] = ()
    """Whose names or text it holds."""


class Policy(Wire, frozen=True):
    """How much is kept when room is short, and how histories are cut."""

    pipeline: Pipeline = "chat"
    keep_rounds: int = 3
    """The last so many rounds (a user's message that is no carrier, and what follows it) are never touched."""
    slide_to: float = 0.5
    """Whole turns are left out in one step down to this part of the limit."""
    replaced_share_max: float = 0.3
    """Beyond this part of the library's tokens in replaced revisions it is rebased."""
    skills_stay: bool = False
    """Whether the bodies of skills stay in the user's message of their turn. Prompts of before had it not so."""
    history_turns: int | None = None
    """As in `conversation_started`."""
    summary_tokens_max: int | None = None
    """Of a longer summary the manifest warns. None: of none."""


class Turn(Wire, frozen=True):
    """Everything that was read for one prompt. Its JSON is the blob that `prompt_assembled.inputsSha256` names."""

    version: int
    conversation: ConversationId
    message: MessageId
    """The prompt goes up to this one: the user's message of the turn, or a carrier that goes on with it."""
    artifacts: tuple[Artifact, ...] = ()
    """Of the turn's user message, in the order attached."""
    provided: tuple[Provided, ...] = ()
    """Of each pin, in registration order."""
    factor: float = 1.0
    """What seed estimates are multiplied with (calibration.Calibration.factor)."""
    estimator: str = ""
    """Its name, for the manifest."""
    policy: Policy = Policy()
    rebase: bool = False
    """The library is to be rebased now (workspaced/context/rebase)."""
    lost: tuple[str, ...] = ()
    """What earlier messages were given and what is not kept any more, by sha256: it is shown as unavailable."""


# -- what comes out --


class Segment(Wire, frozen=True):
    """A part of a layer."""

    id: str
    kind: str
    """An ArtifactKind, or `section`, `reference`, `provider`, `message`, `summary`, `query`, `instruction`."""
    text: str
    tokens: int


class Layer(Wire, frozen=True, omit_defaults=False):
    id: LayerId
    text: str
    """Its trimmed, non-empty segments, joined by a blank line."""
    hash: str
    """Lower-case hex sha256 of its UTF-8."""
    stable: bool
    """Whether it is, or begins with, what the last prompt of the conversation had there."""
    segments: tuple[Segment, ...] = ()


class Block(Wire, frozen=True):
    """A part of a message. Which fields it has depends on `type`."""

    type: Literal["text", "toolCall", "toolResult", "thinking", "image"]
    text: str | None = None
    """Of text, toolResult, thinking; of a toolCall the JSON of its arguments."""
    id: str | None = None
    """Of a toolCall, and of the toolResult that answers it."""
    name: str | None = None
    is_error: bool = False
    signature: str | None = None
    blob: str | None = None
    """Of an image: the sha256 of its bytes."""
    media_type: str | None = None


class ChatMessage(Wire, frozen=True):
    role: Literal["system", "user", "assistant"]
    content: tuple[Block, ...]
    id: MessageId | None = None


class CacheHint(Wire, frozen=True):
    """Where a provider may be asked to keep the prefix (at most four)."""

    after: Literal["L1_SYSTEM", "L2_PREVIOUS", "history", "last"]
    tokens: int
    """Up to there."""


class Envelope(Wire, frozen=True, omit_defaults=False):
    """A prompt, provider-neutral."""

    version: int
    conversation_id: ConversationId
    message_id: MessageId
    layers: tuple[Layer, ...]
    messages: tuple[ChatMessage, ...]
    hashes: LayerHashes
    combined_hash: str
    """Of the non-empty layer texts, joined by a blank line."""
    manifest: Manifest
    cache_hints: tuple[CacheHint, ...]
    estimate: int


class Rebased(msgspec.Struct, frozen=True):
    reason: Literal["replaced", "budget", "asked"]
    library: tuple[LibraryEntry, ...]


class Assembled(msgspec.Struct, frozen=True):
    """An envelope, and what the log is to be told of it."""

    envelope: Envelope
    promoted: tuple[LibraryEntry, ...]
    """First shown in this turn: in the library from the next one on."""
    blocks: tuple[str, ...]
    """Texts to keep as blobs: the blocks of `promoted` and of a rebased library."""
    seed_estimate: int
    prefix_tokens: int
    elided: int = 0
    elided_until: MessageId | None = None
    rebased: Rebased | None = None
    """The library that this prompt already has, where it is another one than the conversation's."""
