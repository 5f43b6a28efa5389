"""What was said before, as a prompt carries it: filtered so that providers take it, cut where room was short.

A *carrier* is a user's message that begins with a tool's result; a *round* is a user's message that is no carrier,
and what follows it. What stands before the first is a round as well.

What a prompt has shortened stays shortened in later ones, or else their provider's cache would be lost twice. That
needs no record of its own: a prompt's `elided` counts what it was the first to leave out, and what it left out was
*all* that is older than its last rounds; so the newest prompt that left anything out says up to where. Once that
one is remembered no more (conversation.PROMPTS_MAX) the question is open again: without room for them the same
results go, and those that have become old since; with room they come back, and the cache is lost once in so many
prompts.
"""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import msgspec
from msgspec.structs import replace

from workspaced_events.conversation import Conversation, Message, turn_of
from workspaced_events.ids import MessageId

from .estimate import seed_tokens
from .model import Block, ChatMessage, ManifestEntry, Policy, Texts

SPACE: Final = " \t\r\n"
"""What is trimmed: these four, and not what else a language may call white."""
IMAGE_ELIDED: Final = "[image elided]"
NOTE_TOKENS_MAX: Final = 12
"""A tool's result of no more is not worth a note, and no note is shortened again."""
KEEP_ROUNDS: Final = Policy().keep_rounds


class Past(msgspec.Struct, frozen=True):
    """What a prompt carries of earlier messages, and one record of each thing that it does not."""

    messages: tuple[ChatMessage, ...]
    dropped: tuple[ManifestEntry, ...]
    summary: str | None = None
    """Stands for what was said before them."""


class Paired(NamedTuple):
    messages: tuple[ChatMessage, ...]
    dropped: tuple[ManifestEntry, ...]


def history_of(
    conversation: Conversation, message: MessageId, texts: Texts, keep_rounds: int = KEEP_ROUNDS
) -> Past:
    """What was said before the turn of `message`, oldest first, without its context.

    Args:
        message: one of the conversation's.
        keep_rounds: as in `Policy`: of the last so many nothing is left out for want of room, even if it once was
            and they are the last only since others were removed.

    Raises:
        NotRecorded: a text is not kept.
    """
    ids = list(conversation.messages)
    turn = ids.index(turn_of(conversation, message))
    before = [conversation.messages[each] for each in ids[:turn]]
    summarised = _summarised(conversation, ids, message)
    start = max(summarised, min(_elided(conversation, ids), _last_rounds(before, keep_rounds)))
    left_out = [
        _entry(each.id, "message", "summary" if at < summarised else "budget")
        for at, each in enumerate(before[:start])
    ]
    read = paired(_chat(each, texts) for each in before[start:] if each.role != "system")
    systems = [
        _entry(each.id, "message", "filtered", "system role") for each in before[start:] if each.role == "system"
    ]
    old = _shortened(conversation, ids[: turn + 1], read.messages, keep_rounds)
    messages = (*map(short_results, read.messages[:old]), *read.messages[old:])
    dropped = [*left_out, *systems, *read.dropped, *shortenings(read.messages, messages)]
    if (summary := conversation.summary) is None:
        return Past(messages, tuple(dropped))
    if summarised:
        return Past(messages, tuple(dropped), texts(summary.text_sha256))
    return Past(
        messages, (*dropped, _entry("summary", "summary", "filtered", "stands for no turn before this one"))
    )


def continuation_of(conversation: Conversation, message: MessageId, texts: Texts) -> Past:
    """What follows the user's words that the turn of `message` begins with, up to it: tools' calls and results.

    Of a turn that begins with no words of a user's it is all.

    Raises:
        NotRecorded: a text is not kept.
    """
    ids = list(conversation.messages)
    turn = turn_of(conversation, message)
    begin = ids.index(turn) + _begins(conversation.messages[turn])
    since = [conversation.messages[each] for each in ids[begin : ids.index(message) + 1]]
    read = paired(_chat(each, texts) for each in since if each.role != "system")
    systems = [_entry(each.id, "message", "filtered", "system role") for each in since if each.role == "system"]
    return Past(read.messages, (*systems, *read.dropped))


# -- from where on --


def _summarised(conversation: Conversation, ids: Sequence[MessageId], message: MessageId) -> int:
    """How many messages the summary stands for: whole turns, none where it tells of what comes after `message`."""
    if (summary := conversation.summary) is None or summary.up_to not in conversation.messages:
        return 0
    end = ids.index(summary.up_to) + 1
    if end > ids.index(message) + 1:
        return 0
    spoken = (conversation.messages[each] for each in ids[end:])
    following = next((each for each in spoken if each.role != "system"), None)
    if following is None or _begins(following):
        return min(end, ids.index(turn_of(conversation, message)))
    return ids.index(turn_of(conversation, summary.up_to))


def _elided(conversation: Conversation, ids: Sequence[MessageId]) -> int:
    until = conversation.elided_until
    return ids.index(until) + 1 if until in conversation.messages else 0


def _begins(message: Message) -> bool:
    return message.role == "user" and not message.is_carrier


def _last_rounds(messages: Sequence[Message], count: int) -> int:
    starts = [at for at, each in enumerate(messages) if _begins(each)]
    return _start_of_last(starts, count, len(messages))


def _start_of_last(starts: Sequence[int], count: int, end: int) -> int:
    if count == 0:
        return end
    return starts[-count] if len(starts) >= count else 0


