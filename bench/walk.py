"""What one warm call and one prompt walk through of the product: files, functions, and visibility decisions."""

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from workspaced.client.sync_client import SyncClient

from .daemon import Daemon, Place, call_line, daemon, structured
from .measure import Figure, at_most
from .tools import usual_notes, workspace_of
from .traced import FILE

NOTES: Final = 2
WARM: Final = 3
"""Calls before the one that is counted."""
COUNTED: Final = 5
"""Calls that are counted; the least says what the call itself enters, since the daemon has other work too."""
WRITTEN_S: Final = 30.0


def walks(at: Place) -> Iterator[Figure]:
    """`get_workspace_context`, then a prompt's body, each with two notes."""
    counts = at.new("counts.json")
    settings = {FILE: str(counts)}
    with daemon(at, at.vault, name="walk", settings=settings, module="bench.traced") as running:
        running.wait_for_index()
        notes = usual_notes(at.vault, NOTES)
        with running.client() as client:
            client.publish(workspace_of(notes))
            wire = running.wire()

            def context() -> None:
                data = structured(wire.ask(call_line("get_workspace_context", includeContent=True)))
                assert data["summary"]["totalNotes"] == NOTES, data["summary"]

            # The active note is set anew before each call: an answer that is kept would enter nothing.
            yield from _figures(
                "get_workspace_context",
                _counted(running, client, counts, lambda: client.publish(workspace_of(notes)[-1:]), context),
                files=40,
                functions=160,
            )
            talk = _conversation(client)
            body = {"conversation": talk, "layers": False, "shape": "anthropic"}
            yield from _figures(
                "prompt",
                _counted(
                    running,
                    client,
                    counts,
                    lambda: _say(client, talk, notes),
                    lambda: client.call("workspaced/context/assemble", body),
                ),
                files=60,
            )
            wire.close()


def _counted(
    running: Daemon, client: SyncClient, counts: Path, before: Callable[[], object], call: Callable[[], object]
) -> dict[str, Any]:
    """What `call` enters, after `before`, warm: of several the one that entered the fewest functions."""
    taken = []
    for number in range(WARM + COUNTED):
        before()
        os.kill(running.pid, signal.SIGUSR1)
        client.call("workspaced/status")  # the signal was handled, since what came later was answered
        os.kill(running.pid, signal.SIGUSR1)
        call()
        os.kill(running.pid, signal.SIGUSR2)
        if (counted := _read(counts)) and number >= WARM:
            taken.append(counted)
    return min(taken, key=lambda each: each["functions"])


def _read(counts: Path) -> dict[str, Any]:
    deadline = time.monotonic() + WRITTEN_S
    while not counts.exists():
        if time.monotonic() > deadline:
            raise TimeoutError(f"the daemon wrote no counts within {WRITTEN_S} s")
        time.sleep(0.01)
    counted: dict[str, Any] = json.loads(counts.read_text())
    counts.unlink()
    return counted


def _figures(name: str, counted: dict[str, Any], files: int, functions: int | None = None) -> Iterator[Figure]:
    goals = {"files": files, "functions": functions, "decisions_most_for_one_note": 1}
    for part, goal in goals.items():
        bound = None if goal is None else at_most(goal)
        yield Figure(f"walk.{name}.{part}", counted[part], "", bound, None, {"notes": NOTES, **counted})


def _conversation(client: SyncClient) -> str:
    settings = {"provider": "anthropic", "model": "bench", "contextWindow": 100_000, "outputReserve": 1_000}
    started = client.call("workspaced/context/start", {**settings, "system": "You help."})
    talk: str = started["conversation"]
    client.call("workspaced/context/pin", {"conversation": talk, "id": "workspace", "kind": "workspace"})
    return talk


def _say(client: SyncClient, talk: str, notes: list[str]) -> None:
    """A turn that ended, and a question about both notes."""
    attached = [{"kind": "active_note" if at == 0 else "note", "id": note} for at, note in enumerate(notes)]
    messages = [{"role": "assistant", "text": "I see."}, {"role": "user", "text": "?", "attachments": attached}]
    client.call("workspaced/context/message", {"conversation": talk, "messages": messages})
