"""What a user installs: the wheel holds three packages and their data, and claims no other import name."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    out = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return zipfile.ZipFile(next(out.glob("*.whl")))


def test_the_wheel_claims_exactly_our_three_import_names(wheel: zipfile.ZipFile) -> None:
    tops = {name.split("/")[0] for name in wheel.namelist() if ".dist-info/" not in name and ".data/" not in name}
    assert tops == {"workspaced", "workspaced_tools", "workspaced_events"}


def test_every_package_in_the_wheel_says_that_it_is_typed(wheel: zipfile.ZipFile) -> None:
    names = set(wheel.namelist())
    assert {f"{package}/py.typed" for package in ("workspaced", "workspaced_tools", "workspaced_events")} <= names


def test_the_demo_vault_travels_with_the_wheel(wheel: zipfile.ZipFile) -> None:
    in_tree = {
        path.relative_to(ROOT / "workspaced").as_posix()
        for path in (ROOT / "workspaced/workspaced/demo").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert len(in_tree) > 40
    assert in_tree <= set(wheel.namelist())


def test_the_inspectors_page_travels_with_the_wheel(wheel: zipfile.ZipFile) -> None:
    in_tree = {
        path.relative_to(ROOT / "workspaced").as_posix()
        for path in (ROOT / "workspaced/workspaced/inspector/static").rglob("*")
        if path.is_file()
    }
    assert any(name.endswith("static/vendor/licences/htm.txt") for name in in_tree)
    assert in_tree <= set(wheel.namelist())


def test_every_module_of_the_tree_is_in_the_wheel(wheel: zipfile.ZipFile) -> None:
    names = set(wheel.namelist())
    for source_root in ("workspaced", "tools", "events"):
        for path in (ROOT / source_root).rglob("*.py"):
            assert path.relative_to(ROOT / source_root).as_posix() in names


def test_the_outer_folders_are_no_packages() -> None:
    for folder in ("events", "tools", "workspaced", "tests"):
        assert not (ROOT / folder / "__init__.py").exists()
