"""An inspector over a log of the kind that a test asks for."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from support import TESTS
from support.inspector import Inspector

RECORDED = TESTS / "data" / "answers" / "v3.wsb"
"""A bundle of a real daemon: notes looked at, calls of every tool, two prompts."""


@pytest.fixture
def inspect(tmp_path: Path) -> Iterator[Callable[..., Inspector]]:
    """Starts inspectors, each with a HOME of its own; they end with the test."""
    with ExitStack() as ending:

        def start(*arguments: Any, env: dict[str, str] | None = None) -> Inspector:
            return ending.enter_context(Inspector(*arguments, env=env or _environment(tmp_path)))

        yield start


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Inspector]:
    """Over `RECORDED`; for tests that only ask."""
    with Inspector(RECORDED, env=_environment(tmp_path_factory.mktemp("inspector"))) as running:
        yield running


def _environment(home: Path) -> dict[str, str]:
    return {"HOME": str(home), "PATH": "/usr/bin:/bin", "XDG_RUNTIME_DIR": str(home)}
