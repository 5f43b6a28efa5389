"""Agents of the bridge's tests."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from support.bridge import Agent


@pytest.fixture
def agent() -> Iterator[Callable[..., Agent]]:
    """`agent(daemon, *arguments)`: a bridge with that daemon's environment, and nothing that names a socket."""
    made: list[Agent] = []

    def start(
        running: Any,
        *arguments: str,
        cwd: Path | None = None,
        env: dict[str, str] | None = None,
        limits: Sequence[str] = (),
    ) -> Agent:
        made.append(Agent(arguments, env or running.env, cwd or running.root, limits))
        return made[-1]

    yield start
    for each in made:
        each.close()
