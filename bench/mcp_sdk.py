"""The official Python SDK's server with answers by heart: `python mcp_sdk.py ANSWERS`, where `mcp` 2 is installed.

ANSWERS is what `mcp_floor.py` takes. The server is the SDK's lowest one, without the checks and the conversions of
its convenient one; the answer is a value made once, which the SDK encodes at each call.
"""

import json
import sys
from pathlib import Path
from typing import Any

import anyio
from mcp import types  # type: ignore[import-not-found]
from mcp.server.lowlevel import Server  # type: ignore[import-not-found]
from mcp.server.stdio import stdio_server  # type: ignore[import-not-found]


async def main(answers: dict[str, Any]) -> None:
    """Serves until stdin ends."""
    listed = types.ListToolsResult.model_validate(answers["tools/list"])
    called = types.CallToolResult.model_validate(answers["tools/call"])

    async def list_tools(_context: Any, _params: Any) -> Any:
        return listed

    async def call_tool(_context: Any, _params: Any) -> Any:
        return called

    server = Server("sdk", on_list_tools=list_tools, on_call_tool=call_tool)
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())


if __name__ == "__main__":
    anyio.run(main, json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))
