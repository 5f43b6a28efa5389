"""From where on, and up to where, a prompt carries what was said before.

Whole turns only. What a summary stands for is left out, and what an earlier prompt had no room for; and in steps
of `Policy.history_turns` what is older than these turns: a window that moved with every turn would cost as much as
no cache. Of several limits the latest holds.

A compression reads what a summary of everything up to its message would stand for, but for what the last one
tells: what prompts had no room for was not summed up yet.
"""

from collections.abc import Sequence
from typing import NamedTuple

from workspaced_events.ids import MessageId
from workspaced_events.projections.conversations import Conversation, Message, turn_of

from ...ports.manifest import ManifestEntry
from .types import Policy


class Window(NamedTuple):
    messages: tuple[Message, ...]
    """That are carried, oldest first."""
    turn: int
    """How many messages come before the prompt's turn; of a compression those of the whole turns up to it."""
    dropped: tuple[ManifestEntry, ...]
    """A record of each other message up to the prompt's."""
    is_summed_up: bool
    """Whether the conversation's summary stands for the first of them."""


def window_of(conversation: Conversation, message: MessageId, policy: Policy) -> Window:
    """What the history of the prompt up to `message` is made of.

    Of the last `policy.keep_rounds` rounds nothing is left out for want of room, even if it once was and they are
    the last only since others were removed.
    """
    ids = list(conversation.messages)
    is_compression = policy.pipeline == "compression"
    end_of = _end_of_whole_turns if is_compression else _start_of_turn
    end = end_of(conversation, ids, message)
    every = list(conversation.messages.values())
    before = every[:end]
    summed_up = _summed_up(conversation, ids, message, end)
    no_room = strip = 0
    if not is_compression:
        no_room = min(_elided(conversation, ids), _start_of_last_rounds(before, policy.keep_rounds))
        strip = _start_of_strip(before, policy.history_turns)
    start = max(summed_up, no_room, strip)
    dropped = [
        left_out(each.id, "summary" if at < summed_up else "budget" if at < no_room else "strip")
        for at, each in enumerate(before[:start])
    ]
    if is_compression:
        dropped += (left_out(each.id, "pipeline") for each in every[end : ids.index(message) + 1])
    return Window(tuple(before[start:]), end, tuple(dropped), summed_up > 0)


def nothing_of(conversation: Conversation, message: MessageId, why: str) -> tuple[ManifestEntry, ...]:
    """One record of each thing that a history might have had."""
    ids = list(conversation.messages)
    told = [ManifestEntry("L4_STRIP", "summary", "summary", "dropped", why)] if conversation.summary else []
    return (*(left_out(each, why) for each in ids[: _start_of_turn(conversation, ids, message)]), *told)


def left_out(message: MessageId, why: str) -> ManifestEntry:
    return ManifestEntry("L4_STRIP", message, "message", "dropped", why)


def begins(message: Message) -> bool:
    """Whether a turn begins with it."""
    return message.role == "user" and not message.is_carrier


def start_of_last(starts: Sequence[int], count: int, end: int) -> int:
    """Where the last `count` of what begins at `starts` begin; 0 where there are no more."""
    if count == 0:
        return end
    return starts[-count] if len(starts) >= count else 0


def _start_of_turn(conversation: Conversation, ids: Sequence[MessageId], message: MessageId) -> int:
    return ids.index(turn_of(conversation, message))


def _end_of_whole_turns(conversation: Conversation, ids: Sequence[MessageId], message: MessageId) -> int:
    """How many messages the whole turns up to `message` have, which a summary up to it stands for."""
    end = ids.index(message) + 1
    spoken = (conversation.messages[each] for each in ids[end:])
    following = next((each for each in spoken if each.role != "system"), None)
    return end if following is None or begins(following) else _start_of_turn(conversation, ids, message)


def _summed_up(conversation: Conversation, ids: Sequence[MessageId], message: MessageId, end: int) -> int:
    """How many messages the summary stands for: whole turns, none where it tells of what comes after `message`."""
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


def _start_of_strip(messages: Sequence[Message], turns: int | None) -> int:
    """At least so many of the last turns begin there, and less than twice as many."""
    starts = _starts(messages)
    if turns is None or len(starts) < 2 * turns:
        return 0
    return starts[(len(starts) // turns - 1) * turns]


def _starts(messages: Sequence[Message]) -> list[int]:
    return [at for at, each in enumerate(messages) if begins(each)]
