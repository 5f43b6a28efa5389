"""Inspectors over recorded logs, for tests that look at their page."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from support.daemon import clean_environment
from support.inspector import Inspector, over_recorded

from workspaced.demo.morning import INSTALLED


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Inspector]:
    """Over `RECORDED`; for tests that only look."""
    with over_recorded(tmp_path_factory.mktemp("inspector")) as running:
        yield running


@pytest.fixture(scope="session")
def morning(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Inspector]:
    """Over the demo's morning; for tests that only look."""
    with Inspector(INSTALLED, env=clean_environment(tmp_path_factory.mktemp("morning"))) as running:
        yield running


@pytest.fixture
def inspect(tmp_path: Path) -> Iterator[Callable[[Path], Inspector]]:
    """Starts inspectors that end with the test. Asked for before `open_page`, they end after their pages."""
    with ExitStack() as ending:
        yield lambda log: ending.enter_context(Inspector(log, env=clean_environment(tmp_path)))
