"""Builds the log's event for a prompt."""

from workspaced_events.ids import ConversationId
from workspaced_events.schema import catalogue as c

from ..model.types import Assembled, Turn


def prompt_event(
    conversation: ConversationId,
    as_of_seq: int,
    turn: Turn,
    made: Assembled,
    *,
    inputs_sha256: str,
    manifest_sha256: str,
    shape: c.Shape | None = None,
    turn_sha256: str | None = None,
) -> c.PromptAssembled:
    """The `prompt_assembled` of a prompt.

    Args:
        as_of_seq: the sequence of the last event of the conversation that the prompt covers.
        turn: the inputs of the prompt, stored as the blob `inputs_sha256`.
        manifest_sha256: names the blob of the manifest.
        shape: the shape of the provider's request body, if the answer was one.
        turn_sha256: names the blob of `made.sent`.
    """
    envelope = made.envelope
    return c.PromptAssembled(
        conversation=conversation,
        message=turn.message,
        as_of_seq=as_of_seq,
        inputs_sha256=inputs_sha256,
        manifest_sha256=manifest_sha256,
        layer_hashes=envelope.hashes,
        combined_hash=envelope.combined_hash,
        prefix_tokens=made.prefix_tokens,
        estimate=envelope.estimate,
        seed_estimate=made.seed_estimate,
        limit=envelope.manifest.limit,
        elided=made.elided,
        promoted=made.promoted,
        elided_until=made.elided_until,
        pipeline=turn.policy.pipeline,
        shape=shape,
        turn_sha256=turn_sha256,
    )
