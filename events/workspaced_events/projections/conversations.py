"""Conversations, folded from the events that runtimes publish.

A conversation holds everything in a prompt that is not read again for each prompt: settings, messages, pins, the
context library, the summary. Texts are blobs, named by their sha256. The fold is pure; with the inputs that
`prompt_assembled` names it rebuilds any prompt byte for byte.
"""

from collections.abc import Callable, Iterator
from itertools import takewhile
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from ..ids import ConversationId, MessageId, VaultId
from ..schema import catalogue as c

CONVERSATIONS_MAX: Final = 200
"""Conversations remembered; beyond that, the one longest without an event is dropped."""
PROMPTS_MAX: Final = 50
"""Last prompts of each pipeline that a conversation remembers, to explain the provider's cache hits and misses."""
CALIBRATIONS_MAX: Final = 100
"""Models remembered; beyond that, the one that reported first is dropped."""
SAMPLES_MIN: Final = 3
SAMPLE_TOKENS_MIN: Final = 500
ALPHA: Final = 0.3
RATIO_MIN: Final = 0.5
RATIO_MAX: Final = 3.0


class Calibration(msgspec.Struct, frozen=True, omit_defaults=True):
    """The ratio of a model's tokens to our estimate, learnt from usage reports (EWMA)."""

    ratio: float = 1.0
    samples: int = 0

    @property
    def factor(self) -> float:
        """The factor for an estimate: 1 until there are SAMPLES_MIN samples."""
        return self.ratio if self.samples >= SAMPLES_MIN else 1.0


NO_CALIBRATION: Final = Calibration()


def model_key(provider: str, model: str) -> str:
    return f"{provider}/{model}"


class Message(msgspec.Struct, frozen=True, omit_defaults=True):
    id: MessageId
    role: c.Role
    seq: int
    """The event that added or last replaced it."""
    at: str
    text_sha256: str | None = None
    attachments: tuple[c.Attachment, ...] = ()
    tool_calls: tuple[c.ToolCall, ...] = ()
    tool_results: tuple[c.ToolResult, ...] = ()
    thinking: tuple[c.Thinking, ...] = ()

    @property
    def is_carrier(self) -> bool:
        """Whether the message brings tool results, and so continues the turn before it."""
        return self.role == "user" and bool(self.tool_results)


class Summary(msgspec.Struct, frozen=True, omit_defaults=True):
    text_sha256: str
    up_to: MessageId


class Prompt(msgspec.Struct, frozen=True, omit_defaults=True):
    """A prompt, with the provider's token counts."""

    seq: int
    message: MessageId
    hashes: c.LayerHashes
    combined_hash: str
    prefix_tokens: int
    estimate: int
    seed_estimate: int
    limit: int
    elided: int
    inputs_sha256: str
    manifest_sha256: str
    as_of_seq: int
    library: tuple[str, ...] = ()
    """The blocks of the second layer, in order. Only the last chat prompt has them, because libraries are long."""
    blocks: int = 0
    """The number of these blocks."""
    blocks_kept: int = 0
    """The number of leading blocks equal to those of the prompt before."""
    tokens_not_kept: int = 0
    """The tokens of the other blocks, before calibration."""
    input_tokens: int | None = None
    """All tokens that the provider read, cached or not; None: not reported."""
    cached_tokens: int | None = None
    pipeline: c.Pipeline = "chat"
    shape: c.Shape | None = None
    repeats_turns: bool = False
    """Whether later prompts repeat the turn as it was sent."""


class Compaction(msgspec.Struct, frozen=True):
    seq: int
    reason: str


class Sent(msgspec.Struct, frozen=True):
    """A turn's user message as it was sent."""

    turn_sha256: str


