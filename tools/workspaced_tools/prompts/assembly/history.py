"""The trailing history of a prompt: earlier messages, filtered for providers and shortened for want of room.

A *carrier* is a user's message that begins with a tool's result. A *round* is a user's message that is no carrier,
with all messages that follow it; messages before the first round count as a round too.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, takewhile
from typing import Final, NamedTuple

import msgspec
from msgspec.structs import replace

from workspaced_events.ids import MessageId
from workspaced_events.projections.conversations import Conversation, Message, turn_of
from workspaced_events.schema.catalogue import ToolResult

from ...ports.manifest import ManifestEntry
from ..model.blocks import trimmed
from ..model.kept_turns import KeptTurns
from ..model.sent_so_far import SentSoFar, content_of
from ..model.sent_turn import SentPart
from ..model.token_estimate import block_seed
from ..model.turn_window import begins, turns_in, window_of
from ..model.types import Block, ChatMessage, Policy, Texts

NOTE_TOKENS_MAX: Final = 12
"""A tool's result of at most this size is not replaced by a note, so notes themselves are not either."""


class PastTurn(NamedTuple):
    """An earlier turn as prompts carry it."""

    id: MessageId
    """Of its first message."""
    messages: tuple[ChatMessage, ...]
    parts: tuple[SentPart, ...] | None
    """Those of the first message, if it is repeated as it was sent."""
    dropped: tuple[ManifestEntry, ...]
    shortened: tuple[ManifestEntry, ...]


class Past(msgspec.Struct, frozen=True):
    """The earlier messages that a prompt carries, and one entry for each part left out."""

    messages: tuple[ChatMessage, ...]
    dropped: tuple[ManifestEntry, ...]
    summary: str | None = None
    """The text that replaces the messages before `messages`."""
    turns: tuple[PastTurn, ...] = ()
    """Of a transcript: the messages by turns."""


def history_of(
    conversation: Conversation,
    message: MessageId,
    texts: Texts,
    policy: Policy,
    sent_so_far: SentSoFar | None = None,
    kept: KeptTurns | None = None,
) -> Past:
    """The messages before the turn of `message`, oldest first. The history of a compression includes that turn.

    A transcript repeats the turns that `sent_so_far` has with their context, as they were sent; of all others the
    words are left.

    Args:
        message: a message of the conversation.
        sent_so_far: of a transcript.
        kept: from earlier prompts of the transcript.

    Raises:
        NotRecorded: a text is not kept.
    """
    window, kept = window_of(conversation, message, policy), kept or KeptTurns()
    is_transcript, turns = sent_so_far is not None, []
    short = _short_in(conversation, window.messages) if is_transcript else 0
    make = partial(_past_turn, texts)
    for messages in turns_in(window.messages):
        first, old = messages[0], min(short, len(messages))
        parts = sent_so_far.turns.get(first.id) if sent_so_far is not None else None
        turns.append(kept.of("past", first.id, make, tuple(messages), parts, old))
        short -= old
    dropped = list(window.dropped)
    for entries in ("dropped", "shortened"):
        dropped += chain.from_iterable(getattr(turn, entries) for turn in turns)
    shown = tuple(chain.from_iterable(turn.messages for turn in turns))
    summary, text = conversation.summary, None
    if summary is not None and window.is_summed_up:
        text = texts(summary.text_sha256)
    elif summary is not None and not is_transcript:
        dropped.append(_filtered("summary", "summary", "stands for no turn before this one"))
    return Past(shown, tuple(dropped), text, tuple(turns) if is_transcript else ())


