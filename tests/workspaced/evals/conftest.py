"""The demo's morning with its wrong answer judged, commands in this process, and models that misbehave."""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support.model_server import ModelServer
from support.raw_upstream import Connection, RawUpstream

from workspaced.cli import run
from workspaced.demo.morning import INSTALLED

PROMPT = 163
CALL = 156
KICKOFF = "projects/ferrybook/Kickoff.md"
WANTED = "29 June"

Cli = Callable[..., Any]


@pytest.fixture
def cli(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Cli:
    """Runs a command in `tmp_path`: its exit code, and what it printed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))

    def ran(*arguments: str | Path | int) -> Any:
        code = run([*map(str, arguments)])
        sys.stdout.flush()
        said = capfd.readouterr()
        return SimpleNamespace(code=code, out=said.out, err=said.err)

    return ran


@pytest.fixture
def morning(tmp_path: Path) -> Path:
    copied = tmp_path / "demo.wsb"
    copied.write_bytes(INSTALLED.read_bytes())
    return copied


@pytest.fixture
def judged(morning: Path, cli: Cli) -> Path:
    assert cli("judge", PROMPT, "wrong", morning, "--wanted", WANTED, "--why", "Kickoff.md says so.").code == 0
    return morning


@pytest.fixture
def model() -> Iterator[str]:
    """The base URL of a model that quotes what it was shown."""
    with ModelServer() as url:
        yield f"{url}/v1"


class Scripted(RawUpstream):
    """A model behind chat completions that answers what a test says, one answer after another."""

    def __init__(self) -> None:
        super().__init__(self._converse)
        self.url = ""
        self.answers: list[tuple[int, Any]] = []
        """Status, and the body, or None for silence; the last one is repeated."""
        self.kept_back = 0
        """So many of the last bytes that were promised are not sent."""
        self.bodies: list[Any] = []
        self.headers: list[Any] = []

    def _converse(self, connection: Connection) -> None:
        """One request of each connection."""
        request = connection.request()
        assert request is not None
        self.headers.append(dict(request.headers))
        self.bodies.append(json.loads(request.body))
        status, body = self.answers[min(len(self.bodies), len(self.answers)) - 1]
        if body is None:
            connection.wait_until_closed()
            return
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        head = f"HTTP/1.1 {status} So\r\nretry-after: 7\r\nconnection: close\r\n"
        head += f"content-length: {len(content)}\r\n\r\n"
        connection.send(head.encode() + content[: len(content) - self.kept_back])


@pytest.fixture
def scripted() -> Iterator[Scripted]:
    made = Scripted()
    with made as url:
        made.url = f"{url}/v1"
        yield made


def says(text: str, reason: str = "stop") -> tuple[int, Any]:
    return _completion({"role": "assistant", "content": text}, reason)


def calls(tool: str, arguments: str) -> tuple[int, Any]:
    call = {"id": "c1", "type": "function", "function": {"name": tool, "arguments": arguments}}
    return _completion({"role": "assistant", "content": None, "tool_calls": [call]}, "tool_calls")


def _completion(message: dict[str, Any], reason: str) -> tuple[int, Any]:
    usage = {"prompt_tokens": 9, "completion_tokens": 1, "total_tokens": 10}
    about = {"id": "1", "object": "chat.completion", "created": 0, "model": "mine", "usage": usage}
    return 200, {**about, "choices": [{"index": 0, "message": message, "finish_reason": reason}]}
