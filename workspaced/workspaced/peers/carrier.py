"""The port behind which a server carries messages between daemons. It keeps them, but is never the only copy of
any.

Each origin is the only writer of its own subject. A subject keeps the messages from the latest one that `begins`
on; sequences are the server's, rise within the whole stream, and may start again when it is lost or restored: they
are compared, never kept as a position of what was applied.
"""

from collections.abc import AsyncIterator, Callable
from typing import Final, Literal, Protocol

import msgspec

from workspaced_events.escaping import escape_control
from workspaced_events.ids import OriginId

STREAM: Final = "WORKSPACED"
"""The stream on a server that keeps the messages of all links."""
PREFIX: Final = "workspaced"
"""What every subject of ours begins with on a server."""
SubjectName = OriginId | str
"""An origin, or the name of a subject of the link itself: `roster`, `join.<origin>`."""
CarrierState = Literal["connecting", "connected", "away"]


class Carried(msgspec.Struct, frozen=True):
    """A message as the server has it."""

    subject: SubjectName
    sequence: int
    data: bytes


class CarrierError(Exception):
    """The server did not do what it was asked. `code` is one of the states that `status` shows."""

    def __init__(self, code: str, message: str, hint: str = "") -> None:
        message = escape_control(message)  # of what a server says, too
        super().__init__(message)
        self.code, self.message, self.hint = code, message, hint


class Carrier(Protocol):
    """All methods may be called concurrently, and raise CarrierError with a code:

    AWAY (not connected, or no answer to a question), REFUSED (credentials or permissions), NO_STREAM (the operator
    has made none, or another one), FULL (no space or a limit of the server), DUPLICATE (acknowledged as a copy:
    not kept), SERVER_MISBEHAVES.
    """

    @property
    def state(self) -> CarrierState: ...

    async def publish(self, subject: SubjectName, data: bytes, *, after: int, begins: bool) -> int:
        """Keeps a message behind the one with the sequence `after` (0: the subject is empty); gives its sequence.

        `begins`: it replaces all messages of the subject. One call at a time for each subject.

        Raises:
            CarrierError: WRONG_PREDECESSOR: the subject's last message is not the expected one; nothing is kept.
                NOT_ACKNOWLEDGED: no answer came in time; only the subject's last message tells whether it is kept.
        """

    async def last(self, subject: SubjectName) -> Carried | None:
        """The subject's last message, as its leader has it; None: it is empty."""

    async def read(self, subject: SubjectName) -> list[Carried]:
        """All messages of a subject, the oldest first. Bounded: raises SERVER_MISBEHAVES beyond the bound."""

    async def subjects(self) -> dict[SubjectName, int]:
        """Every subject of the link that is not empty, with the sequence of its last message."""

    async def listen(self, arrived: Callable[[Carried], None]) -> None:
        """Calls `arrived` with the last message of each subject, then with each new one, until cancelled.

        Messages may be missed or repeated, and may come out of order. Returns when the connection was lost or
        deliveries stopped: the caller listens again. Raises when it cannot begin.
        """

    def reports(self) -> AsyncIterator[CarrierError]:
        """What the server reports by itself, such as a permission that is missing; ends with the carrier."""

    async def aclose(self) -> None: ...