class Conversation(msgspec.Struct, frozen=True, omit_defaults=True):
    id: ConversationId
    vault: VaultId | None
    seq: int
    """The last event about the conversation."""
    settings: c.ConversationStarted
    settings_seq: int = 0
    """The event that set them."""
    messages: dict[MessageId, Message] = {}
    """In order."""
    pins: dict[str, c.ContextPinned] = {}
    library: tuple[c.LibraryEntry, ...] = ()
    summary: Summary | None = None
    prompts: tuple[Prompt, ...] = ()
    folds: tuple[Compaction, ...] = ()
    elided_until: MessageId | None = None
    """The last message of the turns that prompts omit since a compaction."""
    turns: dict[MessageId, Sent] = {}
    """The turns that prompts repeat as they were sent, by their first message."""
    left_out: tuple[c.LeftOut, ...] = ()
    """The parts of these turns for which one line stands."""
    results_up_to: MessageId | None = None
    """Results of tools up to this message are replaced by a note of their size."""
    near_limit: MessageId | None = None
    """Up to this message a summary was asked for last."""
    ended: bool = False

    def last_prompt(self, pipeline: c.Pipeline = "chat") -> Prompt | None:
        """The last prompt of that pipeline; prompts of other pipelines share no prefix with it."""
        return next((each for each in reversed(self.prompts) if each.pipeline == pipeline), None)


class Conversations(msgspec.Struct, frozen=True, omit_defaults=True):
    """All conversations, the most recently changed last, and the calibration of each model's tokens."""

    by_id: dict[ConversationId, Conversation] = {}
    calibrations: dict[str, Calibration] = {}
    """By `provider/model`."""

    def calibration(self, settings: c.ConversationStarted) -> Calibration:
        """The calibration of the conversation's model."""
        return self.calibrations.get(model_key(settings.provider, settings.model), NO_CALIBRATION)


NO_CONVERSATIONS: Final = Conversations()


def apply_conversation(state: Conversations, event: c.Event) -> Conversations:
    """The conversations after `event`; the same object if it changes none."""
    data = event.data
    if isinstance(data, c.ConversationStarted):
        return _with_conversation(state, _started(state.by_id.get(data.conversation), event, data))
    fold = _FOLDS.get(type(data))
    if fold is None or (before := state.by_id.get(data.conversation)) is None:
        return state
    after = fold(before, event, data)
    if after is before:
        return state
    if isinstance(data, c.UsageReported):
        state = _calibrated(state, before, data)
    return _with_conversation(state, replace(after, seq=event.seq))


def _with_conversation(state: Conversations, conversation: Conversation) -> Conversations:
    by_id = {name: each for name, each in state.by_id.items() if name != conversation.id}
    by_id[conversation.id] = conversation
    if len(by_id) > CONVERSATIONS_MAX:
        del by_id[next(iter(by_id))]
    return replace(state, by_id=by_id)


def _started(before: Conversation | None, event: c.Event, data: c.ConversationStarted) -> Conversation:
    if before is None:
        return Conversation(data.conversation, event.vault, event.seq, data, event.seq)
    return replace(before, settings=data, settings_seq=event.seq, seq=event.seq, near_limit=None, ended=False)


def _message(event: c.Event, data: c.MessageData) -> Message:
    return Message(
        data.message,
        data.role,
        event.seq,
        event.time,
        data.text_sha256,
        data.attachments,
        data.tool_calls,
        data.tool_results,
        data.thinking,
    )


def _set_message(before: Conversation, event: c.Event, data: c.MessageData) -> Conversation:
    """Replaces the message with that id, or adds it at the end."""
    messages = {**before.messages, data.message: _message(event, data)}
    if data.message not in before.messages:
        return replace(before, messages=messages)
    turns = {name: each for name, each in before.turns.items() if name != data.message}
    return replace(before, messages=messages, turns=turns)


def _removed(before: Conversation, _event: c.Event, data: c.MessageRemoved) -> Conversation:
    if data.message not in before.messages:
        return before
    ids = list(before.messages)
    at = ids.index(data.message)
    gone = set(ids[at:]) if data.following else {data.message}
    messages = {name: each for name, each in before.messages.items() if name not in gone}

    def remaining(until: MessageId | None) -> MessageId | None:
        """The same end without the removed messages."""
        if until not in gone:
            return until
        return ids[at - 1] if at > 0 and not data.following else None

    summary = before.summary
    if summary is not None and summary.up_to in gone:
        up_to = remaining(summary.up_to)
        summary = replace(summary, up_to=up_to) if up_to is not None else None
    return replace(
        before,
        messages=messages,
        library=tuple(_still_attached(before.library, gone, messages)),
        summary=summary,
        elided_until=remaining(before.elided_until),
        turns={name: each for name, each in before.turns.items() if name not in gone},
        left_out=tuple(each for each in before.left_out if each.message not in gone),
        results_up_to=remaining(before.results_up_to),
    )


