"""The blocks of a recorded prompt in the order sent, and how each compares with the prompt before.

A block is what one entry of the manifest tells of. What a provider's cache can serve of it is the manifest's own
word; the prompt before tells whether the rest is new, or must be read anew though it was sent before.
"""

from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec

from workspaced_events.errors import LogDamaged
from workspaced_events.ids import MessageId
from workspaced_events.projections.conversations import Conversation
from workspaced_events.schema.catalogue import PromptAssembled

from ...errors import NotRecorded
from ...ports.base import Wire
from ...ports.manifest import LayerId, Manifest, ManifestEntry
from ..model.blocks import BLANK_LINE
from ..model.sent_so_far import read_turn
from ..model.sent_turn import PIN, SentPart, library_kind
from ..model.stored_texts import inputs_of
from ..model.types import Envelope, Segment, Texts
from .cache_accounting import SENT

Reuse = Literal["cached", "new", "rewritten"]
"""`cached`: in the prefix that a provider's cache can serve. `new`: the prompt before did not have it.
`rewritten`: it did, but something above it changed, so the provider reads it again at the full price."""
_Identity = tuple[str, str, str | None]
_PINNED = "pinned"


class PromptBlock(msgspec.Struct, frozen=True):
    """One entry of a prompt's manifest."""

    layer: LayerId
    index: int
    """Its place among the layer's entries, from 1 on."""
    entry: ManifestEntry
    reuse: Reuse | None
    """None: it has no tokens."""
    turn: MessageId | None = None
    """For a part of an earlier turn: the message that it was sent with."""


class ReuseTokens(Wire, frozen=True, omit_defaults=False):
    """Tokens by how they compare with the prompt before."""

    cached: int
    new: int
    rewritten: int


def blocks_of(manifest: Manifest, before: Manifest | None) -> list[PromptBlock]:
    """All entries in the order sent; inside a layer as the manifest has them.

    Args:
        before: of the last prompt of the same pipeline; None: there was none, or it is not kept.
    """
    known = {_identity(each) for each in before.entries} if before is not None else set()
    found: list[PromptBlock] = []
    for layer in SENT:
        entries = [each for each in manifest.entries if each.layer == layer]
        turns = list(_turns(entries))
        for index, (entry, turn) in enumerate(zip(entries, turns, strict=True), start=1):
            found.append(PromptBlock(layer, index, entry, _reuse(entry, known), turn))
    return found


def reuse_tokens(blocks: Sequence[PromptBlock]) -> ReuseTokens:
    """The sums of some blocks' tokens."""

    def tokens(reuse: Reuse) -> int:
        return sum(each.entry.tokens for each in blocks if each.reuse == reuse)

    return ReuseTokens(tokens("cached"), tokens("new"), tokens("rewritten"))


def tools_reuse(manifest: Manifest, before: Manifest | None, *, same_tools: bool) -> Reuse | None:
    """How the tools' definitions, which stand before all layers, compare; None: there are none."""
    if not manifest.tool_tokens:
        return None
    if before is None or not before.tool_tokens:
        return "new"
    return "cached" if same_tools else "rewritten"


def has_block(manifest: Manifest, entry: ManifestEntry) -> bool:
    """Whether the prompt of `manifest` shows the same thing in the same version."""
    wanted = _identity(entry)
    return any(each.tokens and _identity(each) == wanted for each in manifest.entries)


def _reuse(entry: ManifestEntry, known: set[_Identity]) -> Reuse | None:
    if not entry.tokens:
        return None
    if entry.cached:
        return "cached"
    is_said_anew = entry.state == "reference" or (entry.layer == "L3_TURN" and entry.kind == "frame")
    return "rewritten" if not is_said_anew and _identity(entry) in known else "new"


def _identity(entry: ManifestEntry) -> _Identity:
    """What stays the same when a turn becomes part of the history: its words are then a message, a pin a part."""
    if entry.kind in ("query", "message"):
        return ("message", entry.id, None)
    kind = PIN if entry.why == _PINNED else library_kind(entry.kind)
    return (kind, entry.id, entry.revision)


