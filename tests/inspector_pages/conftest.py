"""An inspector over a recorded log, for tests that look at its page."""

from collections.abc import Iterator

import pytest
from support import TESTS
from support.inspector import Inspector

RECORDED = TESTS / "data" / "answers" / "v3.wsb"
"""A bundle of a real daemon: notes looked at, calls of every tool, two prompts."""


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Inspector]:
    """Over `RECORDED`, with a HOME of its own; for tests that only look."""
    home = str(tmp_path_factory.mktemp("inspector"))
    with Inspector(RECORDED, env={"HOME": home, "PATH": "/usr/bin:/bin", "XDG_RUNTIME_DIR": home}) as running:
        yield running
