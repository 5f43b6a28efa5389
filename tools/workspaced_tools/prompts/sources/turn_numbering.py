"""Results of searches as a prompt shows them: written from what was found, their sources numbered by the turn.

Numbers run through a turn, first what its message was given, then what its tools found. So an answer that cites a
source means the same one whenever the turn is shown; what its prompt did not show has no number.
"""

from collections.abc import Collection, Iterable

from msgspec.structs import replace

from workspaced_events.ids import MessageId
from workspaced_events.projections.conversations import Conversation

from ..model.turn_window import begins
from ..model.types import Artifact, Block, ChatMessage, Texts
from .inline_content import searches_of
from .search_block import Numbers, read_search, search_text


def numbered(artifacts: Iterable[Artifact], texts: Texts) -> Numbers:
    """The numbers of the sources that these have, in their order; what could not be read has none.

    Raises:
        NotRecorded: a text is not kept.
        LogDamaged: one is no search.
    """
    numbers = Numbers()
    for artifact in artifacts:
        if artifact.form == "search" and artifact.failed is None:
            for document in read_search(texts(artifact.revision)).documents:
                numbers.of(document)
    return numbers


def written(
    conversation: Conversation, messages: Iterable[ChatMessage], numbers: Numbers
) -> tuple[ChatMessage, ...]:
    """Messages of one turn, with what searches found as the model is to read it; `numbers` goes on.

    Raises:
        LogDamaged: what is said to be a search is none.
    """
    return tuple(_written(each, conversation, numbers) for each in messages)


def written_by_turns(
    conversation: Conversation, messages: tuple[ChatMessage, ...], texts: Texts, lost: Collection[str]
) -> tuple[ChatMessage, ...]:
    """The same for messages of several turns, each with numbers of its own. `lost`: as in `Turn`.

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
                numbers[turn] = numbered(searches_of(conversation.messages[turn], texts, lost), texts)
            message = _written(message, conversation, numbers[turn])
        found.append(message)
    return tuple(found)


def _turns(conversation: Conversation) -> dict[MessageId, MessageId]:
    """Of each message the one that its turn begins with."""
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
    forms = {each.id: each.form for each in reversed(results)}  # of several with one id the first is shown

    def shown(block: Block) -> Block:
        if block.type != "toolResult" or forms.get(block.id or "") != "search":
            return block
        return replace(block, text=search_text(read_search(block.text or ""), numbers))

    return replace(message, content=tuple(map(shown, message.content)))
