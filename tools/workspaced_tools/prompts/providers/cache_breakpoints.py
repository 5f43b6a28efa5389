"""Places cache breakpoints: marks on at most four parts of a request, after which a provider may cache the prefix.

Anthropic writes its cache at the marks, and reads what an earlier request wrote at one of them
(platform.claude.com/docs/en/build-with-claude/prompt-caching). Each request begins with the one before it, so the
marks are after the runtime's own system prompt, the library, the last message of the request before, and the last
message of all.

The runtime's own marks come first: ours are as many as are left, those at the end before those at the beginning.
Anthropic refuses a mark for an hour behind one for five minutes, so before the former there is none of ours.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from msgspec.structs import replace

from .provider import Part

MARKS_MAX: Final = 4
Message = tuple[str, list[Part]]
"""A role and its parts."""
Place = tuple[int, int]
"""The index of a part's message, and the part's index in the message."""


def marked(
    system: Sequence[Part], library: int, messages: Sequence[Message], elsewhere: int = 0
) -> tuple[tuple[Part, ...], list[Message]]:
    """The parts of system and messages with their marks. Parts may have marks already: the runtime's own.

    Args:
        library: the number of the system's last parts that are the library.
        elsewhere: the number of the runtime's own marks in the definitions of tools.
    """
    every = [
        (at, place) for at, (_role, parts) in enumerate(messages) for place, part in enumerate(parts) if part.cache
    ]
    given = every[max(0, len(every) + elsewhere - MARKS_MAX) :]
    hours = [at for at in given if messages[at[0]][1][at[1]].cache_time == "1h"]
    places = [place for place in _ends(messages) if place not in given and place > max(hours, default=(-1, -1))]
    room = max(0, MARKS_MAX - elsewhere - len(given))
    places = sorted(places)[max(0, len(places) - room) :]
    ends = sorted({end for end in (len(system) - library, len(system)) if end})
    ends = [] if hours else ends[max(0, len(ends) - room + len(places)) :]
    parts = [replace(part, cache=at + 1 in ends) for at, part in enumerate(system)]
    copies = [(role, list(each)) for role, each in messages]
    for at, place in {*every, *places}:
        is_marked = (at, place) in given or (at, place) in places
        copies[at][1][place] = replace(copies[at][1][place], cache=is_marked)
    return tuple(parts), copies


def _ends(messages: Sequence[Message]) -> Iterator[Place]:
    """The ends of the request before, which is up to the last answers of the assistant, and of all messages."""
    at = len(messages)
    while at and messages[at - 1][0] == "user":
        at -= 1
    while at and messages[at - 1][0] == "assistant":
        at -= 1
    ends = (_last(messages, 0, at), _last(messages, 0, len(messages)))
    yield from dict.fromkeys(place for place in ends if place is not None)


def _last(messages: Sequence[Message], begin: int, end: int) -> Place | None:
    """The last part of these messages that may have a mark: thinking may not."""
    for at in reversed(range(begin, end)):
        parts = messages[at][1]
        for place in reversed(range(len(parts))):
            if parts[place].type != "thinking":
                return at, place
    return None
