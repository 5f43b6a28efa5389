"""The contexts in what `transform` gives out, each up to the label of the words behind it."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from hashlib import sha256
from itertools import groupby
from typing import Any, Final

from workspaced_events.ids import MessageId
from workspaced_events.projections.conversations import Conversation, Message
from workspaced_tools.errors import NotRecorded
from workspaced_tools.prompts.model.blocks import BLANK_LINE, QUERY_FRAME, trimmed
from workspaced_tools.prompts.model.sent_turn import SentPart
from workspaced_tools.prompts.model.standing import content_of, lost_turns, read_turn, sent_before, standing_before
from workspaced_tools.prompts.model.types import Texts

_WORDLESS: Final = (None, sha256(b"").hexdigest())


def sent_text(turn_sha256: str, texts: Texts) -> str:
    """The text of a turn's message as it was sent.

    Raises:
        NotRecorded, LogDamaged: as `read_turn`.
    """
    return _text_of(read_turn(turn_sha256, texts).parts)


def _text_of(parts: Iterable[SentPart]) -> str:
    return BLANK_LINE.join(block.text for block in content_of(parts) if block.text is not None)


def contexts_of(conversation: Conversation, texts: Texts) -> Iterator[str]:
    """The contexts of the turns that stand: as they were sent, and as prompts repeat them since parts left."""
    end = MessageId("")
    sent = sent_before(conversation, end, texts, lost_turns(conversation, end, texts))
    standing = standing_before(conversation, end, sent)
    for name, turn in sent.items():
        with suppress(NotRecorded):
            words = _words([conversation.messages[name]], texts)
            for parts in (turn.parts, standing.turns[name]):
                yield from contexts_in(_text_of(parts), words)


def new_contexts(
    messages: Iterable[Any], conversation: Conversation, texts: Texts, is_new: Callable[[str], bool]
) -> Iterator[str]:
    """The contexts in the messages of the user that are given out and new. Reads the words of no others.

    Messages of the user in a row are given out as one. A fold takes the first ones, so the last ones are paired
    first.
    """
    by_role = groupby(conversation.messages.values(), key=lambda message: message.role)
    runs = [[each for each in run if each.text_sha256 not in _WORDLESS] for role, run in by_role if role == "user"]
    for text, run in zip(reversed([*_spoken(messages)]), reversed([run for run in runs if run]), strict=False):
        with suppress(NotRecorded):
            if is_new(text):
                yield from contexts_in(text, _words(run, texts))


def contexts_in(text: str, words: Sequence[str]) -> Iterator[str]:
    """The contexts in a text that holds these words, in order."""
    at = 0
    for each in words:
        if text.startswith(each, at) and text[at + len(each) : at + len(each) + len(BLANK_LINE)] in (
            "",
            BLANK_LINE,
        ):
            at += len(each) + len(BLANK_LINE)
            continue
        frame = text.find(f"{QUERY_FRAME}{BLANK_LINE}{each}", at)
        if frame < 0:
            return
        end = frame + len(QUERY_FRAME)
        yield text[at:end]
        at = end + len(BLANK_LINE) + len(each) + len(BLANK_LINE)


def _words(messages: Iterable[Message], texts: Texts) -> list[str]:
    found = (trimmed(texts(each.text_sha256)) for each in messages if each.text_sha256 is not None)
    return [text for text in found if text]


def _spoken(messages: Iterable[Any]) -> Iterator[str]:
    """The text of each message of the user, in any form."""
    for message in messages:
        if message.get("role") != "user":
            continue
        content = message.get("content", message.get("parts"))
        blocks = [{"text": content}] if isinstance(content, str) else content or []
        text = BLANK_LINE.join(block["text"] for block in blocks if isinstance(block.get("text"), str))
        if text:
            yield text
