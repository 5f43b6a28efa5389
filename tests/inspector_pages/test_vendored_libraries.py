"""The libraries of the inspector's page: few bytes, licensed, and as npm's registry has them."""

import gzip
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from support import ROOT, npm

CLIENT = ROOT / "clients" / "inspector"
STATIC = Path("workspaced/workspaced/inspector/static")
VENDOR = ROOT / STATIC / "vendor"
OURS = {"vendor.json", "index.js", "uplot.js", "hooks.d.ts", "htm.d.ts", "preact.d.ts", "signals.d.ts"}
LICENCES = {"MIT": "Permission is hereby granted, free of charge", "Apache-2.0": "Apache License"}
GZIPPED_BYTES_MAX = 40 * 1024
NPM_S = 300.0

PACKAGES: list[dict[str, Any]] = json.loads((VENDOR / "vendor.json").read_text())["packages"]


def test_they_are_small_on_the_wire() -> None:
    sent = [path for path in VENDOR.iterdir() if path.suffix in {".js", ".css"}]
    assert len(sent) > len(PACKAGES)
    assert sum(len(gzip.compress(path.read_bytes())) for path in sent) <= GZIPPED_BYTES_MAX


def test_every_file_is_ours_or_of_a_package() -> None:
    listed = {each["to"] for package in PACKAGES for each in package["files"]}
    assert {path.relative_to(VENDOR).as_posix() for path in VENDOR.rglob("*") if path.is_file()} == listed | OURS


def test_modules_import_only_files_of_the_folder() -> None:
    for path in VENDOR.glob("*.js"):
        for name in re.findall(r"""\b(?:from|import)\s*["']([^"']+)["']""", path.read_text()):
            assert name.startswith("./") and (VENDOR / name).is_file(), f"{path.name} imports {name}"


@pytest.mark.parametrize("package", PACKAGES, ids=lambda each: each["name"])
def test_a_package_has_its_licence_beside_it(package: dict[str, Any]) -> None:
    (licence,) = [each["to"] for each in package["files"] if each["to"].startswith("licences/")]
    assert LICENCES[package["licence"]] in (VENDOR / licence).read_text()


def test_types_are_those_of_the_same_versions() -> None:
    versions = {package["name"]: package["version"] for package in PACKAGES}
    wanted = json.loads((CLIENT / "package.json").read_text())["devDependencies"]
    common = versions.keys() & wanted.keys()
    assert common == versions.keys() - {"@preact/signals-core"}  # comes with @preact/signals
    assert {name: wanted[name] for name in common} == {name: versions[name] for name in common}


# -- with npm --


def vendor(root: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Runs the script of a tree; skips the test if the registry cannot be reached."""
    script = str(root / "clients" / "inspector" / "vendor.js")
    done = npm.run(root, "node", script, *arguments, timeout_s=NPM_S)
    npm.skip_without_registry(done)
    return done


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of the script and of the folder that it writes."""
    if npm.MISSING is not None:
        pytest.skip(npm.MISSING)
    (tmp_path / "clients" / "inspector").mkdir(parents=True)
    for name in ("vendor.js", "package.json"):
        shutil.copy(CLIENT / name, tmp_path / "clients" / "inspector")
    shutil.copytree(VENDOR, tmp_path / STATIC / "vendor")
    return tmp_path


@pytest.mark.thorough
def test_the_files_are_those_of_the_packages_and_a_change_is_noticed(tree: Path) -> None:
    assert vendor(tree, "--check").returncode == 0
    folder = tree / STATIC / "vendor"
    original = (folder / "htm.js").read_bytes()
    (folder / "htm.js").write_bytes(original + b"\n")
    (folder / "hooks.js").unlink()
    (folder / "stray.js").write_text("")
    done = vendor(tree, "--check")
    assert done.returncode == 1
    assert all(f"vendor/{name}.js" in done.stderr for name in ("htm", "hooks", "stray")), done.stderr
    assert "preact.js" not in done.stderr
    assert vendor(tree).returncode == 0
    assert (folder / "htm.js").read_bytes() == original and not (folder / "stray.js").exists()
    assert vendor(tree, "--check").returncode == 0
