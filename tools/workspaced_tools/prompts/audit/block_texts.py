"""The text of one block of a rebuilt prompt, and what is known of its version."""

from collections.abc import Iterator

import msgspec

from workspaced_events.errors import LogDamaged
from workspaced_events.projections.conversations import Conversation
from workspaced_events.schema.catalogue import PromptAssembled

from ...errors import NotRecorded
from ..model.blocks import BLANK_LINE
from ..model.sent_so_far import read_turn
from ..model.sent_turn import SentPart, library_kind
from ..model.stored_texts import inputs_of
from ..model.types import Envelope, Segment, Texts
from .prompt_blocks import PromptBlock


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
