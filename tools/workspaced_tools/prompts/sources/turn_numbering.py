"""Writes results of searches into a prompt, with their sources numbered by the turn.

Numbers run through a turn: first the searches attached to its message, then those of its tools. So a citation in
an answer means the same source in every prompt that shows the turn; a source that its prompt did not show has no
number.
"""

from collections.abc import Collection, Iterable

from msgspec.structs import replace

from workspaced_events.ids import MessageId
from workspaced_events.projections.conversations import Conversation

from ..model.sent_turn import SentPart
from ..model.types import Artifact, Block, ChatMessage, Texts
from .inline_content import searches_of
from .search_block import Numbers, read_search, search_text


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


def written_turn(
    conversation: Conversation,
    turn: MessageId,
    messages: tuple[ChatMessage, ...],
    texts: Texts,
    lost: Collection[str],
    sent: Iterable[SentPart] | None = None,
) -> tuple[ChatMessage, ...]:
    """As `written`, for messages of the turn that begins with `turn`, which numbers the sources.

    Args:
        lost: as in `Turn`.
        sent: the parts of the turn as it was sent, which say what searches it shows.

    Raises:
        NotRecorded, LogDamaged: as `numbered`.
    """
    if not any(_has_search(conversation, message) for message in messages):
        return messages
    if sent is None:
        return written(
            conversation, messages, numbered(searches_of(conversation.messages[turn], texts, lost), texts)
        )
    searches = (part.revision for part in sent if part.form == "search")
    return written(conversation, messages, numbers_of(searches, texts))


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
