"""A memory folder in a vault, and an agent's commands carried out on it without a daemon."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from workspaced_tools.memory.commands import plan
from workspaced_tools.memory.folder import MemoryFolder
from workspaced_tools.memory.shared_folder import SharedFolder
from workspaced_tools.ports.memory import MemoryAnswer
from workspaced_tools.ports.questions import UseMemory
from workspaced_tools.vault.files.safe_open import VaultRoot

Use = Callable[..., MemoryAnswer]


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    made = tmp_path / "vault"
    made.mkdir()
    return made


@pytest.fixture
def folder(vault: Path) -> SharedFolder:
    return SharedFolder(MemoryFolder(VaultRoot(vault), ("Memory",)), "Memory/", None)


@pytest.fixture
def use(folder: SharedFolder) -> Use:
    """Carries out one command."""

    def carried_out(command: Any, path: str, **more: Any) -> MemoryAnswer:
        planned = plan(UseMemory(command, path, **more), folder)
        for change in planned.changes:
            folder.folder.apply(change)
        return planned.answer

    return carried_out
