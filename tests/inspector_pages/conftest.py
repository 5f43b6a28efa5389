"""An inspector over a recorded log, for tests that look at its page."""

from collections.abc import Iterator

import pytest
from support.inspector import Inspector, over_recorded


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Inspector]:
    """Over `RECORDED`; for tests that only look."""
    with over_recorded(tmp_path_factory.mktemp("inspector")) as running:
        yield running
