"""`Carrier` over a NATS server: connects to one of the servers, and again when the connection is lost."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import Any, Final, TypeVar

import anyio

from ...limits import CARRIED_BYTES_MAX, CARRIER_CONNECT_S
from ...settings.link import LinkSettings
from ..carrier import Carried, CarrierError, CarrierState, SubjectName
from .connection import Connection, connect
from .deliveries import DeliveriesEnded, follow, read_subject, read_subjects
from .server_errors import away, misbehaves, not_acknowledged

_CARRIER_MISBEHAVED_S: Final = 60.0
"""Pause before a server that misbehaved is connected to again."""
_CARRIER_RETRY_S_MAX: Final = 30.0
"""Pauses between attempts to connect: each is twice the last one."""
_CARRIER_RETRY_S_MIN: Final = 0.1
_CARRIER_REPORTS_MAX: Final = 64
"""Reports that nobody has read yet; later ones are dropped."""
GATHER_S: Final = 60.0
"""For all messages of a subject, or all subjects."""
_LOST: Final = "The connection was lost."
T = TypeVar("T")


@asynccontextmanager
async def nats_carrier(settings: LinkSettings, link: str) -> "AsyncIterator[NatsCarrier]":
    """A carrier for the messages of one link, which connects at once and again for as long as it is open.

    Args:
        settings: has at least one server.
        link: the random name of the link on the server, 32 hexadecimal digits.
    """
    carrier = NatsCarrier(settings, link)
    async with anyio.create_task_group() as group:
        group.start_soon(carrier.run)
        try:
            yield carrier
        finally:
            await carrier.aclose()
            group.cancel_scope.cancel()


class NatsCarrier:
    """A `Carrier`, made by `nats_carrier`."""

    def __init__(self, settings: LinkSettings, link: str) -> None:
        assert settings.servers, "a link needs servers"
        self._settings = settings
        self._link = link
        self._state: CarrierState = "connecting"
        self._settled = asyncio.Event()
        """The first attempt to connect is over."""
        self._connection: Connection | None = None
        self._misbehaved: CarrierError | None = None
        """Why there is no connection, if the server did what none does."""
        self._reports: asyncio.Queue[CarrierError | None] = asyncio.Queue()
        """None: the carrier is closed."""
        self._reported: str = ""
        """The last report, which is not repeated."""

    # -- the port --

    @property
    def state(self) -> CarrierState:
        return self._state

    async def publish(self, subject: SubjectName, data: bytes, *, after: int, begins: bool) -> int:
        if len(data) > CARRIED_BYTES_MAX:
            raise CarrierError("FULL", f"A message has {len(data)} bytes; {CARRIED_BYTES_MAX} are allowed.")
        return await self._ask(lambda it: it.publish(subject, data, after, begins), not_acknowledged(_LOST))

    async def last(self, subject: SubjectName) -> Carried | None:
        return await self._ask(lambda it: it.last(subject), away(_LOST))

    async def read(self, subject: SubjectName) -> list[Carried]:
        return await self._gather(lambda it: read_subject(it, subject))

    async def subjects(self) -> dict[SubjectName, int]:
        return await self._gather(read_subjects)

    async def listen(self, arrived: Callable[[Carried], None]) -> None:
        with suppress(DeliveriesEnded):
            await self._ask(lambda it: follow(it, arrived), DeliveriesEnded(_LOST))

    async def reports(self) -> AsyncIterator[CarrierError]:
        while (report := await self._reports.get()) is not None:
            yield report

    async def aclose(self) -> None:
        self._state = "away"
        self._reports.put_nowait(None)
        if self._connection is not None:
            await self._connection.close()

    # -- requests --

    async def _gather(self, ask: Callable[[Connection], Coroutine[Any, Any, T]]) -> T:
        try:
            async with asyncio.timeout(GATHER_S):
                return await self._ask(ask, away(_LOST))
        except TimeoutError:
            raise away("The server does not come to an end.") from None

    async def _ask(self, ask: Callable[[Connection], Coroutine[Any, Any, T]], lost: CarrierError) -> T:
        """What the connection answers.

        Args:
            lost: the error for a connection that is lost meanwhile.
        """
        connection = await self._connected()
        doing = asyncio.ensure_future(ask(connection))
        losing = asyncio.ensure_future(connection.lost.wait())
        try:
            await asyncio.wait({doing, losing}, return_when=asyncio.FIRST_COMPLETED)
            if not doing.done():
                raise connection.client.misbehaves or lost
            return doing.result()
        except (CarrierError, asyncio.CancelledError):
            raise
        except Exception as error:
            raise misbehaves(f"What the server sent cannot be understood: {error!r:.200}.") from error
        finally:
            losing.cancel()
            doing.cancel()
            await asyncio.wait({doing})
            if not doing.cancelled():
                doing.exception()  # taken: either it was raised above, or nobody wants it

    async def _connected(self) -> Connection:
        if self._state == "connecting":
            with suppress(TimeoutError):
                async with asyncio.timeout(CARRIER_CONNECT_S):
                    await self._settled.wait()
        if self._misbehaved is not None:
            raise self._misbehaved
        if self._state != "connected" or self._connection is None or self._connection.lost.is_set():
            raise away("There is no connection to a server.")
        return self._connection

    # -- the connection --

    async def run(self) -> None:
        """Connects to any of the servers, again and again, until cancelled."""
        pause_s = _CARRIER_RETRY_S_MIN
        while True:
            if await self._live():
                pause_s = _CARRIER_RETRY_S_MIN
            if self._misbehaved is not None:
                await asyncio.sleep(_CARRIER_MISBEHAVED_S)
            await asyncio.sleep(random.uniform(pause_s / 2, pause_s))
            pause_s = min(2 * pause_s, _CARRIER_RETRY_S_MAX)

    async def _live(self) -> bool:
        """The life of one connection; False: there was none."""
        for server in random.sample(self._settings.servers, len(self._settings.servers)):
            try:
                connection = await connect(self._settings, self._link, server, self._report)
            except CarrierError as error:
                self._report(error)
                continue
            self._connection, self._misbehaved, self._reported = connection, None, ""
            self._state = "connected"
            self._settled.set()
            try:
                await connection.lost.wait()
            finally:
                self._state = "away"
                with anyio.CancelScope(shield=True):
                    await connection.close()
            if (misbehaved := connection.client.misbehaves) is not None:
                self._misbehaved = misbehaved
                self._report(misbehaved)
            return True
        self._state = "away"
        self._settled.set()
        return False

    def _report(self, error: CarrierError) -> None:
        if error.message != self._reported and self._reports.qsize() < _CARRIER_REPORTS_MAX:
            self._reported = error.message
            self._reports.put_nowait(error)
