"""The manifest: one entry for each part of a prompt and for each part left out.

Layers make their own entries; this module joins and counts them, and compares the layers with the last prompt.
"""

from collections.abc import Mapping, Sequence
from typing import Final, Literal

from msgspec.structs import replace

from workspaced_events.ids import MessageId
from workspaced_events.projections.conversations import Conversation
from workspaced_events.schema.catalogue import Pipeline

from ...ports.manifest import LAYERS, LayerId, Manifest, ManifestLayer
from ..model.types import CacheHint, Policy, Turn
from .layers import Digests, LayerBuilder, Reuse

_ENDS: Final[tuple[tuple[tuple[LayerId, ...], Literal["L1_SYSTEM", "L2_PREVIOUS", "history", "last"]], ...]] = (
    (("L1_SYSTEM",), "L1_SYSTEM"),
    (("L2_PREVIOUS",), "L2_PREVIOUS"),
    (("L4_STRIP",), "history"),
    (("L3_TURN", "L5_USER"), "last"),
)
L1_CHANGED: Final = "L1_SYSTEM changed without an event that changed the conversation's settings."
L2_CHANGED: Final = "L2_PREVIOUS does not begin as before, without an event that changed the library."


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
    conversation: Conversation, message: MessageId, reuse: Reuse, pipeline: Pipeline = "chat", *, folded: bool
) -> tuple[str, ...]:
    """Warns if one of the first two layers changed since the pipeline's last prompt without a cause in the log.

    Causes are: new settings, a fold, a removed turn, and a prompt for an earlier message than the last prompt's.
    """
    last = conversation.last_prompt(pipeline)
    if last is None:
        return ()
    found = []
    if not reuse.stable["L1_SYSTEM"] and conversation.settings.seq <= last.seq:
        found.append(L1_CHANGED)
    ids = list(conversation.messages)
    prompts = (prompt for prompt in conversation.prompts if prompt.pipeline == pipeline)
    removed = any(prompt.message not in conversation.messages for prompt in prompts)
    folded = folded or any(fold.seq > last.seq for fold in conversation.folds)
    if not (reuse.stable["L2_PREVIOUS"] or folded or removed) and ids.index(message) >= ids.index(last.message):
        found.append(L2_CHANGED)
    return tuple(found)


def summary_warning(tokens: int, policy: Policy) -> tuple[str, ...]:
    """Warns if the summary is longer than `policy.summary_tokens_max`, since it is in every prompt."""
    if policy.summary_tokens_max is None or tokens <= policy.summary_tokens_max:
        return ()
    return (f"The summary has about {tokens} tokens, more than {policy.summary_tokens_max}.",)


def cache_hints(builders: Mapping[LayerId, LayerBuilder], tool_tokens: int) -> tuple[CacheHint, ...]:
    """The ends of cacheable prefixes, none for an empty layer; tokens include the tools' definitions before."""
    hints, tokens = [], tool_tokens
    for name, after in _ENDS:
        tokens += sum(builders[layer].tokens for layer in name)
        if any(builders[layer].segments for layer in name):
            hints.append(CacheHint(after, tokens))
    return tuple(hints)
