"""Agents of the bridge's tests."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from support.bridge import END_S, Agent


@pytest.fixture
def agent() -> Iterator[Callable[..., Agent]]:
    """`agent(daemon, *arguments)`: a bridge with that daemon's environment, and nothing that names a socket."""
    made: list[Agent] = []

    def start(running: Any, *arguments: str, cwd: Path | None = None, env: dict[str, str] | None = None) -> Agent:
        made.append(Agent(arguments, env or running.env, cwd or running.root))
        return made[-1]

    yield start
    for each in made:
        each.process.kill()
        each.process.wait(END_S)
        for stream in (each.to, each.of, each.err):
            with suppress(BrokenPipeError):
                stream.close()
