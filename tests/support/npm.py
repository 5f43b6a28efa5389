"""Packages of ours that npm installs and builds, once for all workers; where they cannot be, tests are skipped."""

import fcntl
import json
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path

import pytest

NODE = shutil.which("node")
NPM = shutil.which("npm")
MISSING = None if NODE and NPM else "node and npm are not installed"
INSTALL = (
    *("npm", "install", "--no-package-lock", "--ignore-scripts", "--no-audit", "--no-fund"),
    "--fetch-retries=1",
)
RUN_S = 120.0
UNREACHABLE = ("ENOTFOUND", "EAI_AGAIN", "ECONNREFUSED", "ECONNRESET", "ETIMEDOUT", "ENETUNREACH", "network")


def run(
    folder: Path, *command: str, env: Mapping[str, str] | None = None, timeout_s: float = RUN_S
) -> "subprocess.CompletedProcess[str]":
    """Runs a command in a folder; what it started ends with it, also when it takes too long."""
    started = subprocess.Popen(
        command,
        cwd=folder,
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


def succeed(folder: Path, *command: str, env: Mapping[str, str] | None = None, timeout_s: float = RUN_S) -> str:
    """The output of a command that must end with 0."""
    done = run(folder, *command, env=env, timeout_s=timeout_s)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout[-8000:]}\n{done.stderr[-4000:]}"
    return done.stdout


def skip_without_registry(done: "subprocess.CompletedProcess[str]") -> None:
    """Skips the test if a command failed because npm's registry cannot be reached."""
    signs = [line for line in done.stderr.splitlines() if any(sign in line for sign in UNREACHABLE)]
    if done.returncode and signs:
        pytest.skip(f"npm's registry cannot be reached: {signs[0][:200]}")


def prepared(package: Path, state: Callable[[], str] = str, builds: Sequence[Sequence[str]] = ()) -> None:
    """What the package is built with is installed, and it is built. Workers share it: the first one does it.

    Args:
        state: changes with what the package is built of, or to.
        builds: the commands that build it.
    """
    if MISSING is not None:
        pytest.skip(MISSING)
    modules = package / "node_modules"
    modules.mkdir(exist_ok=True)
    with (modules / ".prepared").open("a+") as stamp:
        fcntl.flock(stamp, fcntl.LOCK_EX)
        stamp.seek(0)
        known = json.loads(stamp.read() or "{}")
        wanted = (package / "package.json").read_text()
        if known.get("package") != wanted:
            _install(package)
        if known != {"package": wanted, "state": state()}:
            for command in builds:
                succeed(package, *command)
        stamp.truncate(0)
        stamp.write(json.dumps({"package": wanted, "state": state()}))


def content_of(*places: Path) -> str:
    """A hash of files, and of all files below folders."""
    made = sha256()
    for place in places:
        for path in sorted(place.rglob("*.*")) if place.is_dir() else [place]:
            made.update(f"{path} ".encode() + (path.read_bytes() if path.is_file() else b""))
    return made.hexdigest()


def _install(package: Path) -> None:
    try:
        done = run(package, *INSTALL)
    except subprocess.TimeoutExpired:
        pytest.skip(f"npm's registry did not deliver within {RUN_S:g} s")
    skip_without_registry(done)
    assert done.returncode == 0, done.stderr
