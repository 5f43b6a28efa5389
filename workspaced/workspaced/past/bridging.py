"""`workspaced mcp --replay`: a daemon over the past for one agent, and the bridge to it. Both end together."""

import signal
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from workspaced_events.interpreter import own_module

from ..bridge import stdio
from ..bridge.target import Target

_ORPHAN_MINUTES: Final = 1
"""The daemon ends by itself so long after the bridge was killed."""


def run_bridge(log: str, at: int | str | None, tools: str | None) -> int:
    """Serves an agent over standard input and output until it ends; returns the exit code.

    The daemon says on standard error where it stands, or why it could not start; then the exit code is its own.
    """
    for ends in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(ends, signal.default_int_handler)  # as Ctrl-C, so that the daemon ends too
    with tempfile.TemporaryDirectory(prefix="workspaced-past-") as folder:
        socket = str(Path(folder) / "s")
        daemon = subprocess.Popen(_command(log, at, socket), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)  # noqa: S603
        assert daemon.stdout is not None
        try:
            if b'"socket"' not in daemon.stdout.readline():  # an error, which it has told
                return daemon.wait()
            return stdio.run(Target(socket, tools=tools))
        finally:
            daemon.terminate()
            daemon.stdout.close()
            daemon.wait()


def _command(log: str, at: int | str | None, socket: str) -> list[str]:
    command = own_module("workspaced", "serve", "--json", "--replay", log, "--socket", socket)
    command += ["--idle-exit-minutes", str(_ORPHAN_MINUTES)]
    return command if at is None else [*command, "--at", str(at)]
