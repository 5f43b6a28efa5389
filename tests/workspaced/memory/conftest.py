"""A daemon with a memory folder, shared by the tests of a module."""

from typing import Any

import pytest
from support.memory import FLAGS


@pytest.fixture(scope="module")
def shared_memory(module_daemon: Any) -> Any:
    """One running daemon with a memory folder. Its log and its folder are not empty."""
    return module_daemon(*FLAGS)
