"""Accounts for the provider's cache: how much of each prompt it could serve, how much it did, and why not all.

A prompt loses its prefix only for a cause in the log: new settings, a compaction, a removed message; without one
the provider evicted it. Tokens of prompts are estimates; cached tokens are the provider's own count.
"""

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Final, Literal

import msgspec

from workspaced_events.projections.conversations import PROMPTS_MAX, Conversation, Prompt
from workspaced_events.schema.catalogue import Pipeline

from ...ports.manifest import LayerId
from ..model.token_estimate import Estimator
from ..model.types import ChatMessage, Envelope

HIT_SHARE: Final = 0.5
"""A prompt is a hit if the cache served at least this share of its repeated tokens: counts are estimates, and
caches keep whole blocks only."""
CACHED_TOKENS_MIN: Final = 1_024
"""Hosted providers do not keep shorter prefixes."""

FIRST: Final = "first prompt"
OTHER_PIPELINE: Final = "another pipeline"
SETTINGS: Final = "L1 changed: settings"
UNEXPLAINED: Final = "L1 changed: no cause in the log"
MODEL_OR_TOOLS: Final = "settings changed"
COMPACTED: Final = "folded: "
REMOVED: Final = "library lost a removed message's notes"
GREW: Final = "library grew"
ELIDED: Final = "history elided: budget"
REPLACED: Final = "message replaced"
MESSAGE_REMOVED: Final = "message removed"
NOT_REPORTED: Final = "not reported"
TOO_SHORT: Final = "too short for a cache"
EVICTED: Final = "provider evicted"

_BEHIND_THE_PREFIX: Final = frozenset({None, GREW, ELIDED, REPLACED, MESSAGE_REMOVED})
"""Causes that leave the beginning of the first two layers unchanged, so they do not explain a miss."""

Outcome = Literal["hit", "miss", "unknown"]


class Accounted(msgspec.Struct, frozen=True, rename="camel"):
    """The provider's cache for one prompt."""

    seq: int
    message: str
    outcome: Outcome
    cause: str | None
    """The change since the previous prompt, or else why the cache served nothing; None: no change."""
    estimate: int
    expected: int
    """At least this many tokens are the same as in the previous prompt."""
    input_tokens: int | None
    cached_tokens: int | None
    pipeline: Pipeline = "chat"


class Summed(msgspec.Struct, frozen=True, rename="camel"):
    """Totals over the prompts of one conversation."""

    prompts: int
    hits: int
    misses: int
    not_reported: int
    input_tokens: int
    cached_tokens: int
    causes: dict[str, int]
    """The number of misses by cause."""


def account(conversation: Conversation) -> tuple[Accounted, ...]:
    """Compares every prompt that the conversation remembers, in order, with the previous one of its pipeline.

    If the conversation remembers PROMPTS_MAX prompts of a pipeline, the first is left out: its previous one is not
    known.
    """
    counts = Counter(each.pipeline for each in conversation.prompts)
    last: dict[Pipeline, Prompt] = {}
    found = []
    for prompt in conversation.prompts:
        before = last.get(prompt.pipeline)
        if before is not None or counts[prompt.pipeline] < PROMPTS_MAX:
            cause = cause_of(conversation, before, prompt)
            expected = 0 if before is None else kept_tokens(conversation, before, prompt)
            possible = 0 if before is None else max(before.prefix_tokens, expected)
            outcome: Outcome = "unknown"
            if prompt.cached_tokens is None:
                cause = cause or NOT_REPORTED
            elif prompt.cached_tokens and prompt.cached_tokens >= HIT_SHARE * possible:
                outcome = "hit"
            else:
                outcome = "miss"
                if cause in _BEHIND_THE_PREFIX:
                    cause = TOO_SHORT if possible < CACHED_TOKENS_MIN else EVICTED
            found.append(
                Accounted(
                    prompt.seq,
                    prompt.message,
                    outcome,
                    cause,
                    prompt.estimate,
                    expected,
                    prompt.input_tokens,
                    prompt.cached_tokens,
                    prompt.pipeline,
                )
            )
        last[prompt.pipeline] = prompt
    return tuple(found)


def cause_of(conversation: Conversation, before: Prompt | None, prompt: Prompt) -> str | None:
    """The first difference between `prompt` and `before` by the log, in the order of a prompt's layers.

    Both belong to one pipeline. Differences that every further message makes do not count.
    """
    if before is None:
        return FIRST
    if prompt.hashes.L1_SYSTEM != before.hashes.L1_SYSTEM:
        return SETTINGS if conversation.settings_seq > before.seq else UNEXPLAINED
    if before.seq < conversation.settings_seq < prompt.seq:
        return MODEL_OR_TOOLS
    if (compaction := _compaction(conversation, before, prompt)) is not None:
        return f"{COMPACTED}{compaction}"
    if prompt.blocks_kept < before.blocks:
        return REMOVED
    if prompt.blocks > before.blocks:
        return GREW
    if prompt.elided > before.elided:
        return ELIDED
    return _message_cause(conversation, before, prompt)


