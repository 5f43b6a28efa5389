"""`peer_client.py` for version 2 of the official client, which speaks both eras: `python mcp_client.py`.

A start takes one field more: `mode`, the client's own (`legacy`, or a version).
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import peer_client  # type: ignore[import-not-found]  # beside this script
from mcp import Client, StdioServerParameters, stdio_client  # type: ignore[import-not-found]


class Server(peer_client.Server):  # type: ignore[misc]
    """A server in the era that was asked for."""

    @contextlib.asynccontextmanager
    async def opened(self, parameters: StdioServerParameters, stderr: Any) -> AsyncIterator[Any]:
        async with Client(stdio_client(parameters, stderr), mode=self.request["mode"]) as client:
            yield client


if __name__ == "__main__":
    asyncio.run(peer_client.main(peer_client.Servers(Server)))
