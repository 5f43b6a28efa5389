"""`workspaced eval export` of the demo's morning, every prompt and call judged: from the command to the files."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from workspaced import replay
from workspaced.demo.morning import INSTALLED
from workspaced_events.ids import EventId
from workspaced_events.replay.bundle import append_to_bundle
from workspaced_events.schema.catalogue import ENTRY_OF, AnswerJudged

from .daemon import Place
from .measure import Figure, at_most, median

_TARGETS: Final = ("pytest", "inspect", "promptfoo")
_GOAL_S: Final = 1.0


def figures(at: Place) -> Iterator[Figure]:
    """For each target the time of the command, its start included."""
    folder = at.new("evals")
    folder.mkdir()
    log = folder / "demo.wsb"
    judged = _all_judged(log)
    for target in _TARGETS:
        _first, *taken = [_exported(log, target, folder, number) for number in range(at.sizes.rounds + 1)]
        fields = {"judged": judged, "rounds": len(taken), "cpu_s": median([each.cpu_s for each in taken])}
        wall_s = median([each.wall_s for each in taken])
        yield Figure(f"eval.export_{target}", wall_s, "s", at_most(_GOAL_S), fields=fields)


def _all_judged(log: Path) -> int:
    shutil.copy(INSTALLED, log)
    with replay.open(log) as opened:
        seqs = [each.seq for each in (*opened.prompts(), *opened.calls())]
        last = opened.events()[-1]
    for number, seq in enumerate(seqs, start=1):
        data = AnswerJudged(seq, "wrong", "29 June")
        entry = ENTRY_OF[AnswerJudged]
        event = entry.event(last.seq + number, EventId(f"judged-{seq}"), last.time, "bench", last.vault, data)
        draft = log.with_suffix(".new")
        with log.open("rb") as old, draft.open("wb") as new:
            append_to_bundle(old, new, event)
        draft.replace(log)
    return len(seqs)


class _Taken(NamedTuple):
    wall_s: float
    cpu_s: float


def _exported(log: Path, target: str, folder: Path, number: int) -> _Taken:
    to = folder / f"{target}-{number}"
    command = [sys.executable, "-m", "workspaced", "eval", "export", str(log), "--to", target, "-o", str(to)]
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    begun, used = time.perf_counter(), os.times()
    env = {**kept, "PYTHONPYCACHEPREFIX": str(folder / "bytecode")}  # as an installed program has it
    subprocess.run(command, check=True, capture_output=True, env=env)
    after = os.times()
    cpu_s = after.children_user - used.children_user + after.children_system - used.children_system
    return _Taken(time.perf_counter() - begun, cpu_s)
