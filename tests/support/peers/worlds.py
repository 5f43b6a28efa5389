"""A server and connections to it, for tests that hold for any carrier."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from random import Random
from secrets import token_hex
from typing import Any, Protocol

from support.nats_server import NatsServer, delete_stream, make_stream
from support.peers.simulated import SimulatedServer
from support.peers.virtual_time import run_virtually
from workspaced.peers.carrier import Carried, Carrier, CarrierError
from workspaced.peers.carrying.nats_carrier import nats_carrier
from workspaced.settings.link import LinkSettings


class World(Protocol):
    """A server of a test's own, and what happens to it."""

    def run(self, main: Callable[["World"], Awaitable[None]]) -> None: ...
    async def carrier(self, origin: str) -> Carrier:
        """A connection, which is closed when the test ends."""

    async def wipe(self) -> None: ...
    async def stop(self) -> None: ...
    async def start(self) -> None: ...
    async def remove_stream(self) -> None: ...
    async def keep(self) -> Any: ...
    async def restore(self, kept: Any) -> None: ...


class SimulatedWorld:
    def __init__(self, server: SimulatedServer | None = None) -> None:
        self.server = server or SimulatedServer(Random(1))

    def run(self, main: Callable[[World], Awaitable[None]]) -> None:
        async def bounded() -> None:
            async with asyncio.timeout(3_600):
                await main(self)

        run_virtually(bounded())

    async def carrier(self, origin: str) -> Carrier:
        return self.server.carrier(origin)

    async def wipe(self) -> None:
        self.server.wipe()

    async def stop(self) -> None:
        self.server.stop()

    async def start(self) -> None:
        self.server.start()

    async def remove_stream(self) -> None:
        self.server.remove_stream()

    async def keep(self) -> Any:
        return self.server.kept()

    async def restore(self, kept: Any) -> None:
        self.server.restore(kept)


class Listener:
    """Listens from the start on, again whenever the connection was lost, and keeps what arrives."""

    def __init__(self, carrier: Carrier) -> None:
        self.arrived: list[Carried] = []
        self.times = 0
        """How often it began to listen."""
        self._carrier = carrier
        self._changed = asyncio.Event()
        self._task = asyncio.get_running_loop().create_task(self._listen())

    async def until(self, holds: Callable[["Listener"], bool]) -> None:
        """Waits until this holds."""
        while not holds(self):
            self._changed.clear()
            await self._changed.wait()

    async def stop(self) -> None:
        self._task.cancel()
        await asyncio.wait({self._task})

    def _arrive(self, message: Carried) -> None:
        self.arrived.append(message)
        self._changed.set()

    async def _listen(self) -> None:
        while True:
            self.times += 1
            self._changed.set()
            try:
                await self._carrier.listen(self._arrive)
            except CarrierError:
                await asyncio.sleep(0.1)


class NatsWorld:
    """A server of its own; each world has a link of its own, so that one server can serve many."""

    def __init__(self, server: NatsServer, folder: Path) -> None:
        self.server = server
        self.folder = folder
        self.link = token_hex(16)
        self._open = AsyncExitStack()

    def run(self, main: Callable[[World], Awaitable[None]]) -> None:
        async def bounded() -> None:
            async with asyncio.timeout(60), self._open:
                await main(self)

        asyncio.run(bounded())

    async def carrier(self, origin: str) -> Carrier:
        return await self._open.enter_async_context(nats_carrier(self.settings, self.link))

    @property
    def settings(self) -> LinkSettings:
        return LinkSettings(servers=(self.server.url,))

    async def wipe(self) -> None:
        await delete_stream(self.server.url)
        await make_stream(self.server.url)

    async def stop(self) -> None:
        self.server.stop()

    async def start(self) -> None:
        self.server.start()

    async def remove_stream(self) -> None:
        await delete_stream(self.server.url)

    async def keep(self) -> Any:
        kept = self.folder / token_hex(4)
        self.server.keep_store(kept)
        return kept

    async def restore(self, kept: Any) -> None:
        self.server.restore_store(kept)
