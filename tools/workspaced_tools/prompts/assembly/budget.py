"""Makes a prompt fit its limit, in a fixed order of what is dropped first.

Dropping anything invalidates the provider's cache from that point on, so drops are rare and large: all old results
of tools at once; whole rounds of the history, in one step from over the limit down to a share of it. A chat's
transcript is never fitted so: it is compacted (compaction.py).
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, Final, get_args

import msgspec

from workspaced_events.schema.catalogue import ArtifactKind

from ...errors import BudgetExceeded
from ...limits import ECHO_CHARS_MAX
from ...ports.manifest import ManifestEntry
from ..model.token_estimate import Estimator
from ..model.types import ChatMessage, Policy
from .history import Past, last_rounds, paired, rounds, short_results, shortenings

LARGEST_NAMED_MAX: Final = 3
_ARTIFACT_KINDS: Final = frozenset(get_args(ArtifactKind))


class Parts(msgspec.Struct, frozen=True):
    """The parts of a prompt that take tokens: fixed parts and parts that may shrink."""

    fixed: int
    """Tokens of everything except library, history and summary."""
    history: tuple[ChatMessage, ...]
    """The result of `history_of`."""
    summary_tokens: int
    system: int = 0
    """The first layer's share of `fixed`, for the error."""
    tools: int = 0
    """The share of the tools' definitions in `fixed`, for the error."""
    named: tuple[ManifestEntry, ...] = ()
    """The things in `fixed` except the tools' definitions, for the error."""


def fit(parts: Parts, limit: int, policy: Policy, estimator: Estimator) -> Past:
    """The history that fits into `limit` tokens: old results of tools go first, then the oldest rounds.

    Entries are without tokens, since what they tell of is not in the prompt.

    Raises:
        BudgetExceeded: the parts that are never touched exceed the limit.
    """
    beside = parts.fixed + parts.summary_tokens
    room = limit - beside
    history, old = parts.history, last_rounds(parts.history, policy.keep_rounds)
    sizes = _sizes(history, estimator)
    if sum(sizes) > room:
        history = (*map(short_results, history[:old]), *history[old:])
        sizes = _sizes(history, estimator)
    gone = _rounds_to_leave_out(history[:old], sizes, policy.slide_to * limit - beside) if sum(sizes) > room else 0
    kept = paired(history[gone:])
    entries = (
        *(_left_out(message, size) for message, size in zip(history[:gone], sizes, strict=False)),
        *shortenings(parts.history[gone:], history[gone:]),
        *kept.dropped,
    )
    fitted = Past(kept.messages, entries)
    tokens = sum(_sizes(fitted.messages, estimator))
    if beside + tokens > limit:
        raise exceeded(parts, limit, fitted.messages, tokens, 0, estimator)
    return fitted


# -- the history --


def _rounds_to_leave_out(old: Sequence[ChatMessage], sizes: Sequence[int], low: float) -> int:
    """The number of `old` messages to leave out, in whole rounds, so that at most `low` of all `sizes` remains."""
    left = sum(sizes)
    starts = [*rounds(old), len(old)]
    for start, end in pairwise(starts):
        if left <= low:
            return start
        left -= sum(sizes[start:end])
    return len(old)


def _left_out(message: ChatMessage, tokens: int) -> ManifestEntry:
    return ManifestEntry("L4_STRIP", str(message.id), "message", "dropped", "budget", detail=f"{tokens} tokens")


def _sizes(history: Iterable[ChatMessage], estimator: Estimator) -> list[int]:
    return [estimator.message_tokens(message) for message in history]


# -- no room --


def exceeded(
    parts: Parts,
    limit: int,
    history: Sequence[ChatMessage],
    history_tokens: int,
    library: int,
    estimator: Estimator,
) -> BudgetExceeded:
    """The error for parts that are never left out and exceed the limit; it names the largest.

    `history`: what of it must stay. `library`: the tokens that it had, which are left out.
    """
    needed: dict[str, Any] = {
        "system": parts.system,
        "tools": parts.tools,
        "turn": parts.fixed - parts.system - parts.tools,
        "summary": parts.summary_tokens,
        "history": history_tokens,
    }
    total = sum(needed.values())
    parted = ", ".join(f"{name} {tokens}" for name, tokens in needed.items() if tokens)
    things = [("pin" if each.why == "pinned" else each.kind, each.id, each.tokens) for each in parts.named]
    things += [("message", str(each.id), estimator.message_tokens(each)) for each in history]
    things += [("tools", "definitions", parts.tools), ("summary", "summary", parts.summary_tokens)]
    largest = sorted((each for each in things if each[2]), key=lambda each: -each[2])[:LARGEST_NAMED_MAX]
    named = ", ".join(f"{kind} {name[:ECHO_CHARS_MAX]!r} {tokens}" for kind, name, tokens in largest)
    return BudgetExceeded(
        f"The prompt needs at least {total} tokens without its library and may have {limit}: {parted}"
        f"{f'; most of it {named}' if named else ''}.",
        hint=_remedy(largest[0][0] if largest else ""),
        needed=total,
        limit=limit,
        library=library,
        largest=[{"kind": kind, "id": name, "tokens": tokens} for kind, name, tokens in largest],
        **needed,
    )


def _remedy(kind: str) -> str:
    """What helps against a thing of this kind that is too large."""
    if kind == "message":
        return "Set a summary up to an earlier message, or remove messages; or give the model a larger window."
    if kind == "tools":
        return "Define fewer tools, or describe them shorter; or give the model a larger window."
    if kind == "summary":
        return "Set a shorter summary; or give the model a larger window."
    if kind == "pin":
        return "Unpin it, or pin less; or give the model a larger window."
    if kind in _ARTIFACT_KINDS:
        return "Attach less: a part of it as selected_text, say; or give the model a larger window."
    return "Nothing more can be left out: shorten the largest of these, or give the model a larger window."
