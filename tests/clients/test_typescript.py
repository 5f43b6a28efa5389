"""The TypeScript client: it builds, its types are those of `schemas/`, and its own tests pass on a real daemon.

Its compiler and the AI SDK come from npm's registry into `clients/typescript/node_modules`; where that or Node
cannot be had, the tests are skipped and say why.
"""

import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "clients" / "typescript"
MODEL_SERVER = Path(__file__).resolve().parents[1] / "support" / "model_server.py"
NODE_MAJOR_MIN = 20
INSTALL_S = 120.0
RUN_S = 120.0
OWN_TESTS_S = 400.0
"""Most of it is daemons that start: on a busy machine ten times as long."""
UNREACHABLE = ("ENOTFOUND", "EAI_AGAIN", "ECONNREFUSED", "ECONNRESET", "ETIMEDOUT", "ENETUNREACH", "network")

pytestmark = pytest.mark.skipif(not PACKAGE.is_dir(), reason="clients/ is not here")


def run(
    *command: str, env: Mapping[str, str] | None = None, timeout_s: float = RUN_S
) -> "subprocess.CompletedProcess[str]":
    """Runs a command in the package; what it started ends with it, also when it takes too long."""
    started = subprocess.Popen(
        command,
        cwd=PACKAGE,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        out, err = started.communicate(timeout=timeout_s)
    except BaseException:
        os.killpg(started.pid, signal.SIGKILL)
        started.communicate()
        raise
    return subprocess.CompletedProcess(command, started.returncode, out, err)


def succeed(*command: str, env: Mapping[str, str] | None = None, timeout_s: float = RUN_S) -> str:
    """The output of a command that must end with 0."""
    done = run(*command, env=env, timeout_s=timeout_s)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout[-8000:]}\n{done.stderr[-4000:]}"
    return done.stdout


@pytest.fixture(scope="module")
def node() -> str:
    """Node's path."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        pytest.skip("node and npm are not installed")
    version = run(node, "--version").stdout.strip()
    if int(version.removeprefix("v").split(".")[0]) < NODE_MAJOR_MIN:
        pytest.skip(f"node {version} is older than {NODE_MAJOR_MIN}")
    return node


@pytest.fixture(scope="module")
def built(node: str) -> Path:
    """The package, with its compiler installed and everything compiled. Workers share it: the first one builds."""
    modules = PACKAGE / "node_modules"
    modules.mkdir(exist_ok=True)
    with (modules / ".built").open("a+") as stamp:
        fcntl.flock(stamp, fcntl.LOCK_EX)
        wanted = json.loads((PACKAGE / "package.json").read_text())["devDependencies"]
        if not all(is_installed(name, version) for name, version in wanted.items()):
            install()
        stamp.seek(0)
        if stamp.read() != build_state():
            succeed("npm", "run", "--silent", "build")
            succeed("npm", "run", "--silent", "build:test")
            stamp.truncate(0)
            stamp.write(build_state())
    return PACKAGE


def build_state() -> str:
    """A hash that changes with what is compiled, by its content, and with what it was compiled to, by its time."""
    sources = [path for folder in ("src", "test", "scripts") for path in sorted((PACKAGE / folder).rglob("*.*"))]
    made = sha256()
    for path in (*sources, PACKAGE / "README.md", PACKAGE / "package.json", PACKAGE / "tsconfig.json"):
        made.update(f"{path} {path.stat().st_size} ".encode() + path.read_bytes())
    for path in sorted((PACKAGE / "dist").rglob("*.*")):
        made.update(f"{path} {path.stat().st_mtime_ns}".encode())
    return made.hexdigest()


def is_installed(name: str, wanted: str) -> bool:
    """Whether a package is there as `wanted` says: `1.2.3`, `^1.2.3`, or `npm:NAME@^1.2.3`."""
    described = PACKAGE / "node_modules" / name / "package.json"
    if not described.exists():
        return False
    found, bound = json.loads(described.read_text())["version"], wanted.rpartition("@")[2]
    if not bound.startswith("^"):
        return bool(found == bound)
    installed, lowest = ([int(part) for part in each.split(".")] for each in (found, bound[1:]))
    return installed[0] == lowest[0] and installed >= lowest


def install() -> None:
    try:
        done = run("npm", "install", "--no-audit", "--no-fund", "--fetch-retries=1", timeout_s=INSTALL_S)
    except subprocess.TimeoutExpired:
        pytest.skip(f"npm's registry did not deliver within {INSTALL_S:g} s")
    signs = [line for line in done.stderr.splitlines() if any(sign in line for sign in UNREACHABLE)]
    if done.returncode and signs:
        pytest.skip(f"npm's registry cannot be reached: {signs[0][:200]}")
    assert done.returncode == 0, done.stderr


def test_types_are_those_of_the_schemas_never_stale_and_never_guessed(node: str, tmp_path: Path) -> None:
    succeed(node, "scripts/generate.js", "--check")
    shutil.copytree(PACKAGE.parents[1] / "schemas", tmp_path / "schemas")
    for name in ("scripts", "src"):
        shutil.copytree(PACKAGE / name, tmp_path / "clients" / "typescript" / name)
    generator = str(tmp_path / "clients" / "typescript" / "scripts" / "generate.js")
    changed = tmp_path / "schemas" / "methods" / "unsubscribe.json"
    schema = json.loads(changed.read_text())
    changed.write_text(json.dumps({**schema, "required": []}))
    stale = run(node, generator, "--check")
    assert stale.returncode == 1 and "npm run generate" in stale.stderr
    succeed(node, generator)
    succeed(node, generator, "--check")
    changed.write_text(json.dumps({**schema, "oneOf": []}))
    strange = run(node, generator)
    assert strange.returncode == 1 and "oneOf" in strange.stderr and "methods/unsubscribe" in strange.stderr


@pytest.mark.fault(row=55)
@pytest.mark.thorough
@pytest.mark.parametrize(("of_publisher", "at_least"), [(False, 320), (True, 22)], ids=["client", "publisher"])
def test_its_own_tests_pass_on_a_real_daemon(
    built: Path, node: str, daemon: Any, of_publisher: bool, at_least: int
) -> None:
    environment = {
        **daemon(start=False).env,
        "DAEMON_COMMAND": json.dumps([sys.executable, "-m", "workspaced"]),
        "MODEL_SERVER_COMMAND": json.dumps([sys.executable, str(MODEL_SERVER)]),
    }
    found = sorted((built / "dist" / "test").glob("*.test.js"))
    tests = [str(path) for path in found if path.name.startswith("publisher.") is of_publisher]
    report = succeed(node, "--test", *tests, env=environment, timeout_s=OWN_TESTS_S)
    assert int(report.partition("\n# pass ")[2].split("\n")[0]) >= at_least, report[-500:]


def test_what_is_packed_is_the_compiled_client_and_nothing_else(built: Path) -> None:
    packed = succeed("npm", "pack", "--dry-run", "--ignore-scripts", "--json")
    described = json.loads(packed)
    (package,) = described.values() if isinstance(described, dict) else described
    names = {file["path"] for file in package["files"]}
    assert "dependencies" not in json.loads((built / "package.json").read_text())
    sources = {path.relative_to(built / "src").with_suffix("") for path in (built / "src").rglob("*.ts")}
    compiled = {f"dist/{source}{suffix}" for source in sources for suffix in (".js", ".d.ts")}
    assert names == compiled | {"LICENSE", "README.md", "package.json"}
