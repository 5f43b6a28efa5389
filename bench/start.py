"""A daemon's start where Python may not keep compiled modules beside the sources: the first, and each after it."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from workspaced.client.wire import hello_params, request_line

from .bare import Wire
from .daemon import Place, call_line
from .measure import Figure, at_most, cpu_seconds, median


class _Start(NamedTuple):
    answered_s: float
    cpu_s: float


def again(at: Place) -> Iterator[Figure]:
    """From a new process to the answer of its first call."""
    vault, home = at.new("start-vault"), at.new("home")
    vault.mkdir()
    home.mkdir(mode=0o700)
    (vault / "a.md").write_text("# A\n")
    first, *starts = [_start(at, vault, home) for _ in range(at.sizes.rounds + 1)]
    fields = {
        "cpu_s": median([each.cpu_s for each in starts]),
        "first_s": first.answered_s,
        "first_cpu_s": first.cpu_s,
        "rounds": len(starts),
        "note": "with PYTHONDONTWRITEBYTECODE; the first one where nothing of ours is compiled",
    }
    yield Figure(
        "start.first_answer", median([each.answered_s for each in starts]), "s", at_most(0.6), at_most(0.4), fields
    )


def _start(at: Place, vault: Path, home: Path) -> _Start:
    socket = at.sockets / "start.sock"
    command = [sys.executable, "-P", "-m", "workspaced", "serve", "--vault", str(vault)]
    command += ["--data-dir", str(at.new("data")), "--socket", str(socket)]
    env = {**os.environ, "HOME": str(home), "PYTHONDONTWRITEBYTECODE": "1"}
    env.pop("PYTHONPYCACHEPREFIX", None)
    started = time.perf_counter()
    process = subprocess.Popen(command, stderr=subprocess.PIPE, env=env)
    assert process.stderr is not None
    try:
        while b"listening on" not in (line := process.stderr.readline()):
            if not line:
                raise RuntimeError("the daemon did not start")
        wire = Wire(socket)
        wire.ask(request_line(0, "workspaced/hello", hello_params("bench")))
        wire.ask(call_line("get_workspace_context"))
        taken = _Start(time.perf_counter() - started, cpu_seconds(process.pid))
        wire.close()
        return taken
    finally:
        process.terminate()
        process.communicate()
