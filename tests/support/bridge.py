"""An agent that has started `workspaced mcp` as its runtime does."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from support.patience import PATIENCE_S

END_S = PATIENCE_S


class Agent:
    """The agent's end of a bridge."""

    def __init__(self, arguments: tuple[str, ...], env: dict[str, str], cwd: Path) -> None:
        command = [sys.executable, "-P", "-m", "workspaced", "mcp", *arguments]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env=env, cwd=cwd)
        assert self.process.stdin and self.process.stdout and self.process.stderr
        self.to, self.of, self.err = self.process.stdin, self.process.stdout, self.process.stderr
        self._ids = 0

    def ask(self, method: str, params: Any = None) -> Any:
        """The result of one request."""
        self._ids += 1
        request = {"jsonrpc": "2.0", "id": self._ids, "method": method, "params": params or {}}
        self.to.write(json.dumps(request).encode() + b"\n")
        self.to.flush()
        answer = json.loads(self.of.readline())
        assert answer["id"] == self._ids
        return answer["result"]

    def end(self) -> tuple[int, bytes, str]:
        """Closes its input where that is open: the exit code, what else it wrote, what it said."""
        out, err = self.process.communicate(timeout=END_S)
        assert b"Traceback" not in err and b"Exception" not in err, err
        return self.process.returncode, out, err.decode()
