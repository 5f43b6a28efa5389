"""Rebuilds prompts by the log and its blobs alone: from the conversation as of `asOfSeq` and the inputs."""

from collections import Counter, deque
from hashlib import sha256
from typing import Final

import msgspec

from workspaced_events.ids import ConversationId
from workspaced_events.projections.conversations import FORGOTTEN, Conversation, Conversations
from workspaced_events.schema import catalogue as c
from workspaced_events.schema.catalogue import PromptAssembled

from ...errors import NotRecorded
from ...ports.manifest import LAYERS
from ..assembly.assemble import assemble
from ..model.stored_texts import inputs_of
from ..model.types import Assembled, Texts

MANIFEST: Final = "manifest"
"""The difference reported if all layers are equal, and the manifests are not."""
_VERSIONS_KEPT: Final = 8


def checked(conversation: Conversation | None) -> Conversation:
    """Returns the conversation at a prompt's `asOfSeq` if it is known.

    Raises:
        NotRecorded: the log does not hold that state.
    """
    if conversation is None:
        raise NotRecorded("What the conversation was then is not in this log", hint="Bundle more events.")
    return conversation


def rebuild(data: PromptAssembled, conversation: Conversation, texts: Texts) -> Assembled:
    """Rebuilds a prompt.

    Args:
        data: the prompt's event.
        conversation: the state at `data.as_of_seq`.

    Raises:
        NotRecorded: a text is not kept, or its version is too new.
        LogDamaged: the blob of the inputs holds something else.
        WorkspacedError: from the assembler, which made a prompt from the same inputs before.
    """
    return assemble(conversation, inputs_of(data.inputs_sha256, texts), texts)


def first_difference(data: PromptAssembled, made: Assembled, conversation: Conversation) -> str | None:
    """What of the recorded prompt is another one in `made`: the first layer, else MANIFEST, else a field of its
    event. None if all is the same.

    Where the prompt before was forgotten with a note, the manifest cannot be the same: it says what a cache keeps
    of that prompt.
    """
    for layer in LAYERS:
        if getattr(made.envelope.hashes, layer) != getattr(data.layer_hashes, layer):
            return layer
    before = conversation.last_prompt(made.pipeline)
    has_manifest = before is None or before.combined_hash != FORGOTTEN
    again = prompt_event(
        conversation.seq,
        made,
        inputs_sha256=data.inputs_sha256,
        manifest_sha256=_hash_of(made.envelope.manifest) if has_manifest else data.manifest_sha256,
        shape=data.shape,
        turn_sha256=_hash_of(made.sent) if made.sent is not None else None,
    )
    if (again.manifest_sha256, again.combined_hash) != (data.manifest_sha256, data.combined_hash):
        return MANIFEST
    fields = zip(data.__struct_fields__, data.__struct_encode_fields__, strict=True)
    return next((shown for name, shown in fields if getattr(again, name) != getattr(data, name)), None)


def _hash_of(stored: msgspec.Struct) -> str:
    return sha256(msgspec.json.encode(stored)).hexdigest()


class Versions:
    """Keeps the latest states of each conversation while a log is fed.

    A prompt is recorded soon after the state that it was made from, so a few states of each conversation suffice.
    """

    def __init__(self, start: Conversations) -> None:
        self._now = start
        self._latest = {name: deque([each], _VERSIONS_KEPT) for name, each in start.by_id.items()}

    def take(self, now: Conversations) -> None:
        """Takes the conversations after the next event; only the last one in `by_id` can have changed."""
        if now is self._now or not now.by_id:
            return
        self._now = now
        changed = next(reversed(now.by_id.values()))
        self._latest.setdefault(changed.id, deque(maxlen=_VERSIONS_KEPT)).append(changed)
        if len(self._latest) > len(now.by_id):
            self._latest = {name: each for name, each in self._latest.items() if name in now.by_id}

    def at(self, conversation: ConversationId, as_of_seq: int) -> Conversation | None:
        """The conversation at a recent sequence; None if that state is no longer kept."""
        versions = reversed(self._latest.get(conversation, ()))
        return next((each for each in versions if each.seq <= as_of_seq), None)


def prompt_event(
    as_of_seq: int,
    made: Assembled,
    *,
    inputs_sha256: str,
    manifest_sha256: str,
    shape: c.Shape | None = None,
    turn_sha256: str | None,
) -> c.PromptAssembled:
    """The `prompt_assembled` of a prompt.

    Args:
        as_of_seq: the sequence of the last event of the conversation that the prompt covers.
        inputs_sha256: names the blob of the `Turn` that `made` was assembled from.
        manifest_sha256: names the blob of the manifest.
        shape: the shape of the provider's request body, if the answer was one.
        turn_sha256: names the blob of `made.sent`.
    """
    envelope = made.envelope
    manifest = envelope.manifest
    states = Counter(entry.state for entry in manifest.entries)
    return c.PromptAssembled(
        conversation=envelope.conversation_id,
        message=envelope.message_id,
        as_of_seq=as_of_seq,
        inputs_sha256=inputs_sha256,
        manifest_sha256=manifest_sha256,
        layer_hashes=envelope.hashes,
        combined_hash=envelope.combined_hash,
        prefix_tokens=made.prefix_tokens,
        estimate=envelope.estimate,
        seed_estimate=made.seed_estimate,
        limit=manifest.limit,
        elided=made.elided,
        pipeline=made.pipeline,
        shape=shape,
        turn_sha256=turn_sha256,
        totals=c.PromptTotals(
            **{layer.id: layer.tokens for layer in manifest.layers},
            tools=manifest.tool_tokens,
            dropped=states["dropped"],
            failed=states["failed"],
        ),
    )
