"""The programs that we did not write, in folders where they are kept from run to run."""

import os
import subprocess
import venv
from collections.abc import Callable
from pathlib import Path

import platformdirs

CACHE = Path(platformdirs.user_cache_dir("workspaced-acceptance"))
PYTHON_SDK = "mcp==2.3.0"
NODE = "node@22.23.3"
TYPESCRIPT_SDK = "@modelcontextprotocol/client@2.4.0"
INSPECTOR = "@modelcontextprotocol/inspector@2.12.0"
CONFORMANCE = "@modelcontextprotocol/conformance@0.2.0-alpha.12"
INSTALL_S = 300


class Unreachable(Exception):
    """What is needed cannot be had here; says why."""


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


def python_program() -> Path:
    """A Python that has the official SDK. Raises Unreachable."""
    return installed("python", PYTHON_SDK, make=python_environment) / "bin" / "python"


def node_programs() -> tuple[Path, dict[str, str]]:
    """Where the packages of npm are, and an environment in which their commands are found. Raises Unreachable."""
    place = installed("node", NODE, TYPESCRIPT_SDK, INSPECTOR, CONFORMANCE, make=node_environment)
    programs = place / "node_modules" / ".bin"
    return place, {**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