def _turns(entries: Sequence[ManifestEntry]) -> Iterator[MessageId | None]:
    """For each entry the message whose turn it was sent with: the next one of the history."""
    turns: list[MessageId | None] = []
    turn: MessageId | None = None
    for entry in reversed(entries):
        if entry.kind == "message" and entry.why == "history":
            turn = MessageId(entry.id)
        turns.append(turn if entry.why in ("sent", "history") or entry.state == "elided" else None)
    return reversed(turns)


class BlockText(msgspec.Struct, frozen=True):
    """A block's text as the model was sent it."""

    text: str | None
    """None: it has none of its own; `why` says why."""
    why: str = ""
    title: str = ""
    mtime: str | None = None
    """When the note's file had last changed, as it was read for the prompt; ISO 8601 UTC."""


def text_of(
    block: PromptBlock, envelope: Envelope, data: PromptAssembled, conversation: Conversation, texts: Texts
) -> BlockText:
    """The block's text, title and time.

    Args:
        envelope: the rebuilt prompt.
        conversation: its state when the prompt was made.

    Raises:
        NotRecorded, LogDamaged: what an earlier turn was sent is not kept, or damaged.
    """
    if block.entry.why == "sent" and block.turn is not None:
        for part in _sent_parts(block, conversation, texts):
            entry = block.entry
            same_kind = library_kind(part.kind) == library_kind(entry.kind)
            if same_kind and (part.id, part.revision) == (entry.id, entry.revision):
                why = "" if part.text else "It is an image; its bytes are in the body."
                return BlockText(part.text or None, why, part.title, part.mtime)
        return BlockText(None, "Its text is part of its message.")
    if block.entry.kind == "message" and (parts := list(_sent_parts(block, conversation, texts))):
        # A part that shows something has an entry of its own; the others are told of as their message.
        rest = (part.text for part in parts if not part.revision or part.base == part.revision)
        return BlockText(BLANK_LINE.join(filter(None, rest)))
    title, mtime = _version(block, data, texts)
    segment = _segment(block, envelope)
    if segment is not None:
        return BlockText(segment.text, "", title, mtime)
    if block.entry.kind == "frame":
        return BlockText(None, "It is the words around other blocks, such as a heading.", title, mtime)
    return BlockText(None, block.entry.detail or _without_text(block), title, mtime)


def _without_text(block: PromptBlock) -> str:
    if block.entry.state == "reference":
        return "It stands above; the prompt only refers to it."
    if block.entry.tokens == 0:
        return "It is not in the prompt."
    return "Its text is part of its message."


def _segment(block: PromptBlock, envelope: Envelope) -> Segment | None:
    """The layer's segment that the block's entry tells of: entries and segments stand in one order."""
    layer = next(each for each in envelope.layers if each.id == block.layer)
    entries = [each for each in envelope.manifest.entries if each.layer == block.layer]
    segments = iter(layer.segments)
    waiting = next(segments, None)
    for place, entry in enumerate(entries, start=1):
        is_its = waiting is not None and waiting.id == entry.id and entry.tokens > 0 and entry.kind != "frame"
        is_its = is_its and entry.why != "sent"
        if place == block.index:
            return waiting if is_its else None
        if is_its:
            waiting = next(segments, None)
    return None


def _sent_parts(block: PromptBlock, conversation: Conversation, texts: Texts) -> Iterator[SentPart]:
    sent = conversation.turns.get(block.turn) if block.turn is not None else None
    if sent is not None:
        yield from read_turn(texts, sent.turn_sha256).parts


def _version(block: PromptBlock, data: PromptAssembled, texts: Texts) -> tuple[str, str | None]:
    """Title and time of what was attached to this turn."""
    try:
        turn = inputs_of(data.inputs_sha256, texts)
    except (NotRecorded, LogDamaged):
        return "", None
    found = (
        each
        for each in turn.artifacts
        if (each.id, each.revision or None) == (block.entry.id, block.entry.revision)
    )
    artifact = next(found, None)
    return (artifact.title, artifact.mtime) if artifact is not None else ("", None)
