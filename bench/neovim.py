"""Neovim: what the plugin takes of the editor's own thread, whatever the daemon does."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from .daemon import Place, daemon
from .measure import Figure, at_most, percentile, progress

HERE: Final = Path(__file__).parent
PLUGIN: Final = HERE.parent / "clients" / "neovim"
CONDITIONS: Final = {"running": "", "stopped": "sigstop", "gone": "sigkill"}
"""What happens to the daemon once it was told something: the signal that it gets."""
NOTES: Final = 20
STEPS: Final = 2_000
QUICK_STEPS: Final = 100
RUN_S: Final = 300


def figures(at: Place) -> Iterator[Figure]:
    """What the plugin takes for one step of its user (another note, a selection, at times a split): 99 of 100 take
    less. A step is several events of the editor, and for every second one a look at what is shown."""
    if (nvim := shutil.which("nvim")) is None:
        progress("nvim is not installed; its figures are left out")
        return
    vault = at.new("neovim")
    vault.mkdir()
    for number in range(NOTES):
        (vault / f"n{number:02}.md").write_text(f"# Note {number}\n\n" + "A line to look at.\n" * 50)
    for condition, signal in CONDITIONS.items():
        taken_ms = sorted(each / 1e6 for each in _taken_ns(at, vault, nvim, condition, signal))
        more = {"p50": percentile(taken_ms, 0.5), "max": taken_ms[-1], "steps": len(taken_ms)}
        yield Figure(
            f"publishers.neovim.{condition}",
            percentile(taken_ms, 0.99),
            "ms of the editor's thread, p99",
            at.sizes.whole(at_most(2.0)),
            fields=more,
        )


def _taken_ns(at: Place, vault: Path, nvim: str, condition: str, signal: str) -> list[int]:
    """What each step took while the daemon was in this condition."""
    out = at.new("taken")
    with daemon(at, vault, name=f"neovim-{condition}") as running:
        env = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "VIM", "NVIM"))},
            "HOME": str(at.root),
            "BENCH_PID": str(running.pid),
            "BENCH_SIGNAL": signal,
            "BENCH_STEPS": str(QUICK_STEPS if at.sizes.quick else STEPS),
            "BENCH_OUT": str(out),
        }
        command = [nvim, "--headless", "-n", "-i", "NONE", "--clean", "--cmd", f"set runtimepath^={PLUGIN}"]
        command += ["--cmd", f"luafile {HERE / 'neovim.lua'}"]
        done = subprocess.run(command, cwd=vault, env=env, capture_output=True, timeout=RUN_S, check=False)
    if not out.exists():
        raise RuntimeError(f"Neovim measured nothing: {done.stderr.decode(errors='replace')}")
    taken: list[int] = json.loads(out.read_text())
    return taken
