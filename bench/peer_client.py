"""The official Python client with many servers at once: `python peer_client.py`, where `mcp` is installed.

It needs nothing else of this project, since it runs in an environment of its own. One JSON line on stdin asks for
one thing, one on stdout answers it; who asks decides about order and rounds. Times are taken here, around the
client's own call, so the pipe to the caller is not in them.

    {"op": "start", "name", "command", "env", "cwd", "stderr", "timeout_s"}
    {"op": "call", "name", "tool", "arguments": [one or more, taken in turn], "times", "timeout_s"}
    {"op": "tools", "name", "timeout_s"}      {"op": "stop", "name", "timeout_s"}
"""

import asyncio
import contextlib
import json
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from mcp import ClientSession, StdioServerParameters, stdio_client  # type: ignore[import-not-found]

Request = dict[str, Any]


class Server:
    """A server and the task that holds its streams open: they must be closed by the task that opened them."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self._said = open(request["stderr"], "a", encoding="utf-8")  # noqa: SIM115 (closed by the task)
        self._stopping = asyncio.Event()
        self._session: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._hold())

    async def session(self) -> Any:
        """The session, once the handshake is done."""
        return await asyncio.shield(self._session)

    async def stop(self) -> None:
        """Ends it as the client does: stdin is closed, then it is terminated."""
        self._stopping.set()
        with contextlib.suppress(Exception):
            await self._task

    @contextlib.asynccontextmanager
    async def opened(self, parameters: StdioServerParameters, stderr: Any) -> AsyncIterator[Any]:
        """The session, after the handshake, as long as the server runs; it writes its stderr to `stderr`."""
        async with (
            stdio_client(parameters, stderr) as (reading, writing),
            ClientSession(reading, writing) as session,
        ):
            await session.initialize()
            yield session

    async def _hold(self) -> None:
        request = self.request
        command, *arguments = request["command"]
        parameters = StdioServerParameters(command=command, args=arguments, env=request["env"], cwd=request["cwd"])
        try:
            async with self.opened(parameters, self._said) as session:
                self._session.set_result(session)
                await self._stopping.wait()
        except Exception as error:
            if not self._session.done():
                self._session.set_exception(RuntimeError(cause(error)))
        finally:
            self._said.close()


class Servers:
    """All that run, by name."""

    def __init__(self, kind: type[Server] = Server) -> None:
        self._kind = kind
        self._servers: dict[str, Server] = {}

    async def start(self, request: Request) -> Request:
        server = self._servers[request["name"]] = self._kind(request)
        await server.session()
        return {}

    async def call(self, request: Request) -> Request:
        session = await self._servers[request["name"]].session()
        tool, many = request["tool"], request["arguments"]
        taken, result = [], None
        for number in range(request["times"]):
            arguments = many[number % len(many)]
            started = time.perf_counter_ns()
            result = await session.call_tool(tool, arguments)
            taken.append((time.perf_counter_ns() - started) / 1e6)
        assert result is not None
        text = result.model_dump_json(by_alias=True, exclude_none=True)
        return {"ms": taken, "failed": bool(json.loads(text).get("isError")), "answer": text}

    async def tools(self, request: Request) -> Request:
        session = await self._servers[request["name"]].session()
        names, size, cursor = [], 0, None
        while True:
            page = await session.list_tools(cursor=cursor)
            names += [tool.name for tool in page.tools]
            text = page.model_dump_json(by_alias=True, exclude_none=True)
            size += len(text.encode())
            if not (cursor := json.loads(text).get("nextCursor")):
                return {"names": names, "bytes": size}

    async def stop(self, request: Request) -> Request:
        if server := self._servers.pop(request["name"], None):
            await server.stop()
        return {}

    async def close(self) -> None:
        """Ends all."""
        for name in list(self._servers):
            await self.stop({"name": name})


def cause(error: BaseException) -> str:
    """The innermost error of a group, in one line."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}".replace("\n", " ")[:300]


async def main(servers: Servers) -> None:
    """Answers until stdin ends."""
    known: dict[str, Callable[[Request], Awaitable[Request]]] = {
        "start": servers.start,
        "call": servers.call,
        "tools": servers.tools,
        "stop": servers.stop,
    }
    try:
        while line := await asyncio.to_thread(sys.stdin.readline):
            request = json.loads(line)
            try:
                async with asyncio.timeout(request["timeout_s"]):
                    answer = await known[request["op"]](request)
            except TimeoutError:
                answer = {"error": f"no answer within {request['timeout_s']:.0f} s"}
            except Exception as error:
                answer = {"error": cause(error)}
            print(json.dumps(answer), flush=True)
    finally:
        await servers.close()


if __name__ == "__main__":
    asyncio.run(main(Servers()))
