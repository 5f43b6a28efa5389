"""What a user installs: the wheel holds three packages and their data, and claims no other import name.

Installed with its base dependencies alone, it does all that the README shows.
"""

import json
import re
import shlex
import subprocess
import sys
import tomllib
import venv
import zipfile
from pathlib import Path
from typing import Any

import httpx2
import pytest
from support.daemon import clean_environment, write_vault
from support.documentation import COMMAND_S, run_readme

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]
LACKING = {"litellm", "nacl", "nats", "opentelemetry", "pytest", "tree_sitter"}
"""What extras bring, and modules of ours import at once."""


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


def test_every_file_of_the_packages_is_in_the_wheel(wheel: zipfile.ZipFile) -> None:
    """Modules, `py.typed`, the demo's vault, the inspector's page with its licences."""
    in_tree = {
        path.relative_to(ROOT / source_root).as_posix()
        for source_root in ("workspaced", "tools", "events")
        for path in (ROOT / source_root).glob("workspaced*/**/*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert "workspaced_tools/py.typed" in in_tree and "workspaced/py.typed" in in_tree
    assert in_tree - set(wheel.namelist()) == set()


def test_pytest_finds_the_fixtures_of_the_wheel(wheel: zipfile.ZipFile) -> None:
    [entry_points] = [name for name in wheel.namelist() if name.endswith(".dist-info/entry_points.txt")]
    assert "[pytest11]\nworkspaced = workspaced.evals.fixtures" in wheel.read(entry_points).decode()


# -- with the base dependencies alone --

MODULES = """
import importlib, json, pkgutil
import workspaced, workspaced_events, workspaced_tools
lacking = {}
for floor in (workspaced, workspaced_events, workspaced_tools):
    for each in pkgutil.walk_packages(floor.__path__, floor.__name__ + "."):
        try:
            importlib.import_module(each.name)
        except ModuleNotFoundError as error:
            lacking[each.name] = error.name
print(json.dumps(lacking))
"""


@pytest.fixture(scope="module")
def installed(wheel: zipfile.ZipFile, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the commands of an environment are that holds the wheel and what it depends on, and nothing else."""
    folder = tmp_path_factory.mktemp("base")
    venv.create(folder, symlinks=True)
    pip = [sys.executable, "-m", "pip", "--python", str(folder / "bin/python"), "install", "--quiet"]
    done = subprocess.run([*pip, "--no-compile", str(wheel.filename)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return folder / "bin"


class Home:
    """A home, for commands of the environment."""

    def __init__(self, installed: Path, root: Path) -> None:
        self.installed, self.root = installed, root
        self._env = {**clean_environment(root), "XDG_RUNTIME_DIR": str(root), "PYTHONDONTWRITEBYTECODE": ""}

    def start(self, *command: str, **env: str) -> subprocess.Popen[str]:
        streams: Any = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        program, given = str(self.installed / command[0]), {**self._env, **env}
        return subprocess.Popen([program, *command[1:]], cwd=self.root / "home", env=given, text=True, **streams)

    def run(self, *command: str, code: int = 0, **env: str) -> str:
        """What a command prints: on standard error if it shall fail."""
        with self.start(*command, **env) as process:
            out, errors = process.communicate(timeout=COMMAND_S)
        assert process.returncode == code, out + errors
        return errors if code else out


@pytest.fixture
def home(installed: Path, daemon: Any, monkeypatch: pytest.MonkeyPatch) -> Home:
    monkeypatch.delenv("PYTHONPATH", raising=False)  # it would put the clone's packages before those installed
    return Home(installed, daemon.root())


@pytest.mark.thorough
def test_a_module_that_cannot_be_imported_lacks_what_an_extra_brings(home: Home) -> None:
    lacking = json.loads(home.run("python", "-c", MODULES))
    optional = re.compile(r"\.(adapters|peers|traces)\.|\.evals\.fixtures$")
    assert [name for name in lacking if not optional.search(name)] == []
    assert set(lacking.values()) <= LACKING


@pytest.mark.thorough
def test_the_man_page_and_the_schemas_are_those_of_the_clone(home: Home) -> None:
    assert home.run("workspaced", "manual") == (ROOT / "docs/reference/workspaced.1").read_text()
    home.run("workspaced", "schema", "--check", "--dir", str(ROOT / "schemas"))


@pytest.mark.thorough
def test_what_the_readme_shows_works(home: Home) -> None:
    assert "✗" not in home.run("workspaced", "demo")
    run_readme(home.installed, home.root)
    with home.start("workspaced", "inspect", "bug.wsb", "--no-browser", "--json") as inspector:
        try:
            assert inspector.stdout is not None
            page = httpx2.get(json.loads(inspector.stdout.readline())["url"], trust_env=False)
        finally:
            inspector.terminate()
    assert page.status_code == 200 and "<script" in page.text


@pytest.mark.thorough
def test_what_needs_an_extra_says_what_to_install(home: Home) -> None:
    vault = write_vault(home.root / "vault", {"a.py": "def f(): ...\n", "b.ts": "function f() {}\n"})
    with home.start("workspaced", "serve", "--vault", str(vault), "--files", "*") as daemon:
        try:
            assert daemon.stderr is not None
            assert any("listening on" in line for line in daemon.stderr)
            refused = home.run("workspaced", "link", "new", "--servers", "nats://localhost", code=1)
            assert refused.endswith(
                f" uv pip install --python {home.installed}/python {shlex.join(EXTRAS['nats'])}\n"
            )
            for name, parsers in {"a.py": "tree_sitter_python", "b.ts": "tree_sitter_typescript"}.items():
                asked = ("call", "get_note_by_reference", f"reference={name}", "includeOutline=true")
                [said] = re.findall(r"\(pip install (.*?)\)", home.run("workspaced", *asked))
                assert parsers in said and packages(said.split()) <= packages(EXTRAS["code"])
        finally:
            daemon.terminate()


def packages(requirements: list[str]) -> set[str]:
    """Their names, in one form."""
    return {re.split("[<>=]", each)[0].replace("_", "-") for each in requirements}