def rounds(messages: Sequence[ChatMessage]) -> list[int]:
    """Where each round begins, the first at 0."""
    begins = [
        at for at, each in enumerate(messages) if each.role == "user" and each.content[0].type != "toolResult"
    ]
    return begins if not messages or begins[:1] == [0] else [0, *begins]


def last_rounds(messages: Sequence[ChatMessage], count: int) -> int:
    """Where the last `count` rounds begin; 0 where there are no more."""
    return _start_of_last(rounds(messages), count, len(messages))


# -- filters --


def _chat(message: Message, texts: Texts) -> ChatMessage:
    """All that the message says, in the order that providers want."""
    said = texts(message.text_sha256).strip(SPACE) if message.text_sha256 is not None else ""
    blocks = [
        Block("toolResult", texts(each.text_sha256), each.id, each.name, each.is_error)
        for each in message.tool_results
    ]
    blocks += [Block("thinking", texts(each.text_sha256), signature=each.signature) for each in message.thinking]
    blocks += [Block("text", said)] if said else []
    blocks += [Block("toolCall", texts(each.arguments_sha256), each.id, each.name) for each in message.tool_calls]
    return ChatMessage("assistant" if message.role == "assistant" else "user", tuple(blocks), message.id)


def paired(messages: Iterable[ChatMessage]) -> Paired:
    """The messages without what a provider would refuse.

    A tool's call stays if the next user's message brings its result, a result if one of the assistant's messages
    just before called for it; of several with one id the first. Thinking stays if it is the assistant's and is
    signed. Messages that then say nothing go. What is left passes unchanged.
    """
    kept: list[ChatMessage] = []
    dropped: list[ManifestEntry] = []
    waiting: list[ChatMessage] = []
    for message in messages:
        if message.role == "assistant":
            waiting.append(message)
            continue
        calls = {block.id for each in waiting for block in each.content if block.type == "toolCall"}
        answered = calls & {block.id for block in message.content if block.type == "toolResult"}
        _keep(waiting, "toolCall", answered, kept, dropped)
        _keep([message], "toolResult", answered, kept, dropped)
        waiting.clear()
    _keep(waiting, "toolCall", set(), kept, dropped)
    return Paired(tuple(kept), tuple(dropped))


def _keep(
    messages: Iterable[ChatMessage],
    allowed: str,
    answered: set[str | None],
    kept: list[ChatMessage],
    dropped: list[ManifestEntry],
) -> None:
    """Of each message the blocks that may stay; of `allowed`, which is paired, those `answered`, each once."""
    left = set(answered)
    for message in messages:
        content = []
        for at, block in enumerate(message.content):
            if (why := _objection(block, allowed, left)) is None:
                content.append(block)
                left.discard(block.id)
            else:
                dropped.append(_entry(f"{message.id}#{at}", _KINDS[block.type], "filtered", why))
        if all(block.type == "thinking" for block in content):
            dropped.append(_entry(str(message.id), "message", "filtered", "says nothing"))
        else:
            kept.append(
                message if len(content) == len(message.content) else replace(message, content=tuple(content))
            )


_KINDS: Final = {"toolCall": "tool_call", "toolResult": "tool_result", "thinking": "thinking"}


def _objection(block: Block, allowed: str, left: set[str | None]) -> str | None:
    if block.type == "thinking":
        return None if block.signature and allowed == "toolCall" else "without the assistant's signature"
    if block.type in {"toolCall", "toolResult"}:
        return None if block.type == allowed and block.id in left else f"{block.name} {block.id}: unpaired"
    return None


# -- shortening --


def _shortened(
    conversation: Conversation, ids: Sequence[MessageId], history: Sequence[ChatMessage], keep_rounds: int
) -> int:
    """How many messages of `history` earlier prompts have shortened; `ids` go up to the present turn's first."""
    at = {each: index for index, each in enumerate(ids)}
    for prompt in reversed(conversation.prompts):
        if prompt.elided and prompt.message in conversation.messages:
            turn = at.get(turn_of(conversation, prompt.message))
            if turn is not None:
                then = [each for each in history if each.id is not None and at[each.id] < turn]
                return last_rounds(then, keep_rounds)
    return 0


def short_results(message: ChatMessage) -> ChatMessage:
    """With a note instead of each tool result that is longer than such notes are; calls keep their results."""
    return replace(message, content=tuple(map(_short_result, message.content)))


def short_images(message: ChatMessage) -> ChatMessage:
    """With a note instead of each image."""
    content = (Block("text", IMAGE_ELIDED) if block.type == "image" else block for block in message.content)
    return replace(message, content=tuple(content))


def _short_result(block: Block) -> Block:
    if block.type != "toolResult" or block.text is None:
        return block
    tokens = seed_tokens(block.text)
    return replace(block, text=f"[tool result elided - {tokens} tokens]") if tokens > NOTE_TOKENS_MAX else block


def shortenings(before: Iterable[ChatMessage], after: Iterable[ChatMessage]) -> list[ManifestEntry]:
    """A record of each block that is another one in `after`, which has the same messages."""
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


def _entry(id: str, kind: str, why: str, detail: str | None = None) -> ManifestEntry:  # noqa: A002
    return ManifestEntry("L4_STRIP", id, kind, "dropped", why, detail=detail)