def _past_turn(
    texts: Texts, messages: tuple[Message, ...], parts: tuple[SentPart, ...] | None, short: int
) -> PastTurn:
    """A turn with notes instead of the tools' results in its first `short` messages.

    A call and its result are of one turn: a message that brings results never begins one.
    """
    first = messages[0]
    own = content_of(parts) if parts is not None else ()
    repeated = begins(first) and parts is not None
    read = paired(
        ChatMessage("user", own, first.id) if repeated and each is first else _chat(each, texts)
        for each in messages
    )
    whole = read.messages if repeated else (*own_message(own), *read.messages)
    old = {each.id for each in messages[:short]}
    brief = tuple(short_results(each) if each.id in old else each for each in whole) if short else whole
    parts = parts if own and whole and whole[0].content is own else None
    return PastTurn(first.id, brief, parts, read.dropped, tuple(shortenings(whole, brief)))


def own_message(content: tuple[Block, ...], message: MessageId | None = None) -> tuple[ChatMessage, ...]:
    """The user's message with the context and the words of a turn, if there are any.

    `message`: None for a turn that begins without the user's words; its context comes before all else, where it
    stays when the turn goes on.
    """
    return (ChatMessage("user", content, message),) if content else ()


def short_up_to(conversation: Conversation, messages: tuple[ChatMessage, ...]) -> tuple[ChatMessage, ...]:
    """The messages with notes instead of the results of tools that a compaction left out."""
    short = _short_in(conversation, messages)
    return (*map(short_results, messages[:short]), *messages[short:])


def _short_in(conversation: Conversation, messages: Sequence[Message | ChatMessage]) -> int:
    """How many of these messages, in the conversation's order, a compaction left without results of tools."""
    until = conversation.results_up_to
    if until is None or until not in conversation.messages:
        return 0
    old = {until, *takewhile(lambda name: name != until, conversation.messages)}
    return sum(each.id in old for each in messages)


def continuation_of(conversation: Conversation, message: MessageId, texts: Texts) -> Past:
    """The messages of the turn after the user's words, up to `message`: calls and results of tools.

    They are the whole turn if it begins without a user's words.

    Raises:
        NotRecorded: a text is not kept.
    """
    ids = list(conversation.messages)
    turn = turn_of(conversation, message)
    begin = ids.index(turn) + begins(conversation.messages[turn])
    return paired(_chat(conversation.messages[each], texts) for each in ids[begin : ids.index(message) + 1])


# -- rounds --


def rounds(messages: Sequence[ChatMessage]) -> list[int]:
    """The index at which each round begins, the first at 0."""
    starts = [
        at for at, each in enumerate(messages) if each.role == "user" and each.content[0].type != "toolResult"
    ]
    return starts if not messages or starts[:1] == [0] else [0, *starts]


def last_rounds(messages: Sequence[ChatMessage], count: int) -> int:
    """The index at which the last `count` rounds begin; 0 if there are no more than `count`."""
    starts = rounds(messages)
    if count == 0:
        return len(messages)
    return starts[-count] if len(starts) >= count else 0


# -- filters --


def _chat(message: Message, texts: Texts) -> ChatMessage:
    """The whole content of the message in the order that providers require."""
    text = trimmed(texts(message.text_sha256)) if message.text_sha256 is not None else ""
    blocks = [
        Block("toolResult", texts(each.text_sha256), each.id, each.name, each.is_error, images=_images(each))
        for each in message.tool_results
    ]
    blocks += [
        Block("thinking", texts(each.text_sha256), signature=each.signature, redacted=each.redacted)
        for each in message.thinking
    ]
    blocks += [Block("text", text)] if text else []
    blocks += [Block("toolCall", texts(each.arguments_sha256), each.id, each.name) for each in message.tool_calls]
    return ChatMessage(message.role, tuple(blocks), message.id)


def _images(result: ToolResult) -> tuple[Block, ...]:
    return tuple(Block("image", blob=each.sha256, media_type=each.media_type) for each in result.images)


