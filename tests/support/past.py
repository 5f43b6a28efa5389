"""Daemons that stand at a moment of a recorded log."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from support.daemon import Daemon, Factory
from workspaced import replay
from workspaced_tools.recording.format import arguments_of

RECORDED_IN = "what is asked here is recorded in "


class Past(Daemon):
    """`workspaced serve --replay LOG`."""

    def __init__(self, root: Path, log: Path, *flags: str) -> None:
        super().__init__(root, root / "no-vault", flags, {})
        self.log = log

    def served(self) -> list[str]:
        return ["--replay", str(self.log)]

    @property
    def run(self) -> Path:
        """The folder of the log of this run."""
        return Path(next(line for line in self.stderr if line.startswith(RECORDED_IN)).removeprefix(RECORDED_IN))

    def ask(self, caller: str, tool: str, **arguments: Any) -> bytes:
        """The answer of one call, in the bytes that an agent reads."""
        with self.connect(caller) as client:
            answer = client.call("tools/call", {"name": tool, "arguments": arguments})
        text: str = answer["content"][0]["text"]
        return text.encode()

    def told(self, caller: str, tool: str, **arguments: Any) -> dict[str, Any]:
        """The same as values."""
        answer: dict[str, Any] = json.loads(self.ask(caller, tool, **arguments))
        return answer


@contextmanager
def past(log: Path, at: int | str | None = None, *flags: str) -> Iterator[Past]:
    """A daemon that stands at the moment, or at the log's end."""
    factory = Factory()
    moment = [] if at is None else ["--at", str(at)]
    made = Past(factory.root(), log, *moment, *flags)
    try:
        yield made.start()
    finally:
        made.tear_down()
        factory.tear_down()


class Asked(NamedTuple):
    """A call that a log holds, and what was answered."""

    seq: int
    caller: str
    tool: str
    arguments: dict[str, Any]
    answer: bytes


def recorded_in(log: Path) -> list[Asked]:
    """The calls that agents made."""
    with replay.open(log) as opened:
        calls = [each for each in opened.calls() if each.event.type == "tool_called"]
        return [
            Asked(
                each.seq,
                each.caller,
                each.tool,
                arguments_of(each.event.data, opened.blob),
                opened.blob(each.event.data.result_sha256) or b"",
            )
            for each in calls
        ]
