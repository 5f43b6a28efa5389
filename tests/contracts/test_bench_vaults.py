"""Vaults for benchmarks: equal arguments make equal bytes, and what real vaults have is in them."""

import importlib
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from support import ROOT


@pytest.fixture(scope="module")
def vaults() -> ModuleType:
    # bench/ is importable from the root only, and no part of an installed wheel.
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT))
        return importlib.import_module("bench.vaults")


@pytest.fixture(scope="module")
def vault(vaults: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    path = tmp_path_factory.mktemp("vault")
    vaults.make_vault(path, 200)
    return files(path)


def files(path: Path) -> dict[str, bytes]:
    return {file.relative_to(path).as_posix(): file.read_bytes() for file in path.rglob("*") if file.is_file()}


def test_the_same_seed_gives_the_same_bytes_in_another_process(vault, tmp_path):
    command = [sys.executable, "-m", "bench.vaults", str(tmp_path / "again"), "--notes", "200"]
    done = subprocess.run(
        command, cwd=ROOT, env={"PYTHONHASHSEED": "7"}, capture_output=True, check=True, text=True
    )

    assert files(tmp_path / "again") == vault
    counts = json.loads(done.stdout)
    assert counts["notes"] == len(vault)
    assert counts["bytes"] == sum(map(len, vault.values()))