def _still_attached(
    library: tuple[c.LibraryEntry, ...], gone: set[MessageId], messages: dict[MessageId, Message]
) -> Iterator[c.LibraryEntry]:
    """The library without entries that only removed messages had attached."""
    first = {each.id: message.id for message in reversed(messages.values()) for each in message.attachments}
    for entry in library:
        if entry.message not in gone:
            yield entry
        elif entry.id in first:
            yield replace(entry, message=first[entry.id])


def library_of(conversation: Conversation, message: MessageId) -> tuple[c.LibraryEntry, ...]:
    """The context library of the turn that begins with `message`: the attachments of earlier turns."""
    if not conversation.library:
        return ()
    earlier = set(messages_before(conversation, message))
    return tuple(entry for entry in conversation.library if entry.message in earlier)


def messages_before(conversation: Conversation, message: MessageId) -> list[MessageId]:
    """The messages before this one; all if it is not there."""
    ids = list(conversation.messages)
    return ids[: ids.index(message)] if message in conversation.messages else ids


def _assembled(before: Conversation, event: c.Event, data: c.PromptAssembled) -> Conversation:
    """Adds a prompt. Only chat prompts use the library."""
    if data.message not in before.messages:
        return before
    is_chat = data.pipeline == "chat"
    shown = library_of(before, turn_of(before, data.message)) if is_chat else ()
    last_chat = before.last_prompt()
    last = last_chat.library if last_chat is not None else ()
    pairs = zip((entry.block_sha256 for entry in shown), last, strict=False)
    blocks_kept = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    prompt = Prompt(
        event.seq,
        data.message,
        data.layer_hashes,
        data.combined_hash,
        data.prefix_tokens,
        data.estimate,
        data.seed_estimate,
        data.limit,
        data.elided,
        data.inputs_sha256,
        data.manifest_sha256,
        data.as_of_seq,
        tuple(entry.block_sha256 for entry in shown),
        blocks=len(shown),
        blocks_kept=blocks_kept,
        tokens_not_kept=sum(entry.tokens for entry in shown[blocks_kept:]),
        pipeline=data.pipeline,
        shape=data.shape,
        repeats_turns=data.turn_sha256 is not None,
    )
    earlier = _remembered(before.prompts, data.pipeline)
    if not is_chat:
        return replace(before, prompts=(*earlier, prompt))
    earlier = tuple(replace(each, library=()) if each.library else each for each in earlier)
    return _sent(replace(before, prompts=(*earlier, prompt)), data.message, data.turn_sha256)


def _sent(before: Conversation, message: MessageId, turn_sha256: str | None) -> Conversation:
    """The conversation with the turn of `message` as it was sent.

    Only the last message's turn: one that the conversation has gone on from is repeated as it was sent before.
    """
    if turn_sha256 is None or message != next(reversed(before.messages)):
        return before
    turn = turn_of(before, message)
    return replace(
        before,
        turns={**before.turns, turn: Sent(turn_sha256)},
        left_out=tuple(each for each in before.left_out if each.message != turn),
    )


def _remembered(prompts: tuple[Prompt, ...], pipeline: c.Pipeline) -> tuple[Prompt, ...]:
    """The prompts with room for one more of that pipeline; prompts of other pipelines stay."""
    same = [each for each in prompts if each.pipeline == pipeline]
    if len(same) < PROMPTS_MAX:
        return prompts
    return tuple(each for each in prompts if each is not same[0])


def turn_of(conversation: Conversation, message: MessageId) -> MessageId:
    """The first message of the turn of `message`: the last user message up to it that is no carrier.

    If there is none, the conversation's first message.
    """
    messages = conversation.messages
    is_up_to = message not in messages
    for each in reversed(messages.values()):  # mostly it is the last one
        is_up_to = is_up_to or each.id == message
        if is_up_to and each.role == "user" and not each.is_carrier:
            return each.id
    return next(iter(messages), message)


