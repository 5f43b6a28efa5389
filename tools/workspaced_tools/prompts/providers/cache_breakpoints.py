"""Places cache breakpoints: marks on at most four parts of a request, after which a provider may cache the prefix.

Anthropic writes its cache at the marks, and searches for an earlier entry from each mark over 20 parts backwards
(platform.claude.com/docs/en/build-with-claude/prompt-caching). So there are marks after the runtime's own system
prompt, the library, the history and the last message. That suffices if fewer parts than that are new since the
last request: the library has a part for each note, so a library that grew is read up to its first new part.

If more parts are new, after a round with many calls or a turn with many rounds, one more mark is at the place of
the last request's last mark. It replaces the first mark of the system, which is within reach of the second.

In a transcript, each request begins with the one before it. So the marks are after the runtime's own system
prompt, the library, the last message of the request before, and the last message of all.

The runtime's own marks come first: ours are as many as are left, those at the end before those at the beginning.
Anthropic refuses a mark for an hour behind one for five minutes, so before the former there is none of ours.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from msgspec.structs import replace

from .provider import Part

MARKS_MAX: Final = 4
LOOKBACK_PARTS: Final = 20
"""The number of parts that a provider searches backwards from a mark, the marked part included."""
Message = tuple[str, list[Part]]
"""A role and its parts."""
Place = tuple[int, int]
"""The index of a part's message, and the part's index in the message."""


def marked(
    system: Sequence[Part], library: int, messages: Sequence[Message], history: int | None, elsewhere: int = 0
) -> tuple[tuple[Part, ...], list[Message]]:
    """The parts of system and messages with their marks. Parts may have marks already: the runtime's own.

    Args:
        library: the number of the system's last parts that are the library.
        history: the number of messages that are summary and history; the others are this turn's. None: a
            transcript.
        elsewhere: the number of the runtime's own marks in the definitions of tools.
    """
    given = [(at, place) for at, (_role, parts) in enumerate(messages) for place in _marks_in(parts)]
    given = given[max(0, len(given) + elsewhere - MARKS_MAX) :]
    hours = [at for at in given if messages[at[0]][1][at[1]].cache_time == "1h"]
    places = list(_places(messages, history) if history is not None else _grown(messages))
    places = [place for place in places if place not in given and place > max(hours, default=(-1, -1))]
    room = max(0, MARKS_MAX - elsewhere - len(given))
    places = sorted(places)[max(0, len(places) - room) :]
    ends = sorted({end for end in (len(system) - library, len(system)) if end})
    ends = [] if hours else ends[max(0, len(ends) - room + len(places)) :]
    parts = [replace(part, cache=at + 1 in ends) for at, part in enumerate(system)]
    at_all = {*given, *places}
    copies = [
        (role, [_with_mark(part, is_marked=(at, place) in at_all) for place, part in enumerate(parts)])
        for at, (role, parts) in enumerate(messages)
    ]
    return tuple(parts), copies


def _marks_in(parts: Sequence[Part]) -> Iterator[int]:
    return (place for place, part in enumerate(parts) if part.cache)


def _with_mark(part: Part, *, is_marked: bool) -> Part:
    return part if part.cache == is_marked else replace(part, cache=is_marked)


def _places(messages: Sequence[Message], history: int) -> Iterator[Place]:
    """The ends of the history and of all messages, and the last request's last mark if that is out of reach."""
    ends = [_last(messages, 0, history), _last(messages, history, len(messages))]
    went_on = any(role == "assistant" for role, _parts in messages[history:])
    end = ends[1] if went_on else ends[0]
    before = _last(messages, *_sent_before(messages, history, went_on=went_on))
    if end is not None and before is not None and _distance(messages, before, end) >= LOOKBACK_PARTS:
        ends.append(before)
    yield from dict.fromkeys(place for place in ends if place is not None)


def _grown(messages: Sequence[Message]) -> Iterator[Place]:
    """The ends of the request before, which is up to the last answers of the assistant, and of all messages."""
    at = len(messages)
    while at and messages[at - 1][0] == "user":
        at -= 1
    while at and messages[at - 1][0] == "assistant":
        at -= 1
    ends = (_last(messages, 0, at), _last(messages, 0, len(messages)))
    yield from dict.fromkeys(place for place in ends if place is not None)


def _sent_before(messages: Sequence[Message], history: int, *, went_on: bool) -> tuple[int, int]:
    """The range of messages at whose end an earlier request had a mark.

    If this turn has answers of the assistant, the range is this turn up to its last answer; else it is the history
    of the turn before.
    """
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
    """Whether a turn begins with this message: a user's message without results of tools."""
    role, parts = message
    return role == "user" and bool(parts) and parts[0].type != "toolResult"


def _last(messages: Sequence[Message], begin: int, end: int) -> Place | None:
    """The last part of these messages that may have a mark: thinking may not."""
    for at in reversed(range(begin, end)):
        parts = messages[at][1]
        for place in reversed(range(len(parts))):
            if parts[place].type != "thinking":
                return at, place
    return None


def _distance(messages: Sequence[Message], before: Place, end: Place) -> int:
    """The number of parts from `before` to `end`."""
    between = sum(len(parts) for _role, parts in messages[before[0] : end[0]])
    return between - before[1] + end[1]
