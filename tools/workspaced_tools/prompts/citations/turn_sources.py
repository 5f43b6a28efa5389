"""The numbered sources that a turn shows, for renumbering the citations of its answer (renumber.py)."""

from workspaced_events.projections.conversations import Conversation

from ..assembly.history import continuation_of
from ..model.pipelines import PARTS
from ..model.types import Texts, Turn
from ..sources.search_block import Source
from ..sources.turn_numbering import numbered


def sources_of(conversation: Conversation, turn: Turn, texts: Texts) -> tuple[Source, ...]:
    """The catalogue of the turn up to `turn.message`, with the numbers that its prompt shows.

    Raises:
        NotRecorded: a text is not kept.
        LogDamaged: a text of the form `search` is no search.
    """
    numbers = numbered(turn.artifacts, texts)
    if PARTS[turn.policy.pipeline].turn:
        continuation_of(conversation, turn.message, texts, numbers)
    return numbers.sources
