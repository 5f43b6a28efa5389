"""The manifest of a prompt: what each layer holds, and why."""

from typing import Final, Literal

import msgspec

from workspaced_events.ids import ConversationId, MessageId, NoteId

from .base import Wire

LayerId = Literal["L1_SYSTEM", "L2_PREVIOUS", "L3_TURN", "L4_STRIP", "L5_USER"]


LAYERS: Final[tuple[LayerId, ...]] = ("L1_SYSTEM", "L2_PREVIOUS", "L3_TURN", "L4_STRIP", "L5_USER")


State = Literal["full", "reference", "changes", "stale", "shortened", "elided", "dropped", "failed", "empty"]
"""`changes`: as changes to a version that stands above; `stale`: in an older version than the present one."""


class ManifestEntry(Wire, frozen=True):
    """What became of one thing that is, or might have been, in the prompt."""

    layer: LayerId
    id: str
    kind: str
    state: State
    why: str
    """A word: attached, active, library, changed, pinned, section, history, summary, query, tool, budget, fold,
    pipeline..."""
    tokens: int = 0
    bytes: int = 0
    revision: str | None = None
    cached: bool = False
    """Whether it is in the part of the prompt that a provider's prefix cache can serve."""
    detail: str | None = None
    notes: tuple[NoteId, ...] = ()
    """The notes whose names or texts it has, by their paths at that time, without the one that is its id."""


class ManifestLayer(Wire, frozen=True, omit_defaults=False):
    id: LayerId
    hash: str
    tokens: int
    bytes: int
    stable: bool


class Manifest(Wire, frozen=True, omit_defaults=False):
    """Everything that is in a prompt, and everything that is not, each in exactly one record."""

    conversation: ConversationId
    message: MessageId
    layers: tuple[ManifestLayer, ...]
    entries: tuple[ManifestEntry, ...]
    estimate: int
    limit: int
    tool_tokens: int
    estimator: str
    factor: float
    warnings: tuple[str, ...] = ()


class ShownManifest(msgspec.Struct, frozen=True, rename="camel"):
    """What a prompt of a runtime was made of, as far as a client is shown it."""

    seq: int
    """Of the prompt."""
    manifest: Manifest
    withheld: int = 0
    """The number of entries left out because they name notes that are withheld now."""
    sized: bool = True
    """Whether the manifest holds sizes; otherwise they are 0."""


NO_PROMPT_HINT: Final = "A runtime asks for one with workspaced/context/assemble."
