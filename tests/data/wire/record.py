"""Records what an older version's clients and daemon say to each other: `python record.py TREE > NAME.json`.

TREE is a checkout of that version, its TypeScript client built. Each of its clients (Python in both kinds, command
line, bridge, TypeScript, Neovim) does its ordinary work through a relay that notes every line of both sides.
"""

import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

NOTES = {"a.md": "# Alpha\n\nSee [[b]].\n", "b.md": "# Beta\n", "c.md": "# Gamma\n"}
PYTHON = """
import sys
from workspaced import connect
from workspaced.errors import RemoteError
with connect(sys.argv[1], name="old-python") as client:
    client.publish([{"type": "active_note_set", "data": {"note": "a.md"}}])
    client.state()
    client.tool("get_workspace_context")
    client.tool("search_workspace", {"query": "beta"})
    client.call("workspaced/status")
    client.call("workspaced/log", {"from": 1, "limit": 5})
    client.call("workspaced/calls")
    client.call("workspaced/share", {"client": "agent"})
    try:
        client.call("workspaced/of-a-later-version")
    except RemoteError:
        pass
    next(client.events(since=0))
"""
ASYNC = """
import sys, anyio
from workspaced import Client
async def main():
    async with Client.open(sys.argv[1], name="old-async") as client:
        await client.show(active="b.md", pins=["a.md"], tabs=[{"note": "c.md", "source": "search"}])
        async with client.subscribe(since=0) as notices:
            await client.publish([{"type": "note_pinned", "data": {"note": "b.md"}}])
            await notices.receive()
        begun = {"provider": "openai", "model": "m", "contextWindow": 8000, "outputReserve": 1000}
        started = await client.call("workspaced/context/start", begun)
        named = {"conversation": started["conversation"]}
        await client.call("workspaced/context/message", {**named, "messages": [{"role": "user", "text": "Hello"}]})
        await client.call("workspaced/context/assemble", named)
anyio.run(main)
"""
TYPESCRIPT = """
const { connect } = await import(process.argv[2] + "/clients/typescript/dist/index.js");
const client = await connect({ socket: process.argv[1], name: "old-typescript" });
await client.publish([{ type: "active_note_set", data: { note: "a.md" } }]);
await client.show({ active: "b.md", pins: ["a.md"], tabs: [] });
await client.state();
await client.call("get_workspace_context", {});
const events = await client.subscribe({ since: 0 });
for await (const notice of events) break;
await client.close();
"""
# fmt: off
MCP = [
    {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "old-agent", "version": "1"}}},
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
    {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
    {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "get_current_note", "arguments": {}}},
    {"jsonrpc": "2.0", "id": 4, "method": "resources/list"},
]
# fmt: on
COMMANDS = (["status"], ["state"], ["publish", "active_note_set", "note=c.md"], ["call", "get_workspace_context"])


class Relay:
    """Listens at `path`, passes everything on to `to`, and notes the lines."""

    def __init__(self, path: str, to: str) -> None:
        self.connections: list[dict[str, Any]] = []
        self.client = ""
        self._to = to
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(path)
        self._listener.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            near = self._listener.accept()[0]
            far = socket.socket(socket.AF_UNIX)
            far.connect(self._to)
            noted: list[Any] = []
            self.connections.append({"client": self.client, "lines": noted})
            for who, source, target in (("client", near, far), ("daemon", far, near)):
                threading.Thread(target=self._copy, args=(who, source, target, noted), daemon=True).start()

    @staticmethod
    def _copy(who: str, source: socket.socket, target: socket.socket, noted: list[Any]) -> None:
        with suppress(OSError):
            for line in source.makefile("rb"):
                noted.append([who, json.loads(line)])
                target.sendall(line)
            target.shutdown(socket.SHUT_WR)


def record(tree: Path, root: Path) -> list[dict[str, Any]]:
    paths = os.pathsep.join(str(tree / each) for each in ("workspaced", "events", "tools"))
    vault = root / "vault"
    vault.mkdir()
    for name, text in NOTES.items():
        (vault / name).write_text(text)
    env = {"PATH": os.environ["PATH"], "HOME": str(root), "TMPDIR": str(root), "PYTHONPATH": paths}
    serve = ["-m", "workspaced", "serve", "--vault", str(vault), "--data-dir", str(root / "data"), "--no-watch"]
    daemon = subprocess.Popen(
        [sys.executable, *serve, "--socket", str(root / "d")], env=env, stderr=subprocess.PIPE, text=True
    )
    assert daemon.stderr is not None
    while "listening on" not in daemon.stderr.readline():
        pass
    relay = Relay(str(root / "s"), str(root / "d"))
    env["WORKSPACED_SOCKET"] = str(root / "s")

    def run(client: str, *command: str, stdin: str = "") -> None:
        relay.client = client
        subprocess.run(command, input=stdin, env=env, cwd=vault, text=True, check=True, stdout=subprocess.DEVNULL)

    try:
        run("python", sys.executable, "-c", PYTHON, str(root / "s"))
        run("python-async", sys.executable, "-c", ASYNC, str(root / "s"))
        for command in COMMANDS:
            run("command-line", sys.executable, "-m", "workspaced", *command)
        run("bridge", sys.executable, "-m", "workspaced", "mcp", stdin="".join(json.dumps(m) + "\n" for m in MCP))
        run("typescript", "node", "--input-type=module", "-e", TYPESCRIPT, str(root / "s"), str(tree))
        later = "lua for at, what in pairs({[1000]='edit b.md', [2500]='WorkspacedPin', [4000]='qall!'}) do"
        later += " vim.defer_fn(function() vim.cmd(what) end, at) end"
        plugin = ["--cmd", f"set runtimepath^={tree}/clients/neovim", "--cmd", later, "a.md"]
        run("neovim", "nvim", "--headless", "-n", "-i", "NONE", "--clean", *plugin)
    finally:
        daemon.terminate()
        daemon.wait()
    return relay.connections


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="wsd-", dir="/tmp") as directory:
        connections = record(Path(sys.argv[1]).resolve(), Path(directory))
    sys.stdout.write("[\n" + ",\n".join(json.dumps(each) for each in connections) + "\n]\n")
