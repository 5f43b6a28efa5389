"""Builds the log's event for a prompt."""

from collections import Counter

from workspaced_events.schema import catalogue as c

from ..model.types import Assembled


def prompt_event(
    as_of_seq: int,
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
