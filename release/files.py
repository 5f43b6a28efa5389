"""Makes what a release needs beside the packages, from the wheel and the source distribution in a folder:

    python release/files.py dist

- `server.json`: the entry of the MCP registry. Format: of 2025-12-11, as far as `registry_schema.json` has it.
- `workspaced-VERSION.mcpb`: a bundle for Claude Desktop. Format: manifest 0.4, whose type `uv` has the program
  install the dependencies for its own system; bundled ones would be for ours.
- `workspaced-claude-VERSION.zip`: the plugin for Claude Code.
- `workspaced.rb`: a Homebrew formula.

RELEASE_URL is where the files will lie, MCP_NAMESPACE whose name the registry knows (`io.github.NAME`). Without
them the files name places that do not exist, which is said.
"""

import hashlib
import json
import os
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from jsonschema import Draft202012Validator

from workspaced_tools.tools.registry import TOOLS

ROOT: Final = Path(__file__).resolve().parents[1]
PLUGIN: Final = ROOT / "clients" / "claude"
REGISTRY: Final = ROOT / "release" / "registry_schema.json"
NOWHERE: Final = {"RELEASE_URL": "https://example.invalid/workspaced", "MCP_NAMESPACE": "invalid.example"}
DESCRIPTION: Final = "Tells agents what the user of an editor looks at, and finds and reads their Markdown notes."
FOLDER: Final = "The folder of your notes."
AUTHOR: Final = "The authors of workspaced"
_FIRST_OF_ZIP: Final = (1980, 1, 1, 0, 0, 0)
"""The time of every file in an archive, so that the same sources make the same bytes."""


def main(folder: Path, environment: Mapping[str, str]) -> None:
    """Writes the files into the folder.

    Raises:
        SystemExit: the folder holds no wheel and source distribution, or versions differ, or the registry would
            refuse the entry.
    """
    wheel, source = _only(folder, "*.whl"), _only(folder, "*.tar.gz")
    version = wheel.name.split("-")[1]
    named = json.loads((PLUGIN / ".claude-plugin" / "plugin.json").read_text())["version"]
    if named != version:
        raise SystemExit(f"clients/claude is {named}, and the wheel {version}: set its plugin.json to {version}.")
    places = {name: environment.get(name) or nowhere for name, nowhere in NOWHERE.items()}
    url = places["RELEASE_URL"].rstrip("/")
    bundle = folder / f"workspaced-{version}.mcpb"
    _write_zip(bundle, bundle_files(version, wheel))
    _write_zip(folder / f"workspaced-claude-{version}.zip", plugin_files())
    entry = registry_entry(version, places["MCP_NAMESPACE"], f"{url}/{bundle.name}", _sha256(bundle))
    for error in Draft202012Validator(json.loads(REGISTRY.read_text())).iter_errors(entry):
        raise SystemExit(f"The MCP registry would refuse server.json, at {error.json_path}: {error.message}")
    (folder / "server.json").write_text(_json(entry))
    (folder / "workspaced.rb").write_text(formula(f"{url}/{source.name}", _sha256(source)))
    for name in (each for each, place in places.items() if place == NOWHERE[each]):
        print(
            f"{name} is not set: server.json and workspaced.rb name a place that does not exist.", file=sys.stderr
        )


def registry_entry(version: str, namespace: str, bundle_url: str, bundle_sha256: str) -> dict[str, Any]:
    """The server as the MCP registry describes it: from the package index, and as a bundle."""
    transport = {"type": "stdio"}
    vault = {"type": "named", "name": "--vault", "description": FOLDER, "format": "filepath", "isRequired": True}
    return {
        "$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
        "name": f"{namespace}/workspaced",
        "title": "workspaced",
        "description": DESCRIPTION,
        "version": version,
        "packages": [
            {
                "registryType": "pypi",
                "identifier": "workspaced",
                "version": version,
                "runtimeHint": "uvx",
                "transport": transport,
                "packageArguments": [{"type": "positional", "value": "mcp"}, vault],
            },
            {
                "registryType": "mcpb",
                "identifier": bundle_url,
                "fileSha256": bundle_sha256,
                "transport": transport,
            },
        ],
    }


def bundle_files(version: str, wheel: Path) -> dict[str, bytes]:
    """What the bundle holds: the wheel, and a project that depends on it and nothing else."""
    manifest = {
        "manifest_version": "0.4",
        "name": "workspaced",
        "version": version,
        "description": DESCRIPTION,
        "author": {"name": AUTHOR},
        "license": "MIT",
        "server": {
            "type": "uv",
            "entry_point": "server.py",
            "mcp_config": {
                "command": "uv",
                "args": [
                    *("run", "--directory", "${__dirname}", "server.py"),
                    *("mcp", "--vault", "${user_config.folder}"),
                ],
            },
        },
        "tools": [{"name": name, "description": tool.definition["description"]} for name, tool in TOOLS.items()],
        "user_config": {
            "folder": {"type": "directory", "title": "Notes", "description": FOLDER, "required": True}
        },
        "compatibility": {"platforms": ["darwin", "linux"], "runtimes": {"python": ">=3.11"}},
    }
    project = f"""\
[project]
name = "workspaced-bundle"
version = "{version}"
requires-python = ">=3.11"
dependencies = ["workspaced"]

[tool.uv.sources]
workspaced = {{ path = "{wheel.name}" }}
"""
    return {
        "manifest.json": _json(manifest).encode(),
        "pyproject.toml": project.encode(),
        "server.py": b"from workspaced.__main__ import main\n\nmain()\n",
        wheel.name: wheel.read_bytes(),
    }


def plugin_files() -> dict[str, bytes]:
    """What the plugin for Claude Code holds."""
    files = (each for each in sorted(PLUGIN.rglob("*")) if each.is_file())
    return {each.relative_to(PLUGIN).as_posix(): each.read_bytes() for each in files}


def formula(url: str, sha256: str) -> str:
    """The Homebrew formula. It has pip install the dependencies as wheels: one needs a compiler for Rust else."""
    return f"""\
class Workspaced < Formula
  desc "What an editor's user is looking at, served to AI agents"
  homepage "{url.rpartition("/")[0]}"
  url "{url}"
  sha256 "{sha256}"
  license "MIT"

  depends_on "python@3.13"

  def install
    system Formula["python@3.13"].opt_bin/"python3.13", "-m", "venv", libexec
    system libexec/"bin/python", "-m", "pip", "install", buildpath
    bin.install_symlink libexec/"bin/workspaced"
    man1.install "docs/reference/workspaced.1"
    generate_completions_from_executable(bin/"workspaced", "completion")
  end

  test do
    (testpath/"notes/A.md").write "# A"
    assert_match version.to_s, shell_output("#{{bin}}/workspaced --version")
    found = shell_output("#{{bin}}/workspaced call search_workspace query=A --vault #{{testpath}}/notes")
    assert_match "A.md", found
  end
end
"""


def _only(folder: Path, pattern: str) -> Path:
    found = sorted(folder.glob(pattern))
    if len(found) != 1:
        raise SystemExit(f"{folder} holds {len(found)} files {pattern}, and one is needed: run `make dist`.")
    return found[0]


def _write_zip(path: Path, files: Mapping[str, bytes]) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name, _FIRST_OF_ZIP), content, zipfile.ZIP_DEFLATED)


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"


if __name__ == "__main__":
    main(Path(sys.argv[1]), os.environ)
