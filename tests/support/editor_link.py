"""`workspaced ide` in a process of its own, and a client of its WebSocket: honest as Claude Code, or not."""

import json
import os
import signal
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import Any

from websockets.sync.client import connect

from support.daemon import ANSWER_S, Daemon
from support.program import Program

Json = dict[str, Any]
TOKEN = "x-claude-code-ide-authorization"
QUIET_S = 0.4
"""After this time without a message nothing more is told: an event takes a tenth of it."""

BENIGN = "Exception in callback Future.set_result(None)"
"""What anyio leaves behind when a read of a Unix socket is cancelled in the moment in which something arrives."""


class Link(Program):
    """It has announced itself in the daemon's home."""

    def __init__(
        self, daemon: Daemon, *flags: str, vault: Path | None = None, env: Mapping[str, str] | None = None
    ) -> None:
        command = ("ide", "--socket", str(daemon.socket), "--vault", str(vault or daemon.vault), "--json", *flags)
        super().__init__(*command, env={**daemon.env, **(env or {})})
        self.port: int = self.started["port"]
        self.path = Path(self.started["lock"])
        self.lock: Json = json.loads(self.path.read_text())

    def claude(self, **changes: Any) -> "Claude":
        """A session that has said hello; `changes` are arguments of `connect`."""
        return Claude(self, **changes)

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Ends it by a signal; returns the exit code."""
        os.kill(self.process.pid, number)
        return self.wait()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        if self.process.poll() is not None:
            return
        code = self.stop()
        if error is None:
            assert code == 0, (code, self.stderr)
            assert not self.path.exists()
            said = "\n".join(self.stderr)
            assert said.count("Traceback") == said.count(BENIGN), self.stderr


def opened(link: Link, *, headers: Mapping[str, str] | None = None, **changes: Any) -> connect:
    """`with` it a bare connection is open, with the token, which `headers` can replace."""
    sent = {TOKEN: link.lock["authToken"], **(headers or {})}
    options = {"subprotocols": ["mcp"], "compression": None, "open_timeout": ANSWER_S, "proxy": None, **changes}
    return connect(f"ws://127.0.0.1:{link.port}", additional_headers=sent, **options)


class Claude:
    """A session as Claude Code opens it."""

    def __init__(self, link: Link, **changes: Any) -> None:
        self._open = ExitStack()
        self.connection = self._open.enter_context(opened(link, **changes))
        self._ids = 0
        self._told: list[Json] = []
        self._last: Json = {}
        hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "claude-code"}}
        self.server = self.ask("initialize", hello)["result"]
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def send(self, message: Any) -> None:
        self.connection.send(message if isinstance(message, str | bytes) else json.dumps(message))

    def message(self, timeout_s: float = ANSWER_S) -> Any:
        """The next message."""
        return json.loads(self.connection.recv(timeout_s))

    def ask(self, method: str, params: Any = None) -> Json:
        """The answer to a request; what is told meanwhile is kept."""
        self._ids += 1
        self.send({"jsonrpc": "2.0", "id": self._ids, "method": method, "params": params or {}})
        while (message := self.message()).get("id") != self._ids:
            self._told.append(message)
        return message

    def told(self) -> Json:
        """What is told next that is new: a session that begins is told the present twice."""
        while True:
            message = self._told.pop(0) if self._told else self.message()
            assert message["method"] == "selection_changed" and message["jsonrpc"] == "2.0"
            before, self._last = self._last, message["params"]
            if self._last != before:
                return self._last

    def is_told_nothing(self) -> bool:
        """Whether nothing new is told for a while."""
        with suppress(TimeoutError):
            self._told.append(self.message(QUIET_S))
        return all(each["params"] == self._last for each in self._told)

    def tool(self, name: str) -> Any:
        """The answer of a tool: JSON, or the text of its error."""
        result = self.ask("tools/call", {"name": name, "arguments": {}})["result"]
        text = result["content"][0]["text"]
        return text if result["isError"] else json.loads(text)

    def __enter__(self) -> "Claude":
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()
