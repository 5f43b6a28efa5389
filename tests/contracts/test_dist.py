"""What is published: a source distribution that lacks nothing, a README whose links lead somewhere, the plugin."""

import hashlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest
from support.runtimes.programs import INSTALLED

from workspaced.connecting import hooks
from workspaced.connecting.runtimes import RUNTIMES
from workspaced_tools.tools.registry import TOOLS

ROOT = Path(__file__).resolve().parents[2]
PLUGIN = ROOT / "clients" / "claude"
BASE = "https://example.org/files"


NAMESPACE = "io.github.somebody"
CLAUDE = INSTALLED / "@anthropic-ai" / "claude-code"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a source distribution, of the wheel that was built of it, and of what else a release needs."""
    out = tmp_path_factory.mktemp("dist")
    env = {**os.environ, "REPOSITORY_URL": BASE, "RELEASE_URL": BASE, "MCP_NAMESPACE": NAMESPACE}
    for command in (
        ["-m", "build", "--no-isolation", "--outdir", str(out), str(ROOT)],
        [str(ROOT / "release" / "files.py"), str(out)],
    ):
        done = run(sys.executable, *command, env=env)
        assert done.returncode == 0, done.stderr[-2000:]
    assert done.stderr == ""
    return out


def run(*command: str, **options: Any) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(command, capture_output=True, text=True, timeout=120, **options)


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
    assert f"<!-- mcp-name: {NAMESPACE}/workspaced -->" in metadata


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


# -- what a release needs beside the packages --


def released(folder: Path, **environment: str) -> "subprocess.CompletedProcess[str]":
    """Makes the files beside a wheel and a source distribution that are empty, of the plugin's version."""
    named = json.loads((PLUGIN / ".claude-plugin/plugin.json").read_text())["version"]
    for name in (f"workspaced-{named}-py3-none-any.whl", f"workspaced-{named}.tar.gz"):
        (folder / name).touch()
    env = {**os.environ, "RELEASE_URL": BASE, "MCP_NAMESPACE": NAMESPACE, **environment}
    return run(sys.executable, str(ROOT / "release" / "files.py"), str(folder), env=env)


def test_the_registrys_entry_names_what_was_made(tmp_path: Path) -> None:
    done = released(tmp_path)
    assert done.returncode == 0, done.stderr
    entry = json.loads((tmp_path / "server.json").read_text())
    package, bundle = entry["packages"]
    assert entry["name"] == f"{NAMESPACE}/workspaced" and package["version"] == entry["version"]
    positional, named = package["packageArguments"]
    assert positional == {"type": "positional", "value": "mcp"} and "value" not in named
    [made] = tmp_path.glob("*.mcpb")
    assert bundle["identifier"] == f"{BASE}/{made.name}"
    assert bundle["fileSha256"] == hashlib.sha256(made.read_bytes()).hexdigest()


@pytest.mark.parametrize(
    ("environment", "where"),
    [
        ({"MCP_NAMESPACE": "io.github/somebody"}, "$.name"),
        ({"RELEASE_URL": "http://example.org"}, "$.packages[1].identifier"),
    ],
)
def test_what_the_registry_refuses_is_not_made(tmp_path: Path, environment: dict[str, str], where: str) -> None:
    done = released(tmp_path, **environment)
    assert done.returncode == 1 and f"would refuse server.json, at {where}:" in done.stderr
    assert not (tmp_path / "server.json").exists()


@pytest.mark.thorough
def test_the_bundle_holds_the_wheel_and_runs_the_bridge(built: Path, tmp_path: Path) -> None:
    [made], [wheel] = built.glob("*.mcpb"), built.glob("*.whl")
    with zipfile.ZipFile(made) as archive:
        archive.extractall(tmp_path)
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert (tmp_path / wheel.name).read_bytes() == wheel.read_bytes()
    project = tomllib.loads((tmp_path / "pyproject.toml").read_text())
    assert project["tool"]["uv"]["sources"]["workspaced"]["path"] == wheel.name
    assert [each["name"] for each in manifest["tools"]] == list(TOOLS)
    words = manifest["server"]["mcp_config"]["args"]
    started = words.index(manifest["server"]["entry_point"])
    assert words[started + 1 :] == ["mcp", "--vault", "${user_config.folder}"]
    done = run(sys.executable, "server.py", "--version", cwd=tmp_path)
    assert done.stdout == f"workspaced, version {version(built)}\n"
    if shutil.which("mcpb"):
        done = run("mcpb", "validate", "manifest.json", cwd=tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.thorough
def test_claude_code_takes_the_plugin(built: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(next(built.glob("workspaced-claude-*.zip"))) as archive:
        archive.extractall(tmp_path / "plugin")
    plugin = json.loads((tmp_path / "plugin/.claude-plugin/plugin.json").read_text())
    assert plugin["version"] == version(built)
    if not CLAUDE.exists():
        pytest.skip("needs `make .venv/.runtimes`")
    program = CLAUDE.parents[1] / ".bin" / "claude"
    env = {**os.environ, "HOME": str(tmp_path)}
    for path in (tmp_path / "plugin", ROOT):
        done = run(str(program), "plugin", "validate", "--strict", str(path), env=env)
        assert done.returncode == 0, done.stdout + done.stderr


def test_another_version_of_the_plugin_is_not_released(tmp_path: Path) -> None:
    for name in ("workspaced-9.9-py3-none-any.whl", "workspaced-9.9.tar.gz"):
        (tmp_path / name).touch()
    done = run(sys.executable, str(ROOT / "release" / "files.py"), str(tmp_path))
    assert done.returncode == 1 and "set its plugin.json to 9.9" in done.stderr
    assert len(list(tmp_path.iterdir())) == 2


def test_the_plugins_hooks_are_those_that_connect_writes() -> None:
    spec = RUNTIMES["claude"].hooks
    assert spec is not None
    [line] = set(re.findall(r'"command": "(.*)"', (PLUGIN / "hooks/hooks.json").read_text()))
    assert line == "if command -v workspaced >/dev/null; then exec workspaced hook claude; fi"
    written = json.loads((PLUGIN / "hooks/hooks.json").read_text())
    assert written["hooks"] == hooks.settings(spec, line)["hooks"]
    [entry] = json.loads((PLUGIN / ".mcp.json").read_text())["mcpServers"].values()
    assert [entry["command"], *entry["args"]] == ["workspaced", "mcp"]


def test_the_skill_names_every_tool_and_no_other() -> None:
    text = (PLUGIN / "skills/workspaced/SKILL.md").read_text()
    assert set(re.findall(r"`((?:get|search)_\w+)`", text)) == set(TOOLS)


def version(built: Path) -> str:
    return next(built.glob("*.whl")).name.split("-")[1]
