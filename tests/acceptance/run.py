"""Drives a real daemon with clients that we did not write; see README.md beside this file."""

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import venv
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import platformdirs

HERE = Path(__file__).parent
CACHE = Path(platformdirs.user_cache_dir("workspaced-acceptance"))
PYTHON_SDK = "mcp==2.3.0"
NODE = "node@22.23.3"
TYPESCRIPT_SDK = "@modelcontextprotocol/client@2.4.0"
INSPECTOR = "@modelcontextprotocol/inspector@2.12.0"
MODES = ("legacy", "auto", "2026-07-28")
INSTALL_S = 300
RUN_S = 120
OURS = [sys.executable, "-m", "workspaced"]


class Unreachable(Exception):
    """What is needed cannot be had here; says why."""


def load(name: str) -> ModuleType:
    """A module of the tests, which are no package."""
    spec = importlib.util.spec_from_file_location(name, HERE.parent / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


# -- what is needed --


def installed(name: str, *packages: str, make: Callable[[Path], list[str]]) -> Path:
    """A folder of the cache with these packages, filled where that was not done yet.

    Args:
        make: prepares the folder and gives the command that installs into it.

    Raises:
        Unreachable: they cannot be installed.
    """
    place = CACHE / name
    done = place / "installed"
    if done.exists() and done.read_text().split() == list(packages):
        return place
    place.mkdir(parents=True, exist_ok=True)
    try:
        command = [*make(place), *packages]
        got = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_S, cwd=place)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unreachable(f"{', '.join(packages)}: {error}") from None
    if got.returncode:
        said = (got.stderr.strip() or got.stdout.strip()).splitlines() or ["no reason given"]
        raise Unreachable(f"{', '.join(packages)}: {said[-1][:300]}")
    done.write_text("\n".join(packages))
    return place


def python_environment(place: Path) -> list[str]:
    """A virtual environment, and how to install into it."""
    venv.create(place, with_pip=True, clear=True)
    return [str(place / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]


def node_environment(_place: Path) -> list[str]:
    """How to install from npm into the folder; no package's own scripts but Node's, which fetches the program."""
    return ["npm", "install", "--silent", "--no-fund", "--no-audit", "--prefix", "."]


# -- runs --


def tapped(daemon: Any, record: Path) -> list[str]:
    """The command that an agent's runtime would run, with a tap on it."""
    bridge = [*OURS, "mcp", "--socket", str(daemon.socket)]
    return [sys.executable, str(HERE / "tap.py"), str(record), "--", *bridge]


def publishing(daemon: Any) -> str:
    """The command that stands for a user interface."""
    return json.dumps([*OURS, "publish", "--socket", str(daemon.socket)])


def python_sdk(daemon: Any, mode: str, record: Path) -> None:
    """Raises Unreachable or CalledProcessError."""
    place = installed("python", PYTHON_SDK, make=python_environment)
    client = [str(place / "bin" / "python"), str(HERE / "python_sdk.py"), mode, publishing(daemon), "--"]
    environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
    subprocess.run([*client, *tapped(daemon, record)], check=True, timeout=RUN_S, env=environment)


def node(daemon: Any, record: Path, *command: str, **options: Any) -> None:
    """Runs a program of the npm packages on the daemon. Raises Unreachable or CalledProcessError."""
    place = installed("node", NODE, TYPESCRIPT_SDK, INSPECTOR, make=node_environment)
    programs = place / "node_modules" / ".bin"
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    found = [each.replace("MODULES", str(place)) for each in command]
    subprocess.run(
        [str(programs / found[0]), *found[1:], "--", *tapped(daemon, record)],
        check=True,
        timeout=RUN_S,
        env={**os.environ, "PATH": path},
        cwd=daemon.root,
        **options,
    )


def typescript_sdk(daemon: Any, mode: str, record: Path) -> None:
    """Raises Unreachable or CalledProcessError."""
    node(daemon, record, "node", str(HERE / "typescript_sdk.mjs"), "MODULES", mode, publishing(daemon))


def inspector(daemon: Any, mode: str, record: Path) -> None:
    """Raises Unreachable or CalledProcessError."""
    with daemon.connect() as client:
        client.publish([{"type": "active_note_set", "data": {"note": "a.md"}}])
    era = "legacy" if mode == "legacy" else "modern"
    for number, asked in enumerate(
        (
            ["tools/list", "--strict"],
            ["tools/call", "--tool-name", "get_workspace_context"],
            ["tools/call", "--tool-name", "get_note_by_reference", "--tool-arg", "reference=Plan"],
            ["resources/list"],
            ["resources/templates/list"],
            ["resources/read", "--uri", "workspace://note/current"],
        )
    ):
        one = record.with_name(f"{record.name}.{number}")  # each is a connection of its own
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        node(daemon, one, "mcp-inspector", "--cli", "--protocol-era", era, "--method", *asked, **quiet)


CLIENTS = {
    "python-sdk": (python_sdk, MODES),
    "typescript-sdk": (typescript_sdk, MODES),
    "inspector": (inspector, ("legacy", "modern")),
}


def checked(records: list[Path], schemas: ModuleType) -> int:
    """How many messages went over the wire, all of them valid."""
    count = 0
    for record in records:
        lines = [line.split(b" ", 1) for line in record.read_bytes().splitlines()]
        count += schemas.check_exchange([(sender.decode(), line) for sender, line in lines])
    return count


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--strict", action="store_true", help="fail where something cannot be installed")
    parser.add_argument("clients", nargs="*", metavar="CLIENT", help=f"of {', '.join(CLIENTS)}; default: all")
    options = parser.parse_args()
    factory, schemas = load("conftest").Factory(), load("mcp_schema")
    skipped = False
    try:
        for name in options.clients or CLIENTS:
            drive, modes = CLIENTS[name]
            for mode in modes:
                daemon = factory()
                try:
                    drive(daemon, mode, daemon.root / "record")
                except Unreachable as reason:
                    sys.stderr.write(f"{name}: skipped: {reason}\n")
                    skipped = True
                    break
                count = checked(sorted(daemon.root.glob("record*")), schemas)
                sys.stdout.write(f"{name} {mode}: passed, {count} messages valid\n")
    finally:
        factory.tear_down()
    return 1 if skipped and options.strict else 0


if __name__ == "__main__":
    sys.exit(main())
