"""The blocks of a recorded prompt in the order sent, and how each compares with the prompt before.

A block is what one entry of the manifest tells of. What a provider's cache can serve of it is the manifest's own
word; the prompt before tells whether the rest is new, or must be read anew though it was sent before.
"""

from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec

from workspaced_events.ids import MessageId

from ...ports.base import Wire
from ...ports.manifest import LayerId, Manifest, ManifestEntry
from ..model.sent_turn import PIN, library_kind
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
