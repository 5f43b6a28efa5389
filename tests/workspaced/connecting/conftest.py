"""A home of its own for each test, so that no program's true settings are read or changed."""

from pathlib import Path

import pytest
from support.program_settings import VARIABLES

from workspaced.cli import run


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    path = tmp_path / "home"
    path.mkdir()
    monkeypatch.setenv("HOME", str(path))
    return path


class Command:
    """A command that is run in this process: exit code, stdout, stderr."""

    def __init__(self, capsys: pytest.CaptureFixture[str], *words: str) -> None:
        self._capsys = capsys
        self._words = words

    def __call__(self, *arguments: str | Path) -> tuple[int, str, str]:
        self._capsys.readouterr()
        code = run([*self._words, *map(str, arguments)])
        out, err = self._capsys.readouterr()
        return code, out, err


@pytest.fixture
def connect(home: Path, capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(capsys, "connect")


def folder(path: Path) -> Path:
    path.mkdir(parents=True)
    return path


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    return path


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    return folder(tmp_path / "notes")
