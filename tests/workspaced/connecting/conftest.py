"""A home of its own for each test, so that no program's true settings are read or changed."""

from pathlib import Path

import pytest
from support.program_settings import VARIABLES


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    path = tmp_path / "home"
    path.mkdir()
    monkeypatch.setenv("HOME", str(path))
    return path
