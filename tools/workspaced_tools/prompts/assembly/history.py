"""What was said before, as a prompt carries it: filtered so that providers take it, cut where room was short.

A *carrier* is a user's message that begins with a tool's result; a *round* is a user's message that is no carrier,
and what follows it. What stands before the first is a round as well.

Of a turn's context only the bodies of its skills stay: they say how to do what was asked, then and later. They are
part of their message, before the words, in the bytes that the turn had.

What a prompt has shortened stays shortened in later ones, or else their provider's cache would be lost twice. That
needs no record of its own: a prompt's `elided` counts what it was the first to leave out, and what it left out was
*all* that is older than its last rounds; so the newest prompt that left anything out says up to where. Once that
one is remembered no more (conversation.PROMPTS_MAX) the question is open again: without room for them the same
results go, and those that have become old since; with room they come back, and the cache is lost once in so many
prompts.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import Final, NamedTuple

import msgspec
from msgspec.structs import replace

from workspaced_events.ids import MessageId
from workspaced_events.projections.conversations import Conversation, Message, turn_of

from ...ports.manifest import ManifestEntry
from ..model.blocks import BLANK_LINE, block_or_placeholder, trimmed
from ..model.token_estimator import seed_tokens
from ..model.turn_window import begins, start_of_last, window_of
from ..model.types import Artifact, Block, ChatMessage, Policy, Texts
from ..sources.inline_content import skills_of
from ..sources.search_block import Numbers
from ..sources.turn_numbering import written, written_by_turns

IMAGE_ELIDED: Final = "[image elided]"
NOTE_TOKENS_MAX: Final = 12
"""A tool's result of no more is not worth a note, and no note is shortened again."""
POLICY: Final = Policy()
KEEP_ROUNDS: Final = POLICY.keep_rounds


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
    conversation: Conversation,
    message: MessageId,
    texts: Texts,
    policy: Policy = POLICY,
    lost: Collection[str] = (),
) -> Past:
    """What was said before the turn of `message`, oldest first, without its context; of a compression also that
    turn.

    Args:
        message: one of the conversation's.
        lost: as in `Turn`.

    Raises:
        NotRecorded: a text is not kept.
    """
    window = window_of(conversation, message, policy)
    skills = _skills(window.messages, texts, lost) if policy.skills_stay else {}
    spoken = [each for each in window.messages if each.role != "system"]
    read = paired(_chat(each, texts, skills.get(each.id, ())) for each in spoken)
    systems = [_filtered(each.id, "message", "system role") for each in window.messages if each.role == "system"]
    failed = [_failed(each) for given in skills.values() for each in given if each.failed is not None]
    dropped = [*window.dropped, *systems, *read.dropped, *failed]
    shown = written_by_turns(conversation, read.messages, texts, lost)
    messages = shown
    if policy.pipeline != "compression":
        ids = list(conversation.messages)[: window.turn + 1]
        old = _shortened(conversation, ids, shown, policy.keep_rounds)
        messages = (*map(short_results, shown[:old]), *shown[old:])
        dropped += shortenings(shown, messages)
    if (summary := conversation.summary) is None:
        return Past(messages, tuple(dropped))
    if window.is_summed_up:
        return Past(messages, tuple(dropped), texts(summary.text_sha256))
    return Past(messages, (*dropped, _filtered("summary", "summary", "stands for no turn before this one")))


def continuation_of(
    conversation: Conversation, message: MessageId, texts: Texts, numbers: Numbers | None = None
) -> Past:
    """What follows the user's words that the turn of `message` begins with, up to it: tools' calls and results.

    Of a turn that begins with no words of a user's it is all. `numbers` are those of the sources that the turn
    shows before; they go on here.

    Raises:
        NotRecorded: a text is not kept.
    """
    ids = list(conversation.messages)
    turn = turn_of(conversation, message)
    begin = ids.index(turn) + begins(conversation.messages[turn])
    since = [conversation.messages[each] for each in ids[begin : ids.index(message) + 1]]
    read = paired(_chat(each, texts) for each in since if each.role != "system")
    systems = [_filtered(each.id, "message", "system role") for each in since if each.role == "system"]
    shown = written(conversation, read.messages, numbers if numbers is not None else Numbers())
    return Past(shown, (*systems, *read.dropped))


def _skills(
    messages: Iterable[Message], texts: Texts, lost: Collection[str]
) -> dict[MessageId, tuple[Artifact, ...]]:
    """Of each message that begins a turn the skills that it was given, which belong to what it says."""
    return {each.id: skills_of(each, texts, lost) for each in messages if begins(each) and each.attachments}


# -- rounds --


def rounds(messages: Sequence[ChatMessage]) -> list[int]:
    """Where each round begins, the first at 0."""
    starts = [
        at for at, each in enumerate(messages) if each.role == "user" and each.content[0].type != "toolResult"
    ]
    return starts if not messages or starts[:1] == [0] else [0, *starts]


def last_rounds(messages: Sequence[ChatMessage], count: int) -> int:
    """Where the last `count` rounds begin; 0 where there are no more."""
    return start_of_last(rounds(messages), count, len(messages))


# -- filters --


def _chat(message: Message, texts: Texts, skills: Iterable[Artifact] = ()) -> ChatMessage:
    """All that the message says, in the order that providers want; before its words its skills."""
    words = trimmed(texts(message.text_sha256)) if message.text_sha256 is not None else ""
    said = BLANK_LINE.join(filter(None, (*(block_or_placeholder(each, texts) for each in skills), words)))
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
        if prompt.pipeline == "chat" and prompt.elided and prompt.message in conversation.messages:
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


def _filtered(id: str, kind: str, detail: str) -> ManifestEntry:  # noqa: A002
    return ManifestEntry("L4_STRIP", id, kind, "dropped", "filtered", detail=detail)


def _failed(skill: Artifact) -> ManifestEntry:
    return ManifestEntry("L4_STRIP", skill.id, skill.kind, "failed", "history", detail=skill.failed)
