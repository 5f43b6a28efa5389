"""A provider that answers at once, in a process of its own: `python -m bench.provider` prints its port.

A request whose body has `"chunks": N` is answered by N events, PAUSE_S apart, each with the time of its sending.
"""

import asyncio
import re
import time
from typing import Final

PAUSE_S: Final = 0.001
_CHUNKS: Final = re.compile(rb'"chunks":(\d+)')
_BODY: Final = b'{"choices":[]}'
"""Without usage, which is recorded after an answer: the next request comes at once here, and would wait for it."""
_ANSWER: Final = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (
    len(_BODY),
    _BODY,
)
_STREAM: Final = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while True:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError:
            writer.close()
            return
        length = int(re.search(rb"(?i)content-length: (\d+)", head)[1])  # type: ignore[index]
        body = await reader.readexactly(length)
        if (wanted := _CHUNKS.search(body)) is None:
            writer.write(_ANSWER)
            continue
        writer.write(_STREAM)
        for _ in range(int(wanted[1])):
            event = b'data: {"choices":[{"delta":{"content":"word "}}],"sent":%f}\n\n' % time.monotonic()
            writer.write(b"%x\r\n%b\r\n" % (len(event), event))
            await asyncio.sleep(PAUSE_S)
        writer.write(b"0\r\n\r\n")


async def _main() -> None:
    server = await asyncio.start_server(_serve, "127.0.0.1", 0, limit=2**24)
    print(server.sockets[0].getsockname()[1], flush=True)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_main())
