"""Neovim, headless, driven over its own RPC, with the plugin and nothing else of the user's."""

import json
import os
import shutil
import subprocess
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from support import ROOT
from support.patience import PATIENCE_S

PLUGIN = ROOT / "clients" / "neovim"
NVIM = shutil.which("nvim")
ANSWER_S = PATIENCE_S
UNTIL_MS = 50_000


class Editor:
    """Neovim without a screen, with the plugin and nothing else of the user's."""

    def __init__(self, home: Path, cwd: Path, env: dict[str, str], setup: str = "") -> None:
        assert NVIM is not None
        drop = ("NVIM", "XDG_", "VIM")
        clean = {name: value for name, value in env.items() if not name.startswith(drop)}
        command = [NVIM, "--embed", "--headless", "-n", "-i", "NONE", "--clean"]
        command += ["--cmd", f"set runtimepath^={PLUGIN}"]
        command += ["--cmd", f"lua {setup}"] if setup else []
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**clean, "HOME": str(home)},
            cwd=cwd,
        )
        self._ids = 0

    def __enter__(self) -> "Editor":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def ask(self, method: str, *params: Any) -> Any:
        """What a function of the editor's RPC answers."""
        out, back = self.process.stdin, self.process.stdout
        assert out is not None and back is not None
        self._ids += 1
        out.write(msgspec.msgpack.encode([0, self._ids, method, list(params)]))
        out.flush()
        watchdog = threading.Timer(ANSWER_S, self.process.kill)
        watchdog.start()
        try:
            read = b""
            while True:
                more = os.read(back.fileno(), 65_536)
                assert more, f"the editor ended: {self._stderr()}"
                read += more
                with suppress(msgspec.DecodeError):
                    _kind, _id, error, result = msgspec.msgpack.decode(read)
                    assert error is None, error
                    return result
        finally:
            watchdog.cancel()

    def lua(self, code: str, *arguments: Any) -> Any:
        return self.ask("nvim_exec_lua", code, list(arguments))

    def do(self, *commands: str) -> None:
        """Ex commands, all in one turn of the editor's loop."""
        self.ask("nvim_exec", "\n".join(commands), False)

    def keys(self, keys: str) -> None:
        self.ask("nvim_input", keys)

    def until(self, condition: str, *arguments: Any) -> None:
        """Waits until a Lua expression over `s` (the plugin's status) holds; the editor's loop runs meanwhile."""
        code = (
            "local a = {...}; local s; local ok = vim.wait(%d, function()"
            " s = require('workspaced').status(); return %s end, 5)"
            " return {ok, vim.json.encode(s)}"
        )
        held, status = self.lua(code % (UNTIL_MS, condition), *arguments)
        assert held, (condition, status)

    def settled(self) -> None:
        """Waits until everything done so far was looked at, told to daemons and answered."""
        quiet = (
            "#s.daemons > 0 and s.waiting == 0 and vim.tbl_isempty(vim.tbl_filter("
            "function(d) return d.state ~= 'ready' or d.unanswered > 0 end, s.daemons))"
        )
        self.until(quiet)
        self.looked()
        self.until(quiet)

    def looked(self) -> None:
        """Waits until everything done so far was looked at, whether somebody is there to be told or not."""
        before = self.status()["stats"]["views"]
        self.lua("require('workspaced.session').touch()")
        self.until("s.stats.views > a[1]", before)

    def status(self) -> dict[str, Any]:
        status: dict[str, Any] = json.loads(self.lua("return vim.json.encode(require('workspaced').status())"))
        return status

    def messages(self) -> str:
        said: str = self.ask("nvim_exec", "messages", True)
        return said

    def quit(self) -> None:
        """Ends it as a user does."""
        assert self.process.stdin is not None
        self.process.stdin.write(msgspec.msgpack.encode([2, "nvim_command", ["qall!"]]))
        self.process.stdin.flush()
        assert self.process.wait(ANSWER_S) == 0

    def _stderr(self) -> str:
        assert self.process.stderr is not None
        return self.process.stderr.read().decode(errors="replace")

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(ANSWER_S)
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert pipe is not None
            with suppress(BrokenPipeError):
                pipe.close()
