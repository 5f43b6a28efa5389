"""The TypeScript client: it builds, its types are those of `schemas/`, and its own tests pass on a real daemon."""

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from support import ROOT, TESTS, npm

PACKAGE = ROOT / "clients" / "typescript"
MODEL_SERVER = TESTS / "support" / "model_server.py"
NODE_MAJOR_MIN = 20
OWN_TESTS_S = 400.0
"""Most of it is daemons that start: on a busy machine ten times as long."""

pytestmark = pytest.mark.skipif(not PACKAGE.is_dir(), reason="clients/ is not here")


@pytest.fixture(scope="module")
def node() -> str:
    """Node's path."""
    if npm.NODE is None or npm.NPM is None:
        pytest.skip("node and npm are not installed")
    version = npm.run(PACKAGE, npm.NODE, "--version").stdout.strip()
    if int(version.removeprefix("v").split(".")[0]) < NODE_MAJOR_MIN:
        pytest.skip(f"node {version} is older than {NODE_MAJOR_MIN}")
    return npm.NODE


@pytest.fixture(scope="module")
def built(node: str) -> Path:
    """The package, with its compiler installed and everything compiled."""
    npm.prepared(PACKAGE, build_state, [["npm", "run", "--silent", each] for each in ("build", "build:test")])
    return PACKAGE


def build_state() -> str:
    """Changes with what is compiled, by its content, and with what it was compiled to, by its time."""
    sources = (PACKAGE / name for name in ("src", "test", "scripts", "README.md", "package.json", "tsconfig.json"))
    compiled = [f"{path} {path.stat().st_mtime_ns}" for path in sorted((PACKAGE / "dist").rglob("*.*"))]
    return f"{npm.content_of(*sources)} {compiled}"


def test_types_are_those_of_the_schemas_never_stale_and_never_guessed(node: str, tmp_path: Path) -> None:
    npm.succeed(PACKAGE, node, "scripts/generate.js", "--check")
    shutil.copytree(PACKAGE.parents[1] / "schemas", tmp_path / "schemas")
    for name in ("scripts", "src"):
        shutil.copytree(PACKAGE / name, tmp_path / "clients" / "typescript" / name)
    generator = str(tmp_path / "clients" / "typescript" / "scripts" / "generate.js")
    changed = tmp_path / "schemas" / "methods" / "unsubscribe.json"
    schema = json.loads(changed.read_text())
    changed.write_text(json.dumps({**schema, "required": []}))
    stale = npm.run(PACKAGE, node, generator, "--check")
    assert stale.returncode == 1 and "npm run generate" in stale.stderr
    npm.succeed(PACKAGE, node, generator)
    npm.succeed(PACKAGE, node, generator, "--check")
    changed.write_text(json.dumps({**schema, "oneOf": []}))
    strange = npm.run(PACKAGE, node, generator)
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
    report = npm.succeed(PACKAGE, node, "--test", *tests, env=environment, timeout_s=OWN_TESTS_S)
    assert int(report.partition("\n# pass ")[2].split("\n")[0]) >= at_least, report[-500:]


@pytest.mark.thorough
def test_what_is_packed_is_the_compiled_client_and_nothing_else(built: Path) -> None:
    packed = npm.succeed(PACKAGE, "npm", "pack", "--dry-run", "--ignore-scripts", "--json")
    described = json.loads(packed)
    (package,) = described.values() if isinstance(described, dict) else described
    names = {file["path"] for file in package["files"]}
    assert "dependencies" not in json.loads((built / "package.json").read_text())
    sources = {path.relative_to(built / "src").with_suffix("") for path in (built / "src").rglob("*.ts")}
    compiled = {f"dist/{source}{suffix}" for source in sources for suffix in (".js", ".d.ts")}
    assert names == compiled | {"LICENSE", "README.md", "package.json"}
