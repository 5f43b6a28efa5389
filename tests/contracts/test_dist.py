"""What is published: a source distribution that lacks nothing, a README whose links lead somewhere, the plugin."""

import importlib.util
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
BASE = "https://example.org/files"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a wheel that was built of the source distribution, and of that."""
    out = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), str(ROOT)]
    env = {**os.environ, "REPOSITORY_URL": BASE}
    done = subprocess.run(command, capture_output=True, text=True, env=env, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
    return out


def tracked() -> list[str]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    return [name for name in listed.stdout.split("\0") if name and not name.startswith(".ci/")]


@pytest.mark.thorough
def test_the_source_distribution_holds_every_file(built: Path) -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("only a clone knows its files")
    with tarfile.open(next(built.glob("*.tar.gz"))) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert set(tracked()) - names == set()


@pytest.mark.thorough
def test_the_wheel_holds_plugin_and_man_page(built: Path) -> None:
    with zipfile.ZipFile(next(built.glob("*.whl"))) as wheel:
        names = set(wheel.namelist())
        (metadata,) = [wheel.read(name).decode() for name in names if name.endswith(".dist-info/METADATA")]
    plugin = ROOT / "clients" / "neovim"
    for path in plugin.rglob("*"):
        if path.is_file():
            assert f"workspaced/editors/neovim/{path.relative_to(plugin).as_posix()}" in names
    assert any(name.endswith(".data/data/share/man/man1/workspaced.1") for name in names)
    assert f"]({BASE}/docs/how-to/index.md)" in metadata and "](docs/" not in metadata


@pytest.fixture(scope="module")
def package_form() -> Any:
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.package_form


@pytest.mark.parametrize("base", [BASE, ""])
def test_no_link_of_the_packages_readme_is_relative(package_form: Any, base: str) -> None:
    text = package_form((ROOT / "README.md").read_text(), base)
    targets = re.findall(r"\]\(([^)]+)\)|(?:src|srcset)=\"([^\"]+)\"", text)
    assert all(target.startswith("https://") for pair in targets for target in pair if target)
    assert "how-to guides" in text and (bool(targets) is bool(base))


def test_every_package_has_a_target_of_make_dist() -> None:
    makefile = (ROOT / "Makefile").read_text()
    recipe = makefile.partition("\ndist: ")[2].partition("\n\n")[0]
    assert "-m build" in recipe and "npm pack" in recipe