def _compaction(conversation: Conversation, before: Prompt, prompt: Prompt) -> str | None:
    """The reason of the last compaction between the two prompts."""
    compactions = [each.reason for each in conversation.folds if before.seq < each.seq < prompt.seq]
    return compactions[-1] if compactions else None


def _message_cause(conversation: Conversation, before: Prompt, prompt: Prompt) -> str | None:
    if before.message not in conversation.messages:
        return MESSAGE_REMOVED if prompt.message in conversation.messages else None
    for message in conversation.messages.values():
        if before.seq < message.seq < prompt.seq:
            return REPLACED
        if message.id == before.message:
            break
    return None


def kept_tokens(conversation: Conversation, before: Prompt, prompt: Prompt) -> int:
    """A lower bound, by the log, for the tokens at the beginning of `prompt` that `before` has too."""
    if prompt.hashes.L1_SYSTEM != before.hashes.L1_SYSTEM:
        return 0
    if prompt.blocks_kept < before.blocks or _compaction(conversation, before, prompt) is not None:
        factor = prompt.estimate / prompt.seed_estimate if prompt.seed_estimate else 1.0
        return max(0, prompt.prefix_tokens - round(factor * prompt.tokens_not_kept))
    if prompt.blocks > before.blocks or prompt.elided > before.elided:
        return before.prefix_tokens
    if _message_cause(conversation, before, prompt) is not None:
        return before.prefix_tokens
    return before.estimate if before.repeats_turns and prompt.repeats_turns else before.prefix_tokens


# -- totals --


def summed(prompts: Sequence[Accounted]) -> Summed:
    """Counts hits, misses, and the causes of misses."""
    outcomes = Counter(each.outcome for each in prompts)
    return Summed(
        prompts=len(prompts),
        hits=outcomes["hit"],
        misses=outcomes["miss"],
        not_reported=outcomes["unknown"],
        input_tokens=sum(each.input_tokens or 0 for each in prompts),
        cached_tokens=sum(each.cached_tokens or 0 for each in prompts),
        causes=dict(Counter(each.cause for each in prompts if each.outcome == "miss" and each.cause)),
    )


# -- comparing two prompts --


SENT: Final[tuple[LayerId, ...]] = ("L1_SYSTEM", "L2_PREVIOUS", "L4_STRIP", "L3_TURN", "L5_USER")
"""The layers in the order in which they are sent."""


def first_changed(before: Envelope, after: Envelope) -> LayerId | None:
    """The first layer that differs, in the order sent; None if all are the same."""
    hashes = before.hashes, after.hashes
    return next((layer for layer in SENT if getattr(hashes[0], layer) != getattr(hashes[1], layer)), None)


def causes_of(conversation: Conversation, prompts: Sequence[Prompt], changed: LayerId) -> list[str]:
    """Why the layer `changed` differs between the first and the last of `prompts`, which are consecutive."""
    if prompts[0].pipeline != prompts[-1].pipeline:
        return [OTHER_PIPELINE]
    same = [each for each in prompts if each.pipeline == prompts[0].pipeline]
    causes = (cause_of(conversation, *pair) for pair in pairwise(same))
    return list(dict.fromkeys(each for each in causes if each is not None and changed in _layers_of(each)))


def _layers_of(cause: str) -> tuple[LayerId, ...]:
    """The layers that may be the first one that the cause changes."""
    if cause in (SETTINGS, UNEXPLAINED):
        return ("L1_SYSTEM",)
    if cause.startswith(COMPACTED):
        return "L2_PREVIOUS", "L4_STRIP"
    if cause in (REMOVED, GREW):
        return ("L2_PREVIOUS",)
    return ("L4_STRIP",) if cause in (ELIDED, REPLACED, MESSAGE_REMOVED) else ()


def common_tokens(before: Envelope, after: Envelope, *, same_tools: bool) -> int:
    """The tokens at the beginning that both prompts share, by the second one's estimator.

    The tools' definitions come first, so prompts with different tools share nothing.
    """
    if not same_tools:
        return 0
    estimator = Estimator(after.manifest.factor)
    tokens = after.manifest.tool_tokens
    for one, two in zip(before.messages, after.messages, strict=False):
        if (one.role, one.content) != (two.role, two.content):
            return tokens + estimator.tokens(_common_text(one, two))
        tokens += estimator.message_tokens(two)
    return tokens


def _common_text(one: ChatMessage, two: ChatMessage) -> str:
    """The beginning that two messages share."""
    if one.role != two.role:
        return ""
    text = ""
    for old, new in zip(one.content, two.content, strict=False):
        if old == new:
            text += new.text or ""
            continue
        if old.type == new.type and (old.id, old.name) == (new.id, new.name):
            text += _common_start(old.text or "", new.text or "")
        break
    return text


def _common_start(one: str, two: str) -> str:
    low, high = 0, min(len(one), len(two))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[low:middle] == two[low:middle] else (low, middle - 1)
    return one[:low]
