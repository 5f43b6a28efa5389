"""The window of earlier messages that a prompt carries, in whole turns.

Three limits move the start of the window, and the latest start wins: the messages that the summary covers, the
messages that an earlier prompt left out for want of room, and `Policy.history_turns`. The last one moves in steps
of that many turns: a window that moved with every turn would cost as much as no cache.

A compression carries every message that its summary will cover, except those that the last summary covers. It also
carries messages that prompts had no room for: no summary covers them yet.
"""

from collections.abc import Sequence
from typing import NamedTuple

from workspaced_events.ids import MessageId
from workspaced_events.projections.conversations import Conversation, Message, turn_of

from ...ports.manifest import ManifestEntry
from .types import Policy


class Window(NamedTuple):
    messages: tuple[Message, ...]
    """The carried messages, oldest first."""
    turn: int
    """The number of messages before the prompt's turn; for a compression, of the whole turns up to its message."""
    dropped: tuple[ManifestEntry, ...]
    """One entry for each other message up to the prompt's."""
    is_summed_up: bool
    """Whether the conversation's summary covers the first dropped messages."""


def window_of(conversation: Conversation, message: MessageId, policy: Policy) -> Window:
    """The messages in the history of the prompt up to `message`.

    Nothing of the last `policy.keep_rounds` rounds is left out for want of room. That holds too if an earlier
    prompt left it out and these rounds became the last ones when others were removed. In a transcript only folds
    leave messages out.
    """
    ids = list(conversation.messages)
    is_compression = policy.pipeline == "compression"
    end_of = _end_of_whole_turns if is_compression else _start_of_turn
    end = end_of(conversation, ids, message)
    every = list(conversation.messages.values())
    before = every[:end]
    covered = _summed_up(conversation, ids, message, end)
    no_room = trailing_history = 0
    if policy.transcript:
        no_room = min(end, _elided(conversation, ids))
    elif not is_compression:
        no_room = min(_elided(conversation, ids), _start_of_last_rounds(before, policy.keep_rounds))
        trailing_history = _start_of_trailing_history(before, policy.history_turns)
    start = no_room if policy.transcript else max(covered, no_room, trailing_history)
    dropped = [
        left_out(each.id, "summary" if at < covered else "budget" if at < no_room else "strip")
        for at, each in enumerate(before[:start])
    ]
    if is_compression:
        dropped += (left_out(each.id, "pipeline") for each in every[end : ids.index(message) + 1])
    return Window(tuple(before[start:]), end, tuple(dropped), covered > 0)


def nothing_of(conversation: Conversation, message: MessageId, why: str) -> tuple[ManifestEntry, ...]:
    """Entries for a history that is left out whole: one for each message, and one for the summary."""
    ids = list(conversation.messages)
    summary = [ManifestEntry("L4_STRIP", "summary", "summary", "dropped", why)] if conversation.summary else []
    return (*(left_out(each, why) for each in ids[: _start_of_turn(conversation, ids, message)]), *summary)


def left_out(message: MessageId, why: str) -> ManifestEntry:
    return ManifestEntry("L4_STRIP", message, "message", "dropped", why)


def begins(message: Message) -> bool:
    """Whether a turn begins with this message."""
    return message.role == "user" and not message.is_carrier


def start_of_last(starts: Sequence[int], count: int, end: int) -> int:
    """The start of the last `count` items that begin at `starts`; 0 if there are no more than `count`."""
    if count == 0:
        return end
    return starts[-count] if len(starts) >= count else 0


def summed_up(conversation: Conversation, message: MessageId) -> int:
    """The number of messages before the turn of `message` for which the conversation's summary stands."""
    ids = list(conversation.messages)
    return _summed_up(conversation, ids, message, _start_of_turn(conversation, ids, message))


def _start_of_turn(conversation: Conversation, ids: Sequence[MessageId], message: MessageId) -> int:
    return ids.index(turn_of(conversation, message))


def _end_of_whole_turns(conversation: Conversation, ids: Sequence[MessageId], message: MessageId) -> int:
    """The number of messages in the whole turns up to `message`: those that a summary up to `message` covers."""
    end = ids.index(message) + 1
    spoken = (conversation.messages[each] for each in ids[end:])
    following = next((each for each in spoken if each.role != "system"), None)
    return end if following is None or begins(following) else _start_of_turn(conversation, ids, message)


def _summed_up(conversation: Conversation, ids: Sequence[MessageId], message: MessageId, end: int) -> int:
    """The number of messages in whole turns that the summary covers; 0 if the summary goes beyond `message`."""
    if (summary := conversation.summary) is None or summary.up_to not in conversation.messages:
        return 0
    if ids.index(summary.up_to) > ids.index(message):
        return 0
    return min(end, _end_of_whole_turns(conversation, ids, summary.up_to))


def _elided(conversation: Conversation, ids: Sequence[MessageId]) -> int:
    until = conversation.elided_until
    return ids.index(until) + 1 if until in conversation.messages else 0


def _start_of_last_rounds(messages: Sequence[Message], count: int) -> int:
    return start_of_last(_starts(messages), count, len(messages))


def _start_of_trailing_history(messages: Sequence[Message], turns: int | None) -> int:
    """A start that keeps at least the last `turns` turns and fewer than twice as many."""
    starts = _starts(messages)
    if turns is None or len(starts) < 2 * turns:
        return 0
    return starts[(len(starts) // turns - 1) * turns]


def _starts(messages: Sequence[Message]) -> list[int]:
    return [at for at, each in enumerate(messages) if begins(each)]
