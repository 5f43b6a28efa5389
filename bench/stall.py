"""A call one second after the machine made the daemon wait: what a single stall costs the calls that follow it."""

import os
import signal
import time
from collections.abc import Iterator
from typing import Final

from .bare import Wire, latencies_ms
from .daemon import UNCERTAIN_S, Daemon, Place, call_line, daemon
from .measure import Figure, at_most, median
from .tools import usual_notes, workspace_of
from .vaults import make_vault

NOTES: Final = 50
STALL_S: Final = 0.08
AFTER_S: Final = 1.0
STOPS: Final = 5
"""A stop meets the middle of a call only by chance; of so many one does."""
AHEAD: Final = 30
"""Calls sent at once, so that the daemon is in one of them."""


def after(at: Place) -> Iterator[Figure]:
    """The context of 7 notes before and after a stall, each round with a daemon of its own."""
    vault = at.new("stalled-vault")
    make_vault(vault, NOTES)
    time.sleep(UNCERTAIN_S)
    line = call_line("get_workspace_context")
    befores, afters = [], []
    for _ in range(at.sizes.rounds):
        with daemon(at, vault) as running:
            running.wait_for_index()
            with running.client() as client:
                client.publish(workspace_of(usual_notes(vault, 7)))
            wire = running.wire()
            _p50_ms(wire, line, at.sizes.calls)  # warms what the first calls find cold
            befores.append(_p50_ms(wire, line, at.sizes.calls))
            _stall(running, wire, line)
            time.sleep(AFTER_S)
            afters.append(_p50_ms(wire, line, at.sizes.calls))
            wire.close()
    ratios = sorted(after / before for after, before in zip(afters, befores, strict=True))
    fields = {
        "before_ms": median(befores),
        "after_ms": median(afters),
        "lowest": ratios[0],
        "highest": ratios[-1],
        "stall_ms": 1_000 * STALL_S,
        "rounds": len(ratios),
    }
    goal, aim = at.sizes.whole(at_most(1.2)), at.sizes.whole(at_most(1.05))
    yield Figure("stall.context.7_notes.ratio", median(ratios), "x before the stall", goal, aim, fields)


def _p50_ms(wire: Wire, line: bytes, calls: int) -> float:
    return median(latencies_ms(calls, lambda _: wire.ask(line)))


def _stall(running: Daemon, wire: Wire, line: bytes) -> None:
    """Stops the process for STALL_S while it answers."""
    for _ in range(STOPS):
        wire.send(line * AHEAD)
        time.sleep(0.001)
        os.kill(running.pid, signal.SIGSTOP)
        time.sleep(STALL_S)
        os.kill(running.pid, signal.SIGCONT)
        wire.read_lines(AHEAD)
