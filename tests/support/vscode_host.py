"""VS Code with the extension that is shipped: code-server in a browser, and a real extension host for each window.

One server and one browser for each process of tests; windows share nothing that the user sees.
`make .venv/.vscode` installs the server.
"""

import atexit
import json
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

from support import ROOT, TESTS, npm
from support.browser import CHROMIUM, Browser

INSTALLED = ROOT / ".venv" / "vscode" / "node_modules"
EXTENSION = ROOT / "clients" / "vscode"
DRIVER = TESTS / "support" / "vscode" / "driver"
START_S = 120.0
ANSWER_S = 80.0
SETTINGS = {
    "chat.disableAIFeatures": True,
    "extensions.autoCheckUpdates": False,
    "extensions.ignoreRecommendations": True,
    "git.enabled": False,
    "security.workspace.trust.enabled": False,
    "telemetry.telemetryLevel": "off",
    "update.mode": "none",
    "window.confirmBeforeClose": "never",
    "workbench.startupEditor": "none",
    "workbench.tips.enabled": False,
}


def _missing() -> str | None:
    if not list(INSTALLED.glob("node-*/bin/node")) or not (ROOT / ".venv" / ".vscode").exists():
        return "code-server is not installed (make .venv/.vscode)"
    if CHROMIUM is None:
        return "chromium is not installed (Debian: apt-get install chromium)"
    if not EXTENSION.is_dir() or npm.MISSING is not None:
        return "the extension cannot be built here: clients/vscode or npm is missing"
    return None


MISSING = _missing()
"""Why VS Code cannot be started here; None: it can."""


class Server:
    """code-server, and the browser that shows its windows."""

    def __init__(self) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="vsc-", dir="/tmp"))
        self._windows = 0
        (self.root / "data" / "User").mkdir(parents=True)
        (self.root / "data" / "User" / "settings.json").write_text(json.dumps(SETTINGS))
        shutil.copytree(DRIVER, self.root / "extensions" / "driver")
        unpack_extension(self.root / "extensions" / "workspaced")
        self._process = self._start()
        self.url = self._listening()
        self.browser = Browser(self.root / "browser")
        self.elsewhere = self.browser.page()
        """Another program: in front of all windows, nobody is in VS Code."""

    def _start(self) -> "subprocess.Popen[str]":
        [node] = INSTALLED.glob("node-*/bin/node")
        command = [str(node), str(INSTALLED / "code-server" / "out" / "node" / "entry.js")]
        command += ["--auth=none", "--bind-addr=127.0.0.1:0", "--ignore-last-opened", "--disable-telemetry"]
        command += ["--disable-update-check", "--disable-workspace-trust", f"--config={self.root / 'config.yaml'}"]
        command += [f"--user-data-dir={self.root / 'data'}", f"--extensions-dir={self.root / 'extensions'}"]
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL", "TMPDIR") if name in os.environ}
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**kept, "HOME": str(self.root), "LANG": "C.UTF-8"},
            text=True,
            start_new_session=True,
        )

    def _listening(self) -> str:
        assert self._process.stdout is not None
        said = []
        for line in self._process.stdout:
            said.append(line)
            if found := re.search(r"HTTP server listening on (http\S+)", line):
                # What it says from now on must not fill the pipe.
                threading.Thread(target=self._process.stdout.read, daemon=True).start()
                return found[1].rstrip("/")
        raise AssertionError(f"code-server ended: {''.join(said)}")

    def window_folder(self) -> Path:
        self._windows += 1
        made = self.root / f"w{self._windows}"
        made.mkdir()
        return made

    def close(self) -> None:
        self.browser.close()
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait(START_S)
        shutil.rmtree(self.root, ignore_errors=True)


@cache
def server() -> Server:
    """The one of this process; it ends with it."""
    made = Server()
    atexit.register(made.close)
    return made


def unpack_extension(to: Path) -> None:
    """The extension as it is shipped, of the present sources."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.unpack_archive(packed_extension(Path(folder)), folder, "zip")
        shutil.copytree(Path(folder) / "extension", to)


def packed_extension(folder: Path) -> Path:
    """Builds the `.vsix` of the present sources into a folder."""
    npm.prepared(EXTENSION)
    made = folder / "workspaced.vsix"
    npm.succeed(EXTENSION, "node", "scripts/build.js", str(folder / "dist"))
    npm.succeed(EXTENSION, "node", "scripts/package.js", str(made), str(folder / "dist"))
    return made


class Window:
    """A window on a folder, with the extension and nothing else of the user's."""

    def __init__(self, opened: Path, env: Mapping[str, str], settings: Mapping[str, Any] | None = None) -> None:
        self._server = server()
        self.is_closed = False
        folder = self._server.window_folder()
        listening = socket.socket(socket.AF_UNIX)
        listening.bind(str(folder / "s"))
        listening.listen()
        listening.settimeout(START_S)
        keep = {
            name: value for name, value in env.items() if name == "HOME" or name.startswith(("WORKSPACED", "XDG"))
        }
        inside = opened / ".vscode"  # where the driver looks for what it is told
        inside.mkdir(exist_ok=True)
        (inside / "window.json").write_text(json.dumps({"socket": str(folder / "s"), "env": keep}))
        (inside / "settings.json").write_text(json.dumps(dict(settings or {})))
        with listening:
            self.page = self._server.browser.page()
            self.page.go(f"{self._server.url}/?folder={quote(str(opened))}")
            self._connection, _ = listening.accept()
        self._connection.settimeout(ANSWER_S)
        self._lines = self._connection.makefile("r", encoding="utf-8")
        self.pid: int = json.loads(self._lines.readline())["pid"]
        self._ids = 0
        self.do("await until(() => vscode.window.state.focused); await api()")

    def do(self, code: str, *args: Any) -> Any:
        """What JavaScript in the extension host returns, with `vscode`, `api`, `until` and `args`."""
        self._ids += 1
        asked = {"id": self._ids, "code": code, "args": args}
        self._connection.sendall(json.dumps(asked).encode() + b"\n")
        answered = json.loads(self._lines.readline())
        assert answered["id"] == self._ids and "error" not in answered, answered
        return answered["result"]

    def focus(self) -> None:
        self.page.bring_to_front()
        self.do("await until(() => vscode.window.state.focused)")

    def blur(self) -> None:
        self._server.elsewhere.bring_to_front()
        self.do("await until(() => !vscode.window.state.focused)")

    def close(self) -> None:
        """As a user does; returns once its extension host has ended."""
        with _Ending(self.pid) as ended:
            self.page.close()
            has_ended = ended(ANSWER_S)
        self._disconnect()
        assert has_ended, "the extension host goes on without its window"

    def kill(self) -> None:
        """The page first: it would start a new extension host."""
        with _Ending(self.pid) as ended:
            self.page.crash()
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
            assert ended(ANSWER_S)
        self._disconnect()

    def _disconnect(self) -> None:
        self.is_closed = True
        self._lines.close()
        self._connection.close()


class _Ending:
    """Whether a process has ended, also one that is no child of ours; Linux."""

    def __init__(self, pid: int) -> None:
        try:
            self._fd: int | None = os.pidfd_open(pid) if sys.platform == "linux" else None
        except ProcessLookupError:
            self._fd = None

    def __enter__(self) -> Any:
        return self._ended

    def _ended(self, within_s: float) -> bool:
        return self._fd is None or bool(select.select([self._fd], [], [], within_s)[0])

    def __exit__(self, *_: object) -> None:
        if self._fd is not None:
            os.close(self._fd)
