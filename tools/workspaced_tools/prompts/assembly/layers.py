"""Builds layers and their manifest: texts in order, an entry for each part and for each part left out, and hashes.

`reuse_of` compares a prompt's layers with those of the last prompt in the same pipeline. A provider's cache serves
a prefix of equal bytes, so a layer counts only if all layers before it are unchanged.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile
from typing import Final, Literal

import msgspec
from msgspec.structs import replace

from workspaced_events.ids import MessageId, NoteId
from workspaced_events.projections.conversations import Conversation, turn_of
from workspaced_events.schema.catalogue import LayerHashes, Pipeline

from ...ports.manifest import LAYERS, LayerId, Manifest, ManifestEntry, ManifestLayer, State
from ..model.blocks import BLANK_LINE, trimmed
from ..model.token_estimate import Estimator, estimate_tokens
from ..model.types import Block, CacheHint, ChatMessage, Segment, Turn

_BREAK: Final = BLANK_LINE.encode()
_SEEDS: Final = Estimator(1.0)
"""Estimates without calibration."""


def sha256_hex(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


class LayerEntry(msgspec.Struct, frozen=True):
    """A manifest entry without its layer and its size."""

    id: str
    kind: str
    why: str
    state: State = "full"
    revision: str | None = None
    detail: str | None = None
    notes: tuple[NoteId, ...] = ()


class LayerBuilder:
    """Builds one layer.

    Attributes:
        segments: the parts of the layer's text, none of them empty.
        entries: the layer's manifest entries.
        tokens: the sum of their tokens.
        seed: the same before calibration.
    """

    def __init__(self, layer: LayerId, estimator: Estimator) -> None:
        self.layer = layer
        self.segments: list[Segment] = []
        self.entries: list[ManifestEntry] = []
        self.tokens = 0
        self.seed = 0
        self._estimator = estimator

    def add(self, entry: LayerEntry, text: str, *, seed: int | None = None, segment: str = "") -> None:
        """Adds a segment with the trimmed text, and its entry; an empty text adds only an entry of state `empty`.

        `seed`: the text's seed tokens, if known. `segment`: the segment's kind, if it is not the entry's.
        """
        text = trimmed(text)
        if not text:
            self.record(msgspec.structs.replace(entry, state="empty"))
            return
        seed = estimate_tokens(text) if seed is None else seed
        tokens = self.record(entry, seed, len(text) if text.isascii() else len(text.encode()))
        self.segments.append(Segment(entry.id, segment or entry.kind, text, tokens))

    def add_message(self, message: ChatMessage, why: str) -> None:
        text = message_text(message)
        self.add(LayerEntry(message.id or "", "message", why), text, seed=_SEEDS.message_tokens(message))

    def add_part(self, part: "LayerBuilder") -> None:
        """Adds all of another builder of this layer."""
        self.segments += part.segments
        self.entries += part.entries
        self.tokens += part.tokens
        self.seed += part.seed

    def record(self, entry: LayerEntry, seed: int = 0, size: int = 0) -> int:
        """Adds an entry that has no segment of its own; `size` in bytes. Returns the entry's tokens."""
        tokens = self._estimator.calibrated(seed)
        self.tokens += tokens
        self.seed += seed
        self.entries.append(
            ManifestEntry(
                layer=self.layer,
                id=entry.id,
                kind=entry.kind,
                state=entry.state,
                why=entry.why,
                tokens=tokens,
                bytes=size,
                revision=entry.revision,
                detail=entry.detail,
                notes=tuple(note for note in dict.fromkeys(entry.notes) if note != entry.id),
            )
        )
        return tokens


class Digests(msgspec.Struct, frozen=True):
    hashes: LayerHashes
    combined: str
    """sha256 of the non-empty layers' texts, joined by a blank line."""
    sizes: Mapping[LayerId, int]
    """The size of each layer's text in bytes."""