def compacted(before: Conversation, data: c.ContextFolded) -> Conversation:
    """The conversation after a compaction, except for the record of its cause."""
    ids = list(before.messages)
    until = _later(ids, before.elided_until, data.up_to)
    gone = set(ids[: ids.index(until) + 1]) if until is not None else set()
    left_out = dict.fromkeys((*before.left_out, *data.left_out))
    return replace(
        before,
        library=data.library,
        elided_until=until,
        turns={name: each for name, each in before.turns.items() if name not in gone},
        left_out=tuple(each for each in left_out if each.message in before.turns and each.message not in gone),
        results_up_to=_later(ids, before.results_up_to, data.results_up_to),
    )


def _later(ids: list[MessageId], one: MessageId | None, two: MessageId | None) -> MessageId | None:
    """The later of two messages; None if there is neither."""
    return max((each for each in (one, two) if each in ids), key=ids.index, default=None)


def _usage(before: Conversation, _event: c.Event, data: c.UsageReported) -> Conversation:
    prompt = _prompt_for(before, data.message)
    if prompt is None:
        return before
    counted = replace(prompt, input_tokens=data.input_tokens, cached_tokens=data.cached_tokens)
    return replace(before, prompts=tuple(counted if each is prompt else each for each in before.prompts))


def _prompt_for(conversation: Conversation, message: MessageId) -> Prompt | None:
    return next((each for each in reversed(conversation.prompts) if each.message == message), None)


def _calibrated(state: Conversations, conversation: Conversation, data: c.UsageReported) -> Conversations:
    """The state with one more calibration sample, taken from a prompt's first usage report."""
    prompt = _prompt_for(conversation, data.message)
    if prompt is None or prompt.input_tokens is not None:
        return state
    counted, estimate = data.input_tokens, prompt.seed_estimate
    if min(counted, estimate) < SAMPLE_TOKENS_MIN:  # too noisy
        return state
    key = model_key(data.provider, data.model)
    known = state.calibrations.get(key, NO_CALIBRATION)
    sample = min(RATIO_MAX, max(RATIO_MIN, counted / estimate))
    ratio = sample if known.samples == 0 else (1 - ALPHA) * known.ratio + ALPHA * sample
    calibrations = {**state.calibrations, key: Calibration(ratio, known.samples + 1)}
    if len(calibrations) > CALIBRATIONS_MAX:
        del calibrations[next(iter(calibrations))]
    return replace(state, calibrations=calibrations)


_NAME_BLOBS: Final = frozenset({"revision", "before", "after", "sha256"})
"""Fields of an artifact or an image with a blob's name, or nothing."""


def blobs_named(value: Any) -> Iterator[str]:
    """The blobs that an event's data, a conversation, or a prompt's inputs name, at any depth."""
    if isinstance(value, msgspec.Struct):
        for name in value.__struct_fields__:
            field_value = getattr(value, name)
            if not isinstance(field_value, str):
                yield from blobs_named(field_value)
            elif field_value and (name in _NAME_BLOBS or name.endswith("_sha256")):
                yield field_value
    elif isinstance(value, tuple | dict):
        for each in value.values() if isinstance(value, dict) else value:
            yield from blobs_named(each)


_FOLDS: Final[dict[type, Callable[[Conversation, c.Event, Any], Conversation]]] = {
    c.MessageAdded: _set_message,
    c.MessageReplaced: _set_message,
    c.MessageRemoved: _removed,
    c.SummarySet: lambda before, _event, data: (
        replace(before, summary=Summary(data.text_sha256, data.up_to)) if data.up_to in before.messages else before
    ),
    c.ContextPinned: lambda before, _event, data: replace(before, pins={**before.pins, data.id: data}),
    c.ContextUnpinned: lambda before, _event, data: (
        replace(before, pins={name: each for name, each in before.pins.items() if name != data.id})
        if data.id in before.pins
        else before
    ),
    c.PromptAssembled: _assembled,
    c.ContextFolded: lambda before, event, data: replace(
        compacted(before, data), folds=(*before.folds, Compaction(event.seq, data.reason))[-PROMPTS_MAX:]
    ),
    c.ContextNearLimit: lambda before, _event, data: replace(before, near_limit=data.up_to),
    c.UsageReported: _usage,
    c.ConversationEnded: lambda before, _event, _data: replace(before, ended=True),
}
CONVERSATION_TYPES: Final = frozenset({c.ConversationStarted, *_FOLDS})
FORGOTTEN: Final = "0" * 64
"""Replaces the name of an erased blob in an event; names no blob."""
