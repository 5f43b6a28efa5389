"""`Receiver`: applies what peers share, each origin's messages in their chain, wherever the server has got to.

What was applied is in the log: for each origin generation, number and digest. A message is applied if it begins a
newer generation, or follows what was applied. Where one is missing, the subject is read from its latest whole view
on.
"""

import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

import anyio
import msgspec

from workspaced_events.ids import OriginId
from workspaced_events.schema.peer_events import Position, RemoteEventsApplied

from .carrier import Carried, Carrier, CarrierError
from .keys.keyring import Keyring
from .keys.message import MessageRefused, digest
from .payload import decode_payload

logger = logging.getLogger(__name__)

LOOK_S: Final = 60.0
"""How often every subject's last message is compared."""
WAITING_MAX: Final = 1_000
"""Messages that wait to be applied; of more, subjects are read instead."""
RETRY_FIRST_S: Final = 0.1
RETRY_MAX_S: Final = 30.0
_ORIGIN_CHARS: Final = 32
_NOT_HEARD: Final = Position()


class OriginStatus(msgspec.Struct):
    """How far one origin's messages came, in this life."""

    seen: tuple[int, int] = (0, 0)
    """The generation and number of its latest message at the server."""
    behind_since: float | None = None
    """When, on the loop's clock, a message arrived that is not applied yet."""
    refused: Counter[str] = msgspec.field(default_factory=Counter)
    """How many messages on its subject were refused, by code."""


class Receiver:
    """Belongs to the loop's thread."""

    def __init__(
        self,
        keyring: Keyring,
        carrier: Carrier,
        positions: Callable[[], Mapping[OriginId, Position]],
        apply: Callable[[RemoteEventsApplied], Awaitable[None]],
        other: Callable[[Carried], None] = lambda _message: None,
    ) -> None:
        """
        Args:
            positions: what was applied of each origin.
            apply: applies a message; returns once it is durable, and `positions` tells of it.
            other: gets the messages of subjects that are no origin's.
        """
        self._keyring = keyring
        self._carrier = carrier
        self._positions = positions
        self._apply = apply
        self._other = other
        self.origins: dict[str, OriginStatus] = {}
        self.problem: CarrierError | None = None
        self.on_connected: Callable[[], None] = lambda: None
        """Called whenever listening begins."""
        self._waiting: list[Carried] = []
        self._to_read: dict[str, None] = {}
        self._arrived = anyio.Event()

    def behind(self, origin: OriginId) -> int:
        """How many messages of an origin the server has that are not applied, as far as known."""
        applied = self._positions().get(origin, _NOT_HEARD)
        status = self.origins.get(origin)
        return max(0, status.seen[1] - applied.n) if status is not None else 0

    def behind_s(self, origin: OriginId) -> float:
        """For how long an origin's messages have waited to be applied."""
        status = self.origins.get(origin)
        since = status.behind_since if status is not None and self.behind(origin) else None
        return anyio.current_time() - since if since is not None else 0.0

    def look_again(self) -> None:
        """Reads all subjects again, soon: a newer roster may open what was refused."""
        self._to_read.update(dict.fromkeys(each.origin for each in self._keyring.roster.members))
        self._arrived.set()

    async def run(self) -> None:
        """Applies messages until cancelled. A failure of the server is `problem`, and tried again."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._listen)
            tasks.start_soon(self._compare)
            while True:
                await self._arrived.wait()
                self._arrived = anyio.Event()
                await self._take_all()

    async def _listen(self) -> None:
        pause_s = RETRY_FIRST_S
        while True:
            started = anyio.current_time()
            try:
                self.on_connected()
                await self._carrier.listen(self._take)
                self.problem = None
            except CarrierError as error:
                self.problem = error
            lasted = anyio.current_time() - started > RETRY_MAX_S
            pause_s = RETRY_FIRST_S if lasted else min(2 * pause_s, RETRY_MAX_S)
            await anyio.sleep(pause_s)

    async def _compare(self) -> None:
        while True:
            await anyio.sleep(LOOK_S)
            try:
                subjects = await self._carrier.subjects()
            except CarrierError as error:
                self.problem = error
            else:
                self._to_read.update(dict.fromkeys(each for each in subjects if self._is_member(each)))
                self._arrived.set()

    def _take(self, message: Carried) -> None:
        self.problem = None
        if len(message.subject) != _ORIGIN_CHARS or "." in message.subject:
            self._other(message)
        elif message.subject == self._keyring.origin or not self._is_member(message.subject):
            return
        elif len(self._waiting) < WAITING_MAX:
            self._waiting.append(message)
            self._arrived.set()
        else:
            self._to_read[message.subject] = None

    async def _take_all(self) -> None:
        waiting, self._waiting = self._waiting, []
        for message in waiting:
            if message.subject not in self._to_read and not await self._applied(message):
                self._to_read[message.subject] = None
        to_read, self._to_read = self._to_read, {}
        for subject in to_read:
            if subject != self._keyring.origin:
                await self._read(subject)

    async def _read(self, subject: str) -> None:
        """Applies what the server has of an origin and is not applied yet."""
        try:
            messages = await self._carrier.read(subject)
        except CarrierError as error:
            self.problem = error
            self._to_read[subject] = None
            return
        for message in messages:
            if not await self._applied(message):
                self._status(subject).refused["GAP"] += 1
                return

    async def _applied(self, message: Carried) -> bool:
        """Applies a message, unless it is known or refused; False: one before it is missing."""
        status = self._status(message.subject)
        try:
            header, data = self._keyring.open(message.data, message.subject)
            payload = decode_payload(data, self._keyring.roster.vaults)
            status.seen = max(status.seen, (header.generation, header.n))
            known = self._positions().get(header.origin, _NOT_HEARD)
            if (header.generation, header.n) <= (known.generation, known.n):
                return True
            if status.behind_since is None:
                status.behind_since = anyio.current_time()
            position = Position(header.generation, header.n, digest(message.data))
            follows = header.generation == known.generation and header.previous == known.digest
            if not payload.whole and not follows:
                return False
        except MessageRefused as error:
            status.refused[error.code] += 1
            logger.debug("refused of %s: %s", message.subject, error)
            return True
        await self._apply(
            RemoteEventsApplied(header.origin, position, payload.ms, payload.whole, payload.view, payload.changed)
        )
        if (header.generation, header.n) >= status.seen:
            status.behind_since = None
        return True

    def _is_member(self, subject: str) -> bool:
        """Whether the roster knows the origin; anybody on the server may make more subjects."""
        roster, origin = self._keyring.roster, OriginId(subject)
        return roster.member(origin) is not None or roster.was_removed(origin) is not None

    def _status(self, subject: str) -> OriginStatus:
        return self.origins.setdefault(subject, OriginStatus())
