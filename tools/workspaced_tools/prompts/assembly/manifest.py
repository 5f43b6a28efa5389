"""The manifest: every thing of a prompt, and every thing that is not in it, in exactly one record.

Its records are made where the layers are; here they are put together, counted, and held against the last prompt.
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
    sheets: Mapping[LayerId, LayerBuilder],
    digests: Digests,
    reuse: Reuse,
    tool_tokens: int,
    limit: int,
    warnings: Sequence[str],
) -> Manifest:
    """Its estimate is the sum of its layers' and of the tools' definitions."""
    layers = tuple(
        ManifestLayer(
            id=name,
            hash=getattr(digests.hashes, name),
            tokens=sheets[name].tokens,
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
            for place, entry in enumerate(sheets[name].entries)
        ),
        estimate=sum(layer.tokens for layer in layers) + tool_tokens,
        limit=limit,
        tool_tokens=tool_tokens,
        estimator=turn.estimator,
        factor=turn.factor,
        warnings=tuple(warnings),
    )


def warnings_of(
    conversation: Conversation, message: MessageId, reuse: Reuse, pipeline: Pipeline = "chat", *, rebased: bool
) -> tuple[str, ...]:
    """What of the first two layers changed since the pipeline's last prompt though the log tells of no cause.

    Causes are: the settings, a rebase, a turn that was removed, and asking for an earlier message than the last.
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
    rebased = rebased or any(rebase.seq > last.seq for rebase in conversation.rebases)
    if not (reuse.stable["L2_PREVIOUS"] or rebased or removed) and ids.index(message) >= ids.index(last.message):
        found.append(L2_CHANGED)
    return tuple(found)


def summary_warning(tokens: int, policy: Policy) -> tuple[str, ...]:
    """Where the summary is longer than it is to be: it stands in every prompt."""
    if policy.summary_tokens_max is None or tokens <= policy.summary_tokens_max:
        return ()
    return (f"The summary has about {tokens} tokens, more than {policy.summary_tokens_max}.",)


def cache_hints(sheets: Mapping[LayerId, LayerBuilder], tool_tokens: int) -> tuple[CacheHint, ...]:
    """Where what stays may end: none where a layer is empty. Tools' definitions, which come first, are counted."""
    hints, tokens = [], tool_tokens
    for name, after in _ENDS:
        tokens += sum(sheets[layer].tokens for layer in name)
        if any(sheets[layer].segments for layer in name):
            hints.append(CacheHint(after, tokens))
    return tuple(hints)
