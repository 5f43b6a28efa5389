"""Installs a server as its users do, with npm or pip as configured here, into a directory that is thrown away."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

INSTALL_S: Final = 240.0
"""The longest an installation may take."""
REASON_CHARS: Final = 300
PYTHONS: Final = ("python3", "python3.14", "python3.13", "python3.12", "python3.11")
_COMPLETE: Final = ".complete"
_NOISE: Final = ("npm warn", "npm notice", "WARNING:", "[notice]")


class Skip(Exception):
    """Why something is not measured: a sentence for the figure."""


@dataclass(frozen=True)
class Npm:
    """Packages of the npm registry, versions pinned; their commands are in `node_modules/.bin`."""

    packages: tuple[str, ...]


@dataclass(frozen=True)
class Pip:
    """Packages of the Python index, versions pinned, in a venv of a Python at least as new as `python`."""

    packages: tuple[str, ...]
    python: tuple[int, int] = (3, 11)


def install(what: Npm | Pip, directory: Path) -> Path:
    """The directory with the commands of `what`, installed below `directory` unless it is there already.

    Raises:
        Skip: it cannot be had here.
    """
    name = "-".join(what.packages).replace("/", "_")
    root = directory / "".join(character for character in name if character.isalnum() or character in "._-=")
    if isinstance(what, Npm):
        commands = root / "node_modules" / ".bin"
        steps = [[_npm(), "install", "--prefix", str(root), "--no-audit", "--no-fund", *what.packages]]
    else:
        commands = root / "bin"
        pip = [str(commands / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        steps = [[_python(what.python), "-m", "venv", str(root)], [*pip, *what.packages]]
    if not (root / _COMPLETE).exists():
        shutil.rmtree(root, ignore_errors=True)
        root.mkdir(parents=True)
        for step in steps:
            _run(step, name)
        (root / _COMPLETE).write_text(json.dumps(what.packages))
    return commands


def _npm() -> str:
    if (npm := shutil.which("npm")) is None:
        raise Skip("npm is not on PATH")
    return npm


def _python(least: tuple[int, int]) -> str:
    """The running Python if new enough, else one on PATH, else one installed beside the running one."""
    if sys.version_info >= least:
        return sys.executable
    found = [path for name in PYTHONS if (path := shutil.which(name))]
    beside = sorted(Path(sys.base_prefix).parent.glob("*/bin/python3"), reverse=True)
    for candidate in [*found, *map(str, beside)]:
        if _is_at_least(candidate, least):
            return candidate
    raise Skip(f"it needs Python {least[0]}.{least[1]} or newer and none was found on PATH")


def _is_at_least(python: str, least: tuple[int, int]) -> bool:
    code = f"import sys, venv; sys.exit(sys.version_info < {least})"
    try:
        return subprocess.run([python, "-c", code], capture_output=True, check=False, timeout=10).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def _run(step: list[str], name: str) -> None:
    try:
        done = subprocess.run(
            step, capture_output=True, text=True, check=False, timeout=INSTALL_S, stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired:
        raise Skip(f"installing {name} took more than {INSTALL_S:.0f} s") from None
    except OSError as error:
        raise Skip(f"installing {name} failed: {error.strerror}") from None
    if done.returncode:
        raise Skip(f"installing {name} failed: {reason_in(done.stderr or done.stdout)}")


def reason_in(output: str) -> str:
    """The last line of a program's output that names an error, else the last line; without local paths."""
    lines = [line.strip() for line in output.splitlines() if line.strip() and not line.startswith(_NOISE)]
    telling = [line for line in lines if "error" in line.lower()]
    text = (telling or lines or ["it said nothing"])[-1]
    return text.replace(str(Path.home()), "~").replace(os.getcwd(), ".")[:REASON_CHARS]
