"""Where a provider may keep what it was sent: behind a part that is marked, four of a request at most.

Anthropic writes to its cache at the marks, and looks for what it wrote from each mark on over 20 parts backwards
(platform.claude.com/docs/en/build-with-claude/prompt-caching). So a mark stands behind the runtime's own system
prompt, the library, the history and the whole. From one request to the next that is enough as long as fewer parts
come in between: the library has a part for each note, so one that grows is read up to where it grew.

Where more come in between, after a round with many calls, or a turn with many rounds, one more mark stands where
the request before had its last. The first of the system's gives way to it: it lies within reach of the second.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from msgspec.structs import replace

from .part import Part

MARKS_MAX: Final = 4
LOOKBACK_PARTS: Final = 20
"""So many parts a provider looks at from a mark on, that of the mark included."""
Message = tuple[str, list[Part]]
"""A role and its parts."""
Place = tuple[int, int]
"""Of a part: its message, and where it is in it."""


def marked(
    system: Sequence[Part], library: int, messages: Sequence[Message], history: int
) -> tuple[tuple[Part, ...], list[Message]]:
    """The parts of system and messages, those marked that a provider may keep what ends there.

    Args:
        library: how many of the system's last parts are the library.
        history: how many of the messages are summary and history; the others are this turn's.
    """
    ends = sorted({end for end in (len(system) - library, len(system)) if end})
    places = list(_places(messages, history))
    ends = ends[-(MARKS_MAX - len(places)) :]
    parts = [replace(part, cache=at + 1 in ends) for at, part in enumerate(system)]
    said = [(role, list(parts)) for role, parts in messages]
    for message, at in places:
        said[message][1][at] = replace(said[message][1][at], cache=True)
    return tuple(parts), said


def _places(messages: Sequence[Message], history: int) -> Iterator[Place]:
    """The ends of the history and of the whole; and where the request before had its last, if that is far."""
    ends = [_last(messages, 0, history), _last(messages, history, len(messages))]
    went_on = any(role == "assistant" for role, _parts in messages[history:])
    end = ends[1] if went_on else ends[0]
    before = _last(messages, *_sent_before(messages, history, went_on=went_on))
    if end is not None and before is not None and _distance(messages, before, end) >= LOOKBACK_PARTS:
        ends.append(before)
    yield from dict.fromkeys(place for place in ends if place is not None)


def _sent_before(messages: Sequence[Message], history: int, *, went_on: bool) -> tuple[int, int]:
    """The messages at whose end an earlier request had a mark: those of this turn that the assistant answered
    last, or the history that the turn before had."""
    if went_on:
        at = len(messages)
        while messages[at - 1][0] != "assistant":
            at -= 1
        while at > history and messages[at - 1][0] == "assistant":
            at -= 1
        return history, at
    at = history - 1
    while at > 0 and not _begins(messages[at]):
        at -= 1
    return 0, max(0, at)


def _begins(message: Message) -> bool:
    """Whether a turn begins with it: the user's, and not the results of tools."""
    role, parts = message
    return role == "user" and bool(parts) and parts[0].type != "toolResult"


def _last(messages: Sequence[Message], begin: int, end: int) -> Place | None:
    """The last part of these messages that may carry a mark: thinking may not."""
    for at in reversed(range(begin, end)):
        parts = messages[at][1]
        for place in reversed(range(len(parts))):
            if parts[place].type != "thinking":
                return at, place
    return None


def _distance(messages: Sequence[Message], before: Place, end: Place) -> int:
    """By how many parts the one stands behind the other."""
    between = sum(len(parts) for _role, parts in messages[before[0] : end[0]])
    return between - before[1] + end[1]