def paired(messages: Iterable[ChatMessage]) -> Past:
    """The messages without blocks that a provider would refuse.

    A tool's call stays if the user's messages after it have its result; a result stays if one of the assistant's
    messages directly before has its call; of several with one id the first stays. Thinking stays if it is the
    assistant's, and signed or redacted. Messages that are then empty go. Other messages stay unchanged.
    """
    kept: list[ChatMessage] = []
    dropped: list[ManifestEntry] = []
    for asking, answering in _exchanges(messages):
        calls = {block.id for each in asking for block in each.content if block.type == "toolCall"}
        answered = calls & {block.id for each in answering for block in each.content if block.type == "toolResult"}
        _keep(asking, "toolCall", answered, kept, dropped)
        _keep(answering, "toolResult", answered, kept, dropped)
    return Past(tuple(kept), tuple(dropped))


def _exchanges(messages: Iterable[ChatMessage]) -> Iterator[tuple[list[ChatMessage], list[ChatMessage]]]:
    """The assistant's messages in a row, and the user's message after them, with all those that go on with nothing
    but results."""
    asking: list[ChatMessage] = []
    answering: list[ChatMessage] = []
    for message in messages:
        if answering and not (_brings_only_results(message) and _brings_only_results(answering[-1])):
            yield asking, answering
            asking, answering = [], []
        (asking if message.role == "assistant" else answering).append(message)
    yield asking, answering


def _brings_only_results(message: ChatMessage) -> bool:
    return message.role == "user" and all(block.type == "toolResult" for block in message.content)


def _keep(
    messages: Iterable[ChatMessage],
    allowed: str,
    answered: set[str | None],
    kept: list[ChatMessage],
    dropped: list[ManifestEntry],
) -> None:
    """Adds the messages with their allowed blocks to `kept`; those of type `allowed` must be `answered`, once."""
    left = set(answered)
    for message in messages:
        content = []
        for at, block in enumerate(message.content):
            if (why := _objection(block, allowed, left)) is None:
                content.append(block)
                left.discard(block.id)
            else:
                dropped.append(_filtered(f"{message.id}#{at}", _KINDS[block.type], why))
        if all(block.type == "thinking" for block in content):
            dropped.append(_filtered(str(message.id), "message", "says nothing"))
        else:
            kept.append(
                message if len(content) == len(message.content) else replace(message, content=tuple(content))
            )


_KINDS: Final = {"toolCall": "tool_call", "toolResult": "tool_result", "thinking": "thinking"}


def _objection(block: Block, allowed: str, left: set[str | None]) -> str | None:
    if block.type == "thinking":
        return (
            None
            if (block.signature or block.redacted) and allowed == "toolCall"
            else "without the assistant's signature"
        )
    if block.type in {"toolCall", "toolResult"}:
        return None if block.type == allowed and block.id in left else f"{block.name} {block.id}: unpaired"
    return None


# -- shortening --


def short_results(message: ChatMessage) -> ChatMessage:
    """Replaces the text of each tool result longer than NOTE_TOKENS_MAX by a note; calls keep their results."""
    return replace(message, content=tuple(map(_short_result, message.content)))


def _short_result(block: Block) -> Block:
    if block.type != "toolResult" or block.text is None:
        return block
    tokens = block_seed(replace(block, name=None))
    if tokens <= NOTE_TOKENS_MAX:
        return block
    return replace(block, text=f"[tool result elided - {tokens} tokens]", images=())


def shortenings(before: Iterable[ChatMessage], after: Iterable[ChatMessage]) -> list[ManifestEntry]:
    """An entry for each block that differs in `after`, which has the same messages and blocks."""
    found = []
    for one, other in zip(before, after, strict=True):
        for at, (was, now) in enumerate(zip(one.content, other.content, strict=True)):
            if was is not now and was != now:
                kind = _KINDS.get(was.type, was.type)
                found.append(
                    ManifestEntry(
                        "L4_STRIP", f"{one.id}/{was.id or at}", kind, "elided", "budget", detail=now.text
                    )
                )
    return found


def _filtered(id: str, kind: str, detail: str) -> ManifestEntry:  # noqa: A002
    return ManifestEntry("L4_STRIP", id, kind, "dropped", "filtered", detail=detail)
