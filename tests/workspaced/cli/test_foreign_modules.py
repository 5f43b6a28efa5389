"""No command runs code of the folder that it is called in, which may be a vault or a download."""

import ast
import json
import os
import subprocess
import sys
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import pytest

import workspaced
import workspaced_events
import workspaced_tools
from workspaced_events.interpreter import installed_command

INITIALIZE = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a module of every name that a program of ours imports; one that runs leaves a mark."""
    folder = tmp_path / "download"
    folder.mkdir()
    installed = {name for name in packages_distributions() if name.isidentifier()}
    for name in installed | sys.stdlib_module_names:
        (folder / f"{name}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'a').write(__name__ + '\\n')\n")
    return folder


@pytest.mark.parametrize(
    "arguments",
    [
        ["status", "--json"],
        pytest.param(["demo", "--json"], marks=pytest.mark.thorough),
        pytest.param(["demo", "--serve"], marks=pytest.mark.thorough),
        pytest.param(["mcp", "--vault", "."], marks=pytest.mark.thorough),
    ],
    ids=" ".join,
)
def test_a_folder_full_of_modules_is_a_folder_of_files(daemon: Any, folder: Path, arguments: list[str]) -> None:
    here = daemon(start=False)
    env = {**here.env, "XDG_RUNTIME_DIR": str(here.root), "TMPDIR": str(here.root)}
    env = {name: value for name, value in env.items() if name not in ("PYTHONPATH", "WORKSPACED_SOCKET")}
    (folder / "code.py").write_text("def a(): ...\n" * 10)
    (folder / "note.md").write_text("# Note\n")

    def run(*wanted: str) -> "subprocess.CompletedProcess[bytes]":
        given = json.dumps(INITIALIZE).encode() + b"\n"
        return subprocess.run(
            [*installed_command(), *wanted], input=given, env=env, cwd=folder, capture_output=True, timeout=120
        )

    try:
        done = run(*arguments)
        assert done.returncode == (3 if arguments[0] == "status" else 0), done.stderr
        assert not (folder.parent / "ran").exists(), (folder.parent / "ran").read_text()
    finally:
        for name in ("demo", "default"):
            run("stop", "--workspace", name)


def test_such_a_module_would_run_without_the_flag(folder: Path) -> None:
    env = {name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"}
    subprocess.run([sys.executable, "-m", "workspaced", "--help"], cwd=folder, env=env, capture_output=True)
    assert (folder.parent / "ran").exists()


@pytest.mark.thorough
def test_one_module_makes_every_command_that_starts_python() -> None:
    found = []
    for package in (workspaced, workspaced_events, workspaced_tools):
        for path in Path(package.__path__[0]).rglob("*.py"):
            names = {ast.unparse(node) for node in ast.walk(ast.parse(path.read_text()))}
            if names & {"sys.executable", "import multiprocessing", "import runpy"}:
                found.append(path.name)
    assert found == ["interpreter.py"]
