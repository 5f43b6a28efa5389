"""The memory folder for tests: commands of an agent, and what the log says of them."""

from pathlib import Path
from typing import Any

FOLDER = "Memory"
FLAGS = ("--memory", FOLDER)


def use(client: Any, command: str, path: str = "", **more: Any) -> dict[str, Any]:
    """The result of one command."""
    named = {"path": path} if path else {}
    result: dict[str, Any] = client.tool("memory", {"command": command, **named, **more})
    return result


def said(client: Any, command: str, path: str = "", **more: Any) -> str:
    """The text of a command that succeeds."""
    result = use(client, command, path, **more)
    assert result["success"], result
    text: str = result["data"]["text"]
    return text


def refused(client: Any, command: str, path: str = "", **more: Any) -> str:
    """The code of a command that fails."""
    result = use(client, command, path, **more)
    assert not result["success"], result
    code: str = result["code"]
    return code


def writes(client: Any, **params: Any) -> list[dict[str, Any]]:
    """The writes that the log has, oldest first."""
    found: list[dict[str, Any]] = client.call("workspaced/memory/list", params)["writes"]
    return found


def undo(client: Any, seq: int) -> int:
    """Undoes a write; the sequence of the undoing."""
    made: int = client.call("workspaced/memory/undo", {"seq": seq})["seq"]
    return made


def file(running: Any, name: str) -> Path:
    """A file of the memory folder."""
    path: Path = running.vault / FOLDER / name
    return path
