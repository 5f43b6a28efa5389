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
from .measure import Figure, at_most, cpu_seconds, interleaved, median
from .replay import EVENTS_A_LINE, make_log


class _Start(NamedTuple):
    answered_s: float
    cpu_s: float


def again(at: Place) -> Iterator[Figure]:
    """From a new process to the answer of its first call."""
    vault, home = at.new("start-vault"), at.new("home")
    vault.mkdir()
    home.mkdir(mode=0o700)
    (vault / "a.md").write_text("# A\n")
    first, *starts = [
        _start(at, home, "--vault", vault, "--data-dir", at.new("data")) for _ in range(at.sizes.rounds + 1)
    ]
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


def in_the_past(at: Place) -> Iterator[Figure]:
    """A daemon that stands at the end of a long log, or in its middle: what it adds to an ordinary start."""
    count = at.sizes.replay_events // 2
    vault, home, log = at.new("present-vault"), at.new("home"), at.new("long-log")
    vault.mkdir()
    home.mkdir(mode=0o700)
    make_log(log, count, EVENTS_A_LINE)
    present, middle, end = interleaved(
        at.sizes.rounds,
        lambda: _start(at, home, "--vault", vault, "--data-dir", at.new("data"), keeps_modules=True),
        lambda: _start(at, home, "--replay", log, "--at", str(count // 2), keeps_modules=True),
        lambda: _start(at, home, "--replay", log, keeps_modules=True),
    )
    fields: dict[str, float | str] = {
        "events": count,
        "rounds": at.sizes.rounds,
        "note": "its compiled modules are kept",
    }
    for name, starts in (("present", present), ("middle", middle)):
        fields[f"{name}_s"] = median([each.answered_s for each in starts])
        fields[f"{name}_cpu_s"] = median([each.cpu_s for each in starts])
    fields["cpu_s"] = median([each.cpu_s for each in end])
    yield Figure("past.start", median([each.answered_s for each in end]), "s", at_most(0.7), at_most(0.5), fields)


def _start(at: Place, home: Path, *served: str | Path, keeps_modules: bool = False) -> _Start:
    socket = at.sockets / "start.sock"
    command = [sys.executable, "-P", "-m", "workspaced", "serve", *map(str, served), "--socket", str(socket)]
    env = {**os.environ, "HOME": str(home), "PYTHONDONTWRITEBYTECODE": "1"}
    env.pop("PYTHONPYCACHEPREFIX", None)
    if keeps_modules:
        env.pop("PYTHONDONTWRITEBYTECODE")
        env["PYTHONPYCACHEPREFIX"] = str(at.root / "compiled")
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
