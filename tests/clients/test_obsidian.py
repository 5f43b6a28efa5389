"""The Obsidian plugin: it builds, follows Obsidian's rules for plugins, and its own tests pass on a real daemon.

Obsidian itself cannot run here: the tests meet the plugin on a host of ours (clients/obsidian/test), and
clients/obsidian/CHECKLIST.md is for a person with the real program.
"""

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from support import npm, obsidian

from workspaced import __version__

OWN_TESTS_S = 400.0
"""Most of it is daemons that start: on a busy machine ten times as long."""
SOURCES = sorted((obsidian.PLUGIN / "src").glob("*.ts"))

pytestmark = pytest.mark.skipif(not obsidian.PLUGIN.is_dir(), reason="clients/ is not here")


@pytest.fixture(scope="module")
def dist() -> Path:
    return obsidian.built()


def test_its_manifest_is_as_obsidian_asks() -> None:
    manifest = json.loads((obsidian.PLUGIN / "manifest.json").read_text())
    versions = json.loads((obsidian.PLUGIN / "versions.json").read_text())
    assert versions[__version__] == manifest["minAppVersion"] and manifest["isDesktopOnly"] is True
    assert re.fullmatch(r"[a-z-]+", manifest["id"]) and "obsidian" not in manifest["id"]
    assert len(manifest["description"]) <= 250 and manifest["description"].endswith(".")
    assert "obsidian" not in manifest["description"].lower()


@pytest.mark.parametrize(
    "refused",
    [
        r"\binnerHTML|outerHTML|insertAdjacentHTML",
        r"(?<![.#\w])app\.",
        r"\bstyle\.|\.style\b|setCssStyles",
        r"\bfetch\(|XMLHttpRequest|requestUrl|node:https?|WebSocket",
        r"console\.(log|info|debug)",
        r"detachLeavesOfType|loadIfDeferred",
        r"\bas any\b|: any\b",
    ],
)
def test_it_does_nothing_that_obsidians_guidelines_refuse(refused: str) -> None:
    found = [f"{path.name}: {line}" for path in SOURCES for line in path.read_text().splitlines()]
    assert SOURCES and [line for line in found if re.search(refused, line)] == []


@pytest.mark.thorough
def test_it_has_no_network_beyond_a_socket_on_this_machine(dist: Path) -> None:
    wanted = set(re.findall(r'require\("([^"]+)"\)', (dist / "main.js").read_text()))
    assert "obsidian" in wanted
    given = {"obsidian", "@codemirror/view", "@codemirror/state"}
    modules = {name for name in wanted - given if not name.startswith("node:")}
    assert modules == set(), "everything else is bundled"
    assert not {"node:http", "node:https", "node:dgram", "node:tls", "node:http2"} & wanted


def test_the_zip_holds_what_obsidian_asks_for_and_the_licences(dist: Path) -> None:
    makefile = (obsidian.ROOT / "Makefile").read_text()
    (names,) = re.findall(r"^OBSIDIAN = \$\(addprefix clients/obsidian/dist/,(.*)\)$", makefile, re.MULTILINE)
    assert {"main.js", "manifest.json", "styles.css", "LICENSE", "THIRD_PARTY.md"} == set(names.split())
    assert all((dist / name).stat().st_size > 0 for name in names.split())
    assert "Nothing else is bundled." in (dist / "THIRD_PARTY.md").read_text()
    assert "node_modules/" not in (dist / "main.js").read_text()


@pytest.mark.thorough
def test_its_types_fit_obsidians(dist: Path) -> None:
    done = npm.run(obsidian.PLUGIN, "npm", "run", "--silent", "types")
    assert done.returncode == 0, done.stdout


@pytest.mark.thorough
def test_its_own_tests_pass_on_a_real_daemon(dist: Path, daemon: Any) -> None:
    command = json.dumps([sys.executable, "-m", "workspaced"])
    environment = {**daemon(start=False).env, "DAEMON_COMMAND": command}
    tests = sorted(str(path) for path in (dist / "test").glob("*.test.js"))
    done = npm.run(obsidian.PLUGIN, "node", "--test", *tests, env=environment, timeout_s=OWN_TESTS_S)
    assert done.returncode == 0, done.stdout[-8_000:]
    assert int(done.stdout.partition("\n# pass ")[2].split("\n")[0]) >= 19
