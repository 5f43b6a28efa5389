"""An inspector over a recorded log, for tests that look at its page."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from support.daemon import clean_environment
from support.inspector import Inspector, over_recorded


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Inspector]:
    """Over `RECORDED`; for tests that only look."""
    with over_recorded(tmp_path_factory.mktemp("inspector")) as running:
        yield running


@pytest.fixture
def inspect(tmp_path: Path) -> Iterator[Callable[[Path], Inspector]]:
    """Starts inspectors that end with the test. Asked for before `open_page`, they end after their pages."""
    with ExitStack() as ending:
        yield lambda log: ending.enter_context(Inspector(log, env=clean_environment(tmp_path)))
