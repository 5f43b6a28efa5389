"""Places cache breakpoints: marks on parts of a request, after which a provider may cache the prefix.

Anthropic writes its cache at the marks, and reads what an earlier request wrote at one of them
(platform.claude.com/docs/en/build-with-claude/prompt-caching). Each request begins with the one before it, so the
marks are after the runtime's own system prompt, the library, the last message of the request before, and the last
message of all: at most four, as many as it takes.
"""

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from ..model.turn_window import end_of_previous
from .provider import Part

Message = tuple[str, list[Part]]
"""A role and its parts."""
Place = tuple[int, int]
"""The index of a part's message, and the part's index in the message."""


def marked(
    system: Sequence[Part], library: int, messages: Sequence[Message]
) -> tuple[tuple[Part, ...], list[Message]]:
    """The parts of system and messages with their marks.

    `library`: the number of the system's last parts that are the library.
    """
    ends = {len(system) - library, len(system)}
    parts = [replace(part, cache=at in ends) for at, part in enumerate(system, start=1)]
    copies = [(role, list(each)) for role, each in messages]
    for at, place in _ends(messages):
        copies[at][1][place] = replace(copies[at][1][place], cache=True)
    return tuple(parts), copies


def _ends(messages: Sequence[Message]) -> Iterator[Place]:
    """The ends of the request before, which is up to the last answers of the assistant, and of all messages."""
    ends = (_last(messages, end_of_previous([role for role, _ in messages])), _last(messages, len(messages)))
    yield from dict.fromkeys(place for place in ends if place is not None)


def _last(messages: Sequence[Message], end: int) -> Place | None:
    """The last part of the first `end` messages that may have a mark: thinking may not."""
    for at in reversed(range(end)):
        parts = messages[at][1]
        for place in reversed(range(len(parts))):
            if parts[place].type != "thinking":
                return at, place
    return None
