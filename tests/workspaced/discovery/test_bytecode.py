"""Where compiled modules lie: beside the sources if Python keeps them there, else in a folder of ours alone."""

import json
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from support.daemon import Factory

REPOSITORY = Path(__file__).parents[3]
ASK = """
import json, os, sys
from workspaced.discovery.bytecode import keep_bytecode
keep_bytecode()
found = [sys.pycache_prefix, sys.dont_write_bytecode]
print(json.dumps([*found, *map(os.environ.get, ("PYTHONPYCACHEPREFIX", "PYTHONDONTWRITEBYTECODE"))]))
"""
FORBIDDEN = {"PYTHONDONTWRITEBYTECODE": "1"}


class Installed(NamedTuple):
    """Our sources in a place of their own, not compiled, and a home."""

    root: Path
    home: Path

    @property
    def folder(self) -> Path:
        return self.home / ".cache/workspaced/.bytecode"

    @property
    def env(self) -> dict[str, str]:
        path = os.pathsep.join(str(self.root / name) for name in ("workspaced", "events", "tools"))
        return {"HOME": str(self.home), "PYTHONPATH": path}

    def ask(self, *options: str, **env: str) -> list[Any]:
        """Prefix and whether nothing is written, as the interpreter has them; both as its children get them."""
        dropped = ("PYTHON", "XDG_", "WORKSPACED_")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
        done = subprocess.run(
            [sys.executable, *options, "-c", ASK], env={**kept, **self.env, **env}, capture_output=True, check=True
        )
        found: list[Any] = json.loads(done.stdout)
        return found

    def compiled(self) -> list[Path]:
        """Bytecode beside the sources."""
        return list(self.root.rglob("__pycache__/*.pyc"))


NOTHING = [None, True, None, "1"]


@pytest.fixture
def installed(tmp_path: Path) -> Installed:
    for name in ("workspaced", "events", "tools"):
        shutil.copytree(REPOSITORY / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "home").mkdir(mode=0o700)
    return Installed(tmp_path, tmp_path / "home")


def test_where_python_may_not_write_beside_the_sources_a_private_folder_is_used(installed: Installed) -> None:
    folder = str(installed.folder)
    assert installed.ask(**FORBIDDEN) == [folder, False, folder, None]
    assert stat.S_IMODE(installed.folder.stat().st_mode) == 0o700
    assert installed.ask(**FORBIDDEN) == [folder, False, folder, None]
    assert not installed.compiled()
    (installed.root / "workspaced/workspaced/discovery/__pycache__").write_text("in the way, also for root")
    assert installed.ask()[:2] == [folder, False], "where it cannot write there"


def test_where_python_writes_beside_the_sources_nothing_changes(installed: Installed) -> None:
    assert installed.ask() == [None, False, None, None]
    assert installed.compiled() and not installed.folder.exists()
    assert installed.ask(**FORBIDDEN) == NOTHING, "it is compiled already"


def test_a_folder_that_others_may_change_is_not_used(installed: Installed, tmp_path: Path) -> None:
    cache = installed.folder.parent
    cache.parent.touch()
    assert installed.ask(**FORBIDDEN) == NOTHING, "there is no place for it"
    cache.parent.unlink()
    cache.mkdir(parents=True, mode=0o700)
    installed.folder.mkdir(mode=0o700)
    for path, mode in ((installed.folder, 0o755), (cache, 0o770), (installed.home, 0o707)):
        before = path.stat().st_mode
        path.chmod(mode)
        assert installed.ask(**FORBIDDEN) == NOTHING
        path.chmod(before)
    assert installed.ask(**FORBIDDEN)[0] == str(installed.folder)
    if os.geteuid() == 0:  # only root gives folders away
        for path in (installed.folder, installed.home):
            os.chown(path, 1, 1)
            assert installed.ask(**FORBIDDEN) == NOTHING
            os.chown(path, 0, 0)
    installed.folder.rename(tmp_path / "elsewhere")
    installed.folder.symlink_to(tmp_path / "elsewhere")
    assert installed.ask(**FORBIDDEN) == NOTHING


@pytest.mark.thorough
def test_a_daemon_keeps_what_it_compiled(installed: Installed, daemon: Factory) -> None:
    running = daemon(start=False, real=True)
    running.env.update(installed.env, **FORBIDDEN)
    running.env.pop("PYTHONPYCACHEPREFIX", None)
    running.start()
    assert list(installed.folder.rglob("lifecycle.*.pyc"))
    assert not installed.compiled()
