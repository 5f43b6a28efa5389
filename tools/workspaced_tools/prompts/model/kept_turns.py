"""What was made of a conversation's earlier turns for one prompt, kept for the next one, which has the same turns.

A thing is made again where one of the values that it was made from is another one. So a prompt is the same with
what is kept as without, and costs what is new in it.
"""

from collections.abc import Callable
from typing import Any, Final, TypeVar

from workspaced_events.blobs.latest_used import LatestUsed
from workspaced_events.ids import ConversationId, MessageId

T = TypeVar("T")
CONVERSATIONS_MAX: Final = 8
"""Those that prompts were made of last. One of 100,000 tokens keeps about two megabytes."""


class KeptTurns:
    """Of one conversation. Safe from any thread."""

    def __init__(self) -> None:
        self._made: dict[tuple[str, MessageId], tuple[tuple[object, ...], Any]] = {}

    def of(self, what: str, turn: MessageId, make: Callable[..., T], *made_from: object) -> T:
        """What `make` makes of `made_from`, and of texts that their hashes name, for the turn that begins with the
        message `turn`."""
        known = self._made.get((what, turn))
        if known is None or known[0] != made_from:
            known = self._made[what, turn] = made_from, make(*made_from)
        made: T = known[1]
        return made

    def taken(self, what: str, turn: MessageId) -> tuple[tuple[object, ...], Any] | None:
        """From what a thing of the turn was made last, and the thing, which is then kept no longer."""
        return self._made.pop((what, turn), None)


class KeptConversations:
    """The turns of the conversations that were asked for last. Safe from any thread."""

    def __init__(self) -> None:
        self._kept = LatestUsed[ConversationId, KeptTurns](CONVERSATIONS_MAX, lambda _turns: 1)

    def of(self, conversation: ConversationId) -> KeptTurns:
        return self._kept.get(conversation) or self._kept.put(conversation, KeptTurns())
