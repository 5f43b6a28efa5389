"""The window of earlier messages that a prompt carries, in whole turns.

Of a chat only compactions leave messages out. A compression carries all that its summary will cover and the last
one does not, also what compactions left out.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from workspaced_events.ids import MessageId
from workspaced_events.projections.conversations import Conversation, Message, turn_of

from ...ports.manifest import ManifestEntry
from .types import Policy


class Window(NamedTuple):
    messages: tuple[Message, ...]
    """The carried messages, oldest first."""
    dropped: tuple[ManifestEntry, ...]
    """One entry for each other message up to the prompt's."""
    is_summed_up: bool
    """Whether the conversation's summary covers the first dropped messages."""


def window_of(conversation: Conversation, message: MessageId, policy: Policy) -> Window:
    """The messages in the history of the prompt up to `message`."""
    ids = list(conversation.messages)
    is_compression = policy.pipeline == "compression"
    end_of = _end_of_whole_turns if is_compression else _start_of_turn
    end = end_of(conversation, ids, message)
    every = list(conversation.messages.values())
    covered = _summed_up(conversation, ids, message, end)
    until = conversation.elided_until
    elided = ids.index(until) + 1 if until in conversation.messages else 0
    start = covered if is_compression else min(end, elided)
    dropped = [left_out(each.id, "summary" if at < covered else "fold") for at, each in enumerate(every[:start])]
    if is_compression:
        dropped += (left_out(each.id, "pipeline") for each in every[end : ids.index(message) + 1])
    return Window(tuple(every[start:end]), tuple(dropped), covered > 0)


def left_out(message: MessageId, why: str) -> ManifestEntry:
    return ManifestEntry("L4_STRIP", message, "message", "dropped", why)


def begins(message: Message) -> bool:
    """Whether a turn begins with this message."""
    return message.role == "user" and not message.is_carrier


def end_of_previous(roles: Sequence[str]) -> int:
    """The number of messages that the request before had: those before the last answers of the assistant."""
    at = len(roles)
    while at and roles[at - 1] == "user":
        at -= 1
    while at and roles[at - 1] == "assistant":
        at -= 1
    return at


def turns_in(messages: Iterable[Message]) -> list[list[Message]]:
    """The messages by turns; those before the first message that begins one are a turn too."""
    turns: list[list[Message]] = []
    for message in messages:
        if begins(message) or not turns:
            turns.append([])
        turns[-1].append(message)
    return turns


def summed_up(conversation: Conversation, message: MessageId) -> int:
    """The number of messages before the turn of `message` for which the conversation's summary stands."""
    ids = list(conversation.messages)
    return _summed_up(conversation, ids, message, _start_of_turn(conversation, ids, message))


def _start_of_turn(conversation: Conversation, ids: Sequence[MessageId], message: MessageId) -> int:
    return ids.index(turn_of(conversation, message))


def _end_of_whole_turns(conversation: Conversation, ids: Sequence[MessageId], message: MessageId) -> int:
    """The number of messages in the whole turns up to `message`: those that a summary up to `message` covers."""
    end = ids.index(message) + 1
    is_whole = end == len(ids) or begins(conversation.messages[ids[end]])
    return end if is_whole else _start_of_turn(conversation, ids, message)


def _summed_up(conversation: Conversation, ids: Sequence[MessageId], message: MessageId, end: int) -> int:
    """The number of messages in whole turns that the summary covers; 0 if the summary goes beyond `message`."""
    if (summary := conversation.summary) is None or summary.up_to not in conversation.messages:
        return 0
    if ids.index(summary.up_to) > ids.index(message):
        return 0
    return min(end, _end_of_whole_turns(conversation, ids, summary.up_to))
