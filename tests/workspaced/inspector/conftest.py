"""An inspector over a log of the kind that a test asks for."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from support.daemon import clean_environment
from support.inspector import Inspector, environment_in, over_recorded

from workspaced.demo.morning import INSTALLED


@pytest.fixture
def inspect(tmp_path: Path) -> Iterator[Callable[..., Inspector]]:
    """Starts inspectors, each with a HOME of its own; they end with the test."""
    with ExitStack() as ending:

        def start(*arguments: Any, env: dict[str, str] | None = None) -> Inspector:
            return ending.enter_context(Inspector(*arguments, env=env or clean_environment(tmp_path)))

        yield start


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Inspector]:
    """Over `RECORDED`; for tests that only ask."""
    with over_recorded(tmp_path_factory.mktemp("inspector")) as running:
        yield running


@pytest.fixture(scope="session")
def morning(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Inspector]:
    """Over the demo's morning; for tests that only ask."""
    with Inspector(INSTALLED, env=environment_in(tmp_path_factory.mktemp("home"))) as running:
        yield running
