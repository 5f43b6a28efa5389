"""Fixtures for pytest, which finds them by itself where workspaced is installed.

    def test_it(prompt_at):
        assert "29 June" in prompt_at("bug.wsb", 163).text()

Imports nothing of workspaced until a test asks for one of them.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from workspaced import replay

LogPath = str | PathLike[str]
Notes = Mapping[str, str] | LogPath
"""The texts that notes should have had, by their paths; or a folder with such notes."""


class PromptAt:
    """A recorded prompt, with notes as they should have been."""

    def __init__(self, prompt: "replay.Prompt", notes: Mapping[str, str]) -> None:
        self._prompt = prompt
        self._notes = notes

    def text(self) -> str:
        """All that the model was shown."""
        return self._prompt.text(self._notes)

    def body(self, shape: str | None = None) -> dict[str, Any]:
        """The request to the provider, as `workspaced.replay.Prompt.body` gives it."""
        return self._prompt.body(self._notes, shape=shape)


class McpAt:
    """Tools as they answered at a moment."""

    def __init__(self, log: "replay.Log", seq: int, notes: Notes | None) -> None:
        self._log = log
        self._seq = seq
        self._notes = notes

    def call(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        """The answer: of the call that was recorded there if it asked the same, else from other recordings.

        Notes can be as they should have been only for the recorded call.

        Raises:
            InvalidArgument: there are such notes, and it is not the recorded call, or there is none.
        """
        event = self._log.event(self._seq)
        asked = getattr(event.data, "tool", None), getattr(event.data, "arguments", None)
        if asked == (tool, arguments):
            call = self._log.call(self._seq)
            return call.again(_supposed(call.notes(), self._notes))
        if self._notes is not None:
            from workspaced_events.errors import InvalidArgument

            asked_then = self._log.call(self._seq).tool  # raises where it is no call, or one that was forgotten
            raise InvalidArgument(
                f"Event {self._seq}, a call of {asked_then}, did not ask {tool} this.",
                hint="Ask as it asked, or leave the notes out.",
            )
        return self._log.at(self._seq).call(tool, **arguments)


@pytest.fixture(scope="session")
def _workspaced_logs() -> "Iterator[Callable[[LogPath], replay.Log]]":
    with ExitStack() as opened:
        logs: dict[str, replay.Log] = {}

        def log_at(path: LogPath) -> "replay.Log":
            from workspaced import replay

            name = str(path)
            if name not in logs:
                logs[name] = opened.enter_context(replay.open(path))
            return logs[name]

        yield log_at


@pytest.fixture
def workspace_at(_workspaced_logs: Any) -> "Callable[[LogPath, int | str], replay.Moment]":
    """`workspace_at(log, seq)`: the workspace after an event, or at a time; as `workspaced.replay.Log.at`."""
    return lambda log, at: _workspaced_logs(log).at(at)


@pytest.fixture
def mcp_at(_workspaced_logs: Any) -> Callable[..., McpAt]:
    """`mcp_at(log, seq, notes=None).call(tool, **arguments)`: what a tool answered there."""

    def at(log: LogPath, seq: int, notes: Notes | None = None) -> McpAt:
        return McpAt(_workspaced_logs(log), seq, notes)

    return at


@pytest.fixture
def prompt_at(_workspaced_logs: Any) -> Callable[..., PromptAt]:
    """`prompt_at(log, seq, notes=None)`: the recorded prompt, with notes as they should have been."""

    def at(log: LogPath, seq: int, notes: Notes | None = None) -> PromptAt:
        prompt = _workspaced_logs(log).prompt(seq)
        return PromptAt(prompt, _supposed(prompt.notes(), notes))

    return at


def _supposed(shown: Mapping[str, str], notes: Notes | None) -> Mapping[str, str]:
    """The notes that should have been other ones: of a folder those whose text is another one than was shown.

    What editors and systems leave beside notes is no note.
    """
    if notes is None or isinstance(notes, Mapping):
        return notes or {}
    folder = Path(notes)
    found = {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*")) if path.is_file()}
    are_notes = {name for name in found if name.lower().endswith(".md") and "/." not in f"/{name}"}
    texts = {name: found[name].read_bytes().decode() for name in found if name in shown or name in are_notes}
    return {name: text for name, text in texts.items() if shown.get(name) != text}
