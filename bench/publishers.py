"""What publishing costs the thread of an editor's window, while a daemon runs, stands still and is gone.

Neovim's: neovim.py. That of extensions is measured in the publisher (clients/typescript/scripts/measure.js): all
work on the thread from one event to the next, with 30 tabs, 5 pins and a selection that changes each time.
"""

import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Final

from . import language_server, neovim, vscode
from .daemon import Daemon, Place, daemon
from .measure import Figure, at_most, median, percentile, progress

CLIENT: Final = Path(__file__).resolve().parents[1] / "clients" / "typescript"
EVENTS: Final = 300
EVENTS_QUICK: Final = 20
GOAL_MS: Final = 2.0
BUILD_S: Final = 180.0

SITUATIONS: Final[dict[str, Callable[[int], None]]] = {
    "running": lambda _pid: None,
    "stopped": lambda pid: os.kill(pid, signal.SIGSTOP),
    "gone": lambda pid: os.kill(pid, signal.SIGKILL),
}
"""What happens to the daemon before the events."""


def figures(at: Place) -> Iterator[Figure]:
    """Those of every publisher; the one in TypeScript is that of VS Code and Obsidian."""
    yield from neovim.figures(at)
    yield from typescript(at)
    yield from vscode.figures(at)
    yield from language_server.figures(at)


def typescript(at: Place) -> Iterator[Figure]:
    """One figure for each state of the daemon; none where Node or the packages cannot be had."""
    if (problem := _build()) is not None:
        progress(f"publishers.typescript: not measured: {problem}")
        return
    events = EVENTS_QUICK if at.sizes.quick else EVENTS
    for name, happens in SITUATIONS.items():
        vault = at.new("vault")
        vault.mkdir()
        with daemon(at, vault, name=name) as running:
            try:
                spent, cpu, idle = _measured(running, vault, events, happens)
            finally:
                if name == "stopped":
                    os.kill(running.pid, signal.SIGCONT)
        yield Figure(
            f"publishers.typescript.{name}.p99",
            percentile(spent, 0.99),
            "ms on the thread",
            at_most(GOAL_MS),
            None,
            {
                "p50_ms": median(spent),
                "max_ms": max(spent),
                "thread_cpu_p50_ms": median(cpu),
                "thread_cpu_p99_ms": percentile(cpu, 0.99),
                "idle_p50_ms": median(idle),
                "idle_p99_ms": percentile(idle, 0.99),
                "events": len(spent),
            },
        )


def _build() -> str | None:
    """Builds the client; what keeps it from being built."""
    install = ["npm", "install", "--no-audit", "--no-fund", "--silent", "--fetch-retries=1"]
    commands = [["npm", "run", "--silent", "build"]]
    if not (CLIENT / "node_modules" / "typescript").exists():
        commands.insert(0, install)
    try:
        for command in commands:
            subprocess.run(command, cwd=CLIENT, check=True, capture_output=True, timeout=BUILD_S)
    except (OSError, subprocess.SubprocessError) as error:
        return str(error)
    return None


def _measured(
    running: Daemon, vault: Path, events: int, happens: Callable[[int], None]
) -> tuple[list[float], list[float], list[float]]:
    """The milliseconds of each event: on the thread, what of it the processor worked (Linux), and of none."""
    script = str(CLIENT / "scripts" / "measure.js")
    command = ["node", script, str(running.socket), str(vault), str(events)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as editor:
        assert editor.stdin is not None and editor.stdout is not None
        try:
            _line(editor.stdout)
            happens(running.pid)
            editor.stdin.write("go\n")
            editor.stdin.flush()
            measured = json.loads(_line(editor.stdout))
        finally:
            editor.kill()
    return measured["spentMs"], measured["cpuMs"], measured["idleMs"]


def _line(output: IO[str]) -> str:
    if not (line := output.readline()):
        raise RuntimeError("the publisher ended before it answered")
    return line
