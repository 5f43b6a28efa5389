"""A server that is no NATS server, or means harm: a typed state, and a daemon whose memory stays."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from workspaced.peers.carrier import CarrierError
from workspaced.peers.carrying.nats_carrier import nats_carrier
from workspaced.settings.link import LinkSettings

pytestmark = pytest.mark.thorough
LINK = "0" * 32
INFO = {
    "server_id": "x",
    "version": "2.10.0",
    "headers": True,
    "max_payload": 2**20,
    "jetstream": True,
    "proto": 1,
}
MIB = 1024 * 1024
ENDS_S = 90.0
Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """As a server does, up to its first PONG."""
    writer.write(b"INFO " + json.dumps(INFO).encode() + b"\r\n")
    while b"PING" not in await reader.readline():
        pass
    writer.write(b"PONG\r\n")
    await writer.drain()


async def flood(writer: asyncio.StreamWriter, begins: bytes) -> None:
    writer.write(begins)
    for _ in range(900):
        writer.write(b"x" * MIB)
        await writer.drain()


async def huge_frame(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await greet(reader, writer)
    await flood(writer, b"MSG workspaced.x 1 %d\r\n" % (900 * MIB))


async def huge_line(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await greet(reader, writer)
    await flood(writer, b"INFO ")


async def huge_greeting(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await flood(writer, b"INFO ")


async def nonsense(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await greet(reader, writer)
    writer.write(b"INFO {\r\n")
    await reader.read()


async def http(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
    await reader.read(1)


async def silent(reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
    await reader.read()


async def answers_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await greet(reader, writer)
    while line := await reader.readline():
        if line.startswith(b"PING"):
            writer.write(b"PONG\r\n")


def resident_mib() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4_096 / MIB


async def state_with(serve: Serve) -> str:
    """The code with which a question to such a server is refused in the end."""

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await serve(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async with await asyncio.start_server(connected, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        async with nats_carrier(LinkSettings(servers=(f"nats://127.0.0.1:{port}",)), LINK) as carrier:
            codes = []
            async with asyncio.timeout(ENDS_S):
                while True:
                    try:
                        await carrier.last("roster")
                    except CarrierError as error:
                        assert error.message and error.hint
                        codes.append(error.code)
                        if error.code == "SERVER_MISBEHAVES" or len(codes) == 3:
                            return error.code
                    await asyncio.sleep(0.3)


@pytest.mark.parametrize(
    ("serve", "code"),
    [(huge_frame, "SERVER_MISBEHAVES"), (huge_line, "SERVER_MISBEHAVES"), (huge_greeting, "AWAY")],
    ids=["frame", "line", "greeting"],
)
def test_what_no_server_sends_ends_the_connection_before_it_costs_memory(serve: Serve, code: str) -> None:
    before = resident_mib()
    assert asyncio.run(state_with(serve)) == code
    assert resident_mib() - before < 100


def test_what_cannot_be_understood_ends_the_connection() -> None:
    assert asyncio.run(state_with(nonsense)) == "SERVER_MISBEHAVES"


@pytest.mark.parametrize("serve", [http, silent, answers_nothing], ids=lambda serve: serve.__name__)
def test_what_is_no_server_is_away(serve: Serve) -> None:
    assert asyncio.run(state_with(serve)) == "AWAY"
