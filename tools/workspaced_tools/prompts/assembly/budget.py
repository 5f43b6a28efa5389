"""Makes a prompt fit its limit, in a fixed order of what is dropped first.

Dropping anything invalidates the provider's cache from that point on, so drops are rare and large: all old results
of tools at once; whole rounds of the history, in one step from over the limit down to a share of it; entries of
the library likewise. A window that slides with every turn would cost as much as no cache.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final, NamedTuple, get_args

import msgspec

from workspaced_events.ids import MessageId
from workspaced_events.schema.catalogue import ArtifactKind, LibraryEntry

from ...errors import BudgetExceeded
from ...limits import ECHO_CHARS_MAX
from ...ports.manifest import ManifestEntry
from ..model.token_estimator import Estimator
from ..model.types import ChatMessage, Policy
from .history import last_rounds, paired, rounds, short_images, short_results, shortenings

LARGEST_NAMED_MAX: Final = 3
_ARTIFACT_KINDS: Final = frozenset(get_args(ArtifactKind))
SHORTEN: Final = (short_results, short_images)
"""Applied to old messages in this order before any message is left out."""


class Parts(msgspec.Struct, frozen=True):
    """The parts of a prompt that take tokens: fixed parts and parts that may shrink."""

    fixed: int
    """Tokens of everything except library, history and summary."""
    library: tuple[LibraryEntry, ...]
    """Entries; their `tokens` are seed tokens."""
    library_frame: int
    """Tokens of the text around the entries of a non-empty library."""
    history: tuple[ChatMessage, ...]
    """The result of `history_of`."""
    summary_tokens: int
    system: int = 0
    """The first layer's share of `fixed`, for the error."""
    tools: int = 0
    """The share of the tools' definitions in `fixed`, for the error."""
    named: tuple[ManifestEntry, ...] = ()
    """The things in `fixed` except the tools' definitions, for the error."""


class Fitted(msgspec.Struct, frozen=True):
    """The parts that fit into the prompt."""

    history: tuple[ChatMessage, ...]
    library: tuple[LibraryEntry, ...] | None
    """None: unchanged."""
    entries: tuple[ManifestEntry, ...]
    """One for each part shortened or left out, without tokens, since those are not in the prompt."""
    elided: int
    """The number of `entries`, without parts that earlier prompts left out: `history_of` relies on that."""
    elided_until: MessageId | None
    """The last message left out; None if no message was."""
    estimate: int


def fit(parts: Parts, limit: int, policy: Policy, estimator: Estimator, latest: Sequence[str]) -> Fitted:
    """Fits the parts into `limit` tokens.

    Above the limit, parts go in this order, no further than necessary: old results of tools, old images, the
    oldest rounds, the library. Old means before the last `policy.keep_rounds` rounds, which are never touched.

    Args:
        latest: ids of artifacts, most recently referred to first; all other artifacts count as older.

    Raises:
        BudgetExceeded: the parts that are never touched exceed the limit.
    """
    others = parts.fixed + parts.summary_tokens
    beside = others + _library_tokens(parts, parts.library, estimator)
    history = _fit_history(parts.history, limit - beside, policy.slide_to * limit - beside, policy, estimator)
    entries, until, estimate = history.entries, history.elided_until, beside + history.tokens
    if estimate <= limit:
        return Fitted(history.messages, None, entries, len(entries), until, estimate)
    used = others + history.tokens
    if used > limit:
        raise exceeded(parts, limit, history.messages, history.tokens, beside - others, estimator)
    library, without = _newest(parts, limit - used, limit, policy, estimator, latest)
    entries += without
    estimate = used + _library_tokens(parts, library, estimator)
    return Fitted(history.messages, library, entries, len(entries), until, estimate)


# -- the history --


class _History(NamedTuple):
    messages: tuple[ChatMessage, ...]
    tokens: int
    entries: tuple[ManifestEntry, ...] = ()
    elided_until: MessageId | None = None


def _fit_history(
    whole: tuple[ChatMessage, ...], room: float, low: float, policy: Policy, estimator: Estimator
) -> _History:
    """The history within `room` tokens if its old part can shrink enough; rounds go until it is within `low`."""
    history, old = whole, last_rounds(whole, policy.keep_rounds)
    sizes = _sizes(history, estimator)
    for shorten in SHORTEN:
        if sum(sizes) > room:
            history = (*map(shorten, history[:old]), *history[old:])
            sizes = _sizes(history, estimator)
    gone = _rounds_to_leave_out(history[:old], sizes, low) if sum(sizes) > room else 0
    kept, unpaired = paired(history[gone:], in_parts=policy.results_in_parts)
    entries = (
        *(_left_out(message, size) for message, size in zip(history[:gone], sizes, strict=False)),
        *shortenings(whole[gone:], history[gone:]),
        *unpaired,
    )
    return _History(kept, sum(_sizes(kept, estimator)), entries, history[gone - 1].id if gone else None)


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


# -- the library --


def _library_tokens(parts: Parts, library: Sequence[LibraryEntry], estimator: Estimator) -> int:
    if not library:
        return 0
    return parts.library_frame + sum(estimator.calibrated(entry.tokens) for entry in library)


def _newest(
    parts: Parts, room: int, limit: int, policy: Policy, estimator: Estimator, latest: Sequence[str]
) -> tuple[tuple[LibraryEntry, ...], tuple[ManifestEntry, ...]]:
    """The library entries referred to last, in the library's order, and a manifest entry for each other one.

    They take at most `policy.slide_to` of the limit if that fits into `room`, else of `room`: the next turn needs
    some room too.
    """
    most = policy.slide_to * (limit if policy.slide_to * limit <= room else room)
    age = {name: at for at, name in enumerate(latest)}
    newest_first = parts.library[::-1]
    kept: set[str] = set()
    tokens = parts.library_frame
    for entry in sorted(newest_first, key=lambda entry: age.get(entry.id, len(age))):
        size = estimator.calibrated(entry.tokens)
        if tokens + size <= most:
            kept.add(entry.id)
            tokens += size
    without = tuple(
        ManifestEntry("L2_PREVIOUS", entry.id, entry.kind, "dropped", "budget", revision=entry.revision)
        for entry in parts.library
        if entry.id not in kept
    )
    return tuple(entry for entry in parts.library if entry.id in kept), without


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
    needed = {
        "system": parts.system,
        "tools": parts.tools,
        "turn": parts.fixed - parts.system - parts.tools,
        "summary": parts.summary_tokens,
        "history": history_tokens,
    }
    total = sum(needed.values())
    parted = ", ".join(f"{name} {tokens}" for name, tokens in needed.items() if tokens)
    largest = _largest(parts, history, estimator)
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


def _largest(parts: Parts, history: Sequence[ChatMessage], estimator: Estimator) -> list[tuple[str, str, int]]:
    """Kind, id and tokens of the largest things that cannot be left out, at most LARGEST_NAMED_MAX."""
    things = [("pin" if each.why == "pinned" else each.kind, each.id, each.tokens) for each in parts.named]
    things += [("message", str(each.id), estimator.message_tokens(each)) for each in history]
    things += [("tools", "definitions", parts.tools), ("summary", "summary", parts.summary_tokens)]
    return sorted((each for each in things if each[2]), key=lambda each: -each[2])[:LARGEST_NAMED_MAX]


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