def digests_of(texts: Mapping[LayerId, str]) -> Digests:
    """The hashes of the layers' texts. Each is encoded once and hashed whole: they may be megabytes."""
    combined, between = hashlib.sha256(), b""
    hashes, sizes = [], {}
    for name in LAYERS:
        text = texts[name].encode()
        hashes.append(hashlib.sha256(text).hexdigest())
        sizes[name] = len(text)
        if text:
            combined.update(between)
            combined.update(text)
            between = _BREAK
    return Digests(LayerHashes(*hashes), combined.hexdigest(), sizes)


def joined(segments: Iterable[Segment]) -> str:
    return BLANK_LINE.join([segment.text for segment in segments])


def message_text(message: ChatMessage) -> str:
    """A message in its layer's text: everything of it that the model is sent."""
    return BLANK_LINE.join((f"[{message.role}]", *map(_block_text, message.content)))


def _block_text(block: Block) -> str:
    if block.type == "text":
        return block.text or ""
    words = [block.type, block.name, block.id, block.media_type, block.blob, block.signature]
    head = " ".join(word for word in words if word) + (" error" if block.is_error else "")
    return "\n".join(filter(None, (f"[{head}]", block.text, *map(_block_text, block.images))))


# -- reuse --


class Reuse(msgspec.Struct, frozen=True):
    """The parts that a prompt shares with the last prompt of its pipeline."""

    stable: Mapping[LayerId, bool]
    blocks: int = 0
    """The number of library blocks that a cache can serve."""
    fresh: Mapping[LayerId, frozenset[MessageId]] = {}
    """For each other layer that a cache can serve: the messages in it that are new since the last prompt."""

    def serves(self, entry: ManifestEntry, place: int) -> bool:
        """Whether a cache can serve the part of this entry, which is at `place` in its layer."""
        if entry.tokens == 0:
            return False
        if entry.layer == "L2_PREVIOUS":
            return place < self.blocks or (self.blocks > 0 and entry.kind == "frame")
        fresh = self.fresh.get(entry.layer)
        return fresh is not None and not (entry.kind == "message" and entry.id in fresh)


def reuse_of(
    conversation: Conversation,
    message: MessageId,
    builders: Mapping[LayerId, LayerBuilder],
    hashes: LayerHashes,
    blocks: Sequence[str],
    pipeline: Pipeline,
) -> Reuse:
    """Compares with the last prompt of the pipeline. `blocks`: sha256 of the library's blocks.

    A compression had the turn in its history already.
    """
    last = conversation.last_prompt(pipeline)
    if last is None:
        return Reuse(dict.fromkeys(LAYERS, False))
    turn, later = _since(conversation, last.message)
    if pipeline == "compression":
        turn = later
    common = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(blocks, last.library, strict=False)))
    stable: dict[LayerId, bool] = {
        "L1_SYSTEM": hashes.L1_SYSTEM == last.hashes.L1_SYSTEM,
        "L2_PREVIOUS": common == len(last.library),
        "L3_TURN": _hash_without(builders["L3_TURN"], later) == last.hashes.L3_TURN,
        "L4_STRIP": _hash_without(builders["L4_STRIP"], turn) == last.hashes.L4_STRIP,
        "L5_USER": hashes.L5_USER == last.hashes.L5_USER,
    }
    fresh: dict[LayerId, frozenset[MessageId]] = {}
    if stable["L1_SYSTEM"]:
        fresh["L1_SYSTEM"] = frozenset()
        if stable["L4_STRIP"] and common == len(last.library) == len(blocks):
            fresh["L4_STRIP"] = later
            same_turn = message in turn and turn_of(conversation, message) == turn_of(conversation, last.message)
            if same_turn and stable["L3_TURN"] and stable["L5_USER"]:
                fresh |= {"L3_TURN": later, "L5_USER": frozenset()}
    return Reuse(stable, common if stable["L1_SYSTEM"] else 0, fresh)


