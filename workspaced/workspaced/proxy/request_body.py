"""The body of a request that comes in: read whole up to a bound, or handed on while it comes."""

from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from typing import Any

import anyio

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]


class ClientLeft(Exception):
    """The client closed its connection before it had sent the whole body."""


class RequestBody:
    """Reads a request's body from ASGI, each byte once."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._read = bytearray()
        """What was read ahead."""
        self._ended = anyio.Event()

    async def up_to(self, bound: int) -> bytes | None:
        """The whole body; None if it is longer than `bound` bytes: `parts` then has all of it.

        Raises:
            ClientLeft: it did not come to its end.
        """
        while not self._ended.is_set() and len(self._read) <= bound:
            self._read += await self._next()
        return bytes(self._read) if len(self._read) <= bound else None

    async def parts(self) -> AsyncIterator[bytes]:
        """The body from its beginning, as it comes.

        Raises:
            ClientLeft: it did not come to its end.
        """
        if self._read:
            yield bytes(self._read)
            self._read.clear()
        while not self._ended.is_set():
            yield await self._next()

    async def client_left(self) -> None:
        """Returns when the client closes its connection, after it has sent the whole body."""
        await self._ended.wait()
        while (await self._receive())["type"] != "http.disconnect":
            pass

    async def _next(self) -> bytes:
        message = await self._receive()
        if message["type"] == "http.disconnect":
            raise ClientLeft
        if not message.get("more_body", False):
            self._ended.set()
        data: bytes = message.get("body", b"")
        return data
