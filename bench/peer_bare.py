"""The floor of the comparison: one loop that reads a file for each JSON-RPC line, `python peer_bare.py VAULT`.

It knows just enough of MCP for the official client to call its one tool, and checks nothing: what a server costs
beyond this is its own.
"""

import json
import sys
from typing import Any

TOOL = {
    "name": "read",
    "description": "Read a note.",
    "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
}


def answer(vault: str, method: str, params: dict[str, Any]) -> dict[str, Any]:
    """The result of a request; what is no known method gets an empty one."""
    if method == "tools/call":
        with open(f"{vault}/{params['arguments']['path']}", encoding="utf-8") as file:
            return {"content": [{"type": "text", "text": file.read()}], "isError": False}
    if method == "tools/list":
        return {"tools": [TOOL]}
    if method == "initialize":
        server = {"name": "bare", "version": "1"}
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": server}
    return {}


def main(vault: str) -> None:
    """Answers until stdin ends."""
    for line in sys.stdin.buffer:
        request = json.loads(line)
        if "id" in request:
            result = answer(vault, request["method"], request.get("params") or {})
            reply = {"jsonrpc": "2.0", "id": request["id"], "result": result}
            sys.stdout.buffer.write(json.dumps(reply).encode() + b"\n")
            sys.stdout.buffer.flush()


if __name__ == "__main__":
    main(sys.argv[1])
