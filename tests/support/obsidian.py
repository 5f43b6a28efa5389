"""The Obsidian plugin, built with its tests, and someone who uses it on the host of its own tests."""

import fcntl
import json
import shutil
import subprocess
import threading
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from support import ROOT

PLUGIN = ROOT / "clients" / "obsidian"
NODE = shutil.which("node")
MISSING = None if NODE and shutil.which("npm") and PLUGIN.is_dir() else "node and npm are not installed"
INSTALL_S = 120.0
RUN_S = 120.0
ANSWER_S = 60.0
UNREACHABLE = ("ENOTFOUND", "EAI_AGAIN", "ECONNREFUSED", "ECONNRESET", "ETIMEDOUT", "ENETUNREACH", "network")
_SOURCES = (
    *(PLUGIN / name for name in ("src", "test", "scripts", "package.json", "manifest.json", "styles.css")),
    *(ROOT / "clients" / "typescript" / name for name in ("src", "test")),
)


def built() -> Path:
    """The folder of what was built, tests included. Workers share it: the first one builds."""
    if MISSING is not None:
        pytest.skip(MISSING)
    modules = PLUGIN / "node_modules"
    modules.mkdir(exist_ok=True)
    with (modules / ".built").open("a+") as stamp:
        fcntl.flock(stamp, fcntl.LOCK_EX)
        stamp.seek(0)
        if not (PLUGIN / "dist" / "test" / "driver.js").exists() or stamp.read() != _sources():
            if not (modules / "typescript").exists():
                _install()
            done = run("node", "scripts/build.js", "--test")
            assert done.returncode == 0, done.stderr[-4_000:]
            stamp.truncate(0)
            stamp.write(_sources())
    return PLUGIN / "dist"


def run(
    *command: str, env: dict[str, str] | None = None, timeout_s: float = RUN_S
) -> "subprocess.CompletedProcess[str]":
    """Runs a command in the plugin's folder."""
    return subprocess.run(
        command, cwd=PLUGIN, env=env, capture_output=True, text=True, timeout=timeout_s, check=False
    )


def _sources() -> str:
    """A hash that changes with what is built."""
    made = sha256()
    for source in _SOURCES:
        for path in sorted(source.rglob("*.*")) if source.is_dir() else [source]:
            made.update(f"{path} ".encode() + (path.read_bytes() if path.is_file() else b""))
    return made.hexdigest()


def _install() -> None:
    try:
        done = run("npm", "install", "--no-audit", "--no-fund", "--fetch-retries=1", timeout_s=INSTALL_S)
    except subprocess.TimeoutExpired:
        pytest.skip(f"npm's registry did not deliver within {INSTALL_S:g} s")
    if done.returncode and any(sign in done.stderr for sign in UNREACHABLE):
        pytest.skip("npm's registry cannot be reached")
    assert done.returncode == 0, done.stderr


class Person:
    """Node with the plugin on its host, driven by lines of JSON (clients/obsidian/test/driver.ts)."""

    def __init__(self, home: Path, cwd: Path, env: dict[str, str], vault: Path) -> None:
        driver = built() / "test" / "driver.js"
        self.process = subprocess.Popen(
            [str(NODE), str(driver), str(vault)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**env, "HOME": str(home)},
            cwd=cwd,
            text=True,
        )
        self._ids = 0
        self._answer(0)

    def does(self, what: str, *words: Any) -> Any:
        """Has something done, and gives what came of it.

        Raises:
            AssertionError: it failed, or took longer than `ANSWER_S`.
        """
        assert self.process.stdin is not None
        self._ids += 1
        asked = {"id": self._ids, "does": what, "with": words}
        self.process.stdin.write(f"{json.dumps(asked, default=str)}\n")
        self.process.stdin.flush()
        return self._answer(self._ids)

    def end(self) -> None:
        """Ends the process, however it is."""
        self.process.kill()
        self.process.wait(ANSWER_S)
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert pipe is not None
            with suppress(OSError):  # what it did not read any more
                pipe.close()

    def _answer(self, wanted: int) -> Any:
        out, err = self.process.stdout, self.process.stderr
        assert out is not None and err is not None
        watchdog = threading.Timer(ANSWER_S, self.process.kill)
        watchdog.start()
        try:
            line = out.readline()
        finally:
            watchdog.cancel()
        assert line, f"the plugin's host ended, or did not answer within {ANSWER_S:g} s: {err.read()[-4_000:]}"
        answer = json.loads(line)
        assert answer["id"] == wanted and "error" not in answer, answer
        return answer["result"]