def _since(conversation: Conversation, message: MessageId) -> tuple[frozenset[MessageId], frozenset[MessageId]]:
    """The messages from the turn of `message` on, and those after `message`; both empty if it was removed."""
    ids = list(conversation.messages)
    if message not in conversation.messages:
        return frozenset(), frozenset()
    start = ids.index(turn_of(conversation, message))
    return frozenset(ids[start:]), frozenset(ids[ids.index(message) + 1 :])


def _hash_without(builder: LayerBuilder, messages: frozenset[MessageId]) -> str:
    return sha256_hex(
        joined(each for each in builder.segments if not (each.kind == "message" and each.id in messages))
    )


_ENDS: Final[tuple[tuple[tuple[LayerId, ...], Literal["L1_SYSTEM", "L2_PREVIOUS", "history", "last"]], ...]] = (
    (("L1_SYSTEM",), "L1_SYSTEM"),
    (("L2_PREVIOUS",), "L2_PREVIOUS"),
    (("L4_STRIP",), "history"),
    (("L3_TURN", "L5_USER"), "last"),
)
L1_CHANGED: Final = "L1_SYSTEM changed without an event that changed the conversation's settings."
L2_CHANGED: Final = "L2_PREVIOUS does not begin as before, without an event that changed the library."


# -- the manifest --


def manifest_of(
    turn: Turn,
    builders: Mapping[LayerId, LayerBuilder],
    digests: Digests,
    reuse: Reuse,
    tool_tokens: int,
    limit: int,
    warnings: Sequence[str],
) -> Manifest:
    """The manifest; its estimate is the sum of its layers' tokens and of the tools' definitions."""
    layers = tuple(
        ManifestLayer(
            id=name,
            hash=getattr(digests.hashes, name),
            tokens=builders[name].tokens,
            bytes=digests.sizes[name],
            stable=reuse.stable[name],
        )
        for name in LAYERS
    )
    return Manifest(
        conversation=turn.conversation,
        message=turn.message,
        layers=layers,
        entries=tuple(
            replace(entry, cached=True) if reuse.serves(entry, place) else entry
            for name in LAYERS
            for place, entry in enumerate(builders[name].entries)
        ),
        estimate=sum(layer.tokens for layer in layers) + tool_tokens,
        limit=limit,
        tool_tokens=tool_tokens,
        estimator=turn.estimator,
        factor=turn.factor,
        warnings=tuple(warnings),
    )


def warnings_of(
    conversation: Conversation, message: MessageId, reuse: Reuse, pipeline: Pipeline, *, compacted: bool
) -> tuple[str, ...]:
    """Warns if one of the first two layers changed since the pipeline's last prompt without a cause in the log.

    Causes are: new settings, a compaction, a removed turn, and a prompt for an earlier message than that of the
    last prompt.
    """
    last = conversation.last_prompt(pipeline)
    if last is None:
        return ()
    found = []
    if not reuse.stable["L1_SYSTEM"] and conversation.settings_seq <= last.seq:
        found.append(L1_CHANGED)
    ids = list(conversation.messages)
    prompts = (prompt for prompt in conversation.prompts if prompt.pipeline == pipeline)
    removed = any(prompt.message not in conversation.messages for prompt in prompts)
    compacted = compacted or any(compaction.seq > last.seq for compaction in conversation.folds)
    if not (reuse.stable["L2_PREVIOUS"] or compacted or removed) and ids.index(message) >= ids.index(last.message):
        found.append(L2_CHANGED)
    return tuple(found)


def cache_hints(builders: Mapping[LayerId, LayerBuilder], tool_tokens: int) -> tuple[CacheHint, ...]:
    """The ends of cacheable prefixes, none for an empty layer; tokens include the tools' definitions before."""
    hints, tokens = [], tool_tokens
    for name, after in _ENDS:
        tokens += sum(builders[layer].tokens for layer in name)
        if any(builders[layer].segments for layer in name):
            hints.append(CacheHint(after, tokens))
    return tuple(hints)
