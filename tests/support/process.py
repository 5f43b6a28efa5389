"""Starts `workspaced`: forked from a warm server where that tells no difference, else by exec.

By exec starts what asks for it (`real=True`), what sets a variable that an interpreter reads when it starts, and
everything on systems without pidfds.
"""

import atexit
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from support.fork_server import IS_AVAILABLE, PYTHON_READS, Forked, ForkServer

Process = subprocess.Popen[bytes] | Forked

_server = ForkServer()
atexit.register(_server.close)


def _needs_exec(env: Mapping[str, str]) -> bool:
    def read_at_start(of: Mapping[str, str]) -> dict[str, str]:
        return {name: value for name, value in of.items() if name.startswith(PYTHON_READS)}

    return not IS_AVAILABLE or read_at_start(env) != read_at_start(os.environ)


def spawn(
    *arguments: str | Path, env: Mapping[str, str] | None = None, real: bool = False, **streams: Any
) -> Process:
    """`python -m workspaced *arguments`, as `subprocess.Popen` starts it: `stdin`, `stdout`, `stderr`, `cwd`."""
    env = os.environ if env is None else env
    if real or _needs_exec(env):
        return subprocess.Popen([sys.executable, "-m", "workspaced", *arguments], env=dict(env), **streams)
    defaults = {"stdin": None, "stdout": None, "stderr": None}
    return _server.run([str(each) for each in arguments], env=env, **{**defaults, **streams})


def run(
    *arguments: str | Path,
    input: bytes | None = None,  # noqa: A002 - as in subprocess.run
    timeout_s: float = 60.0,
    **options: Any,
) -> "subprocess.CompletedProcess[bytes]":
    """The same, to its end, with what it wrote.

    Raises:
        subprocess.TimeoutExpired: it was killed, as it had not ended.
    """
    stdin = subprocess.DEVNULL if input is None else subprocess.PIPE
    process = spawn(*arguments, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)
    try:
        out, err = process.communicate(input, timeout_s)
    except BaseException:
        process.kill()
        process.wait(timeout_s)
        raise
    return subprocess.CompletedProcess(["workspaced", *arguments], process.wait(timeout_s), out, err)
