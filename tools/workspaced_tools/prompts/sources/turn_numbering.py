"""Writes results of searches into a prompt, with their sources numbered by the turn.

Numbers run through a turn: first the searches attached to its message, then those of its tools. So a citation in
an answer means the same source in every prompt that shows the turn; a source that its prompt did not show has no
number.
"""

from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType
from typing import Final

from msgspec.structs import replace

from workspaced_events.ids import MessageId
from workspaced_events.projections.conversations import Conversation

from ..model.sent_turn import SentTurn
from ..model.turn_window import begins
from ..model.types import Artifact, Block, ChatMessage, Texts
from .inline_content import searches_of
from .search_block import Numbers, read_search, search_text

NOTHING_SENT: Final[Mapping[MessageId, SentTurn]] = MappingProxyType({})


def numbered(artifacts: Iterable[Artifact], texts: Texts) -> Numbers:
    """Numbers the sources of the artifacts in their order; artifacts that could not be read add none.

    Raises:
        NotRecorded: a text is not kept.
        LogDamaged: a text of the form `search` is no search.
    """
    searches = (each.revision for each in artifacts if each.form == "search" and each.failed is None)
    return numbers_of(searches, texts)


def numbers_of(searches: Iterable[str], texts: Texts) -> Numbers:
    """As `numbered`, of the blobs of searches."""
    numbers = Numbers()
    for search in searches:
        for document in read_search(texts(search)).documents:
            numbers.of(document)
    return numbers


def written(
    conversation: Conversation, messages: Iterable[ChatMessage], numbers: Numbers
) -> tuple[ChatMessage, ...]:
    """Messages of one turn, with results of searches as the model reads them; adds their sources to `numbers`.

    Raises:
        LogDamaged: a result of the form `search` is no search.
    """
    return tuple(_written(each, conversation, numbers) for each in messages)


def written_by_turns(
    conversation: Conversation,
    messages: tuple[ChatMessage, ...],
    texts: Texts,
    lost: Collection[str],
    sent: Mapping[MessageId, SentTurn] = NOTHING_SENT,
) -> tuple[ChatMessage, ...]:
    """As `written`, for messages of several turns, each with its own numbers.

    Args:
        lost: as in `Turn`.
        sent: turns as they were sent, which say what searches they show.

    Raises:
        NotRecorded, LogDamaged: as `numbered`.
    """
    if not any(_has_search(conversation, message) for message in messages):
        return messages
    turns = _turns(conversation)
    numbers: dict[MessageId, Numbers] = {}
    found = []
    for message in messages:
        if _has_search(conversation, message):
            turn = turns[MessageId(message.id or "")]
            if turn not in numbers:
                numbers[turn] = (
                    numbers_of((part.revision for part in sent[turn].parts if part.form == "search"), texts)
                    if turn in sent
                    else numbered(searches_of(conversation.messages[turn], texts, lost), texts)
                )
            message = _written(message, conversation, numbers[turn])
        found.append(message)
    return tuple(found)


def _turns(conversation: Conversation) -> dict[MessageId, MessageId]:
    """Maps each message to the first message of its turn."""
    turns: dict[MessageId, MessageId] = {}
    turn = next(iter(conversation.messages))
    for message in conversation.messages.values():
        turn = message.id if begins(message) else turn
        turns[message.id] = turn
    return turns


def _has_search(conversation: Conversation, message: ChatMessage) -> bool:
    results = conversation.messages[MessageId(message.id or "")].tool_results
    return any(result.form == "search" for result in results)


def _written(message: ChatMessage, conversation: Conversation, numbers: Numbers) -> ChatMessage:
    if not _has_search(conversation, message):
        return message
    results = conversation.messages[MessageId(message.id or "")].tool_results
    forms = {each.id: each.form for each in reversed(results)}  # the first of several with one id wins

    def shown(block: Block) -> Block:
        if block.type != "toolResult" or forms.get(block.id or "") != "search":
            return block
        return replace(block, text=search_text(read_search(block.text or ""), numbers))

    return replace(message, content=tuple(map(shown, message.content)))
