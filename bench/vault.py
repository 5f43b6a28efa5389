"""A vault of thousands of notes: its index, the first calls after a start, memory; and the command line."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from workspaced.limits import FREE_PAGES_INTERVAL_S
from workspaced_tools.vault.vault import Vault

from .daemon import Daemon, Place, call_line, daemon, structured
from .measure import Figure, at_least, at_most, interleaved, median
from .tools import usual_notes, workspace_of
from .vaults import wait_for_index

COMMAND_RUNS: Final = 7


# -- index --


def build(at: Place) -> Iterator[Figure]:
    """The index from nothing: scan, read, parse, file; nobody asks meanwhile."""
    path, notes = at.vault, at.sizes.notes
    size = sum(each.stat().st_size for each in path.rglob("*.md"))
    walls, texts, cpus = [], [], []

    def once() -> None:
        vault = Vault(path)
        wall, cpu = time.perf_counter(), _cpu_s()
        vault.start()
        wait_for_index(vault, "state")
        walls.append(time.perf_counter() - wall)
        wait_for_index(vault)
        texts.append(time.perf_counter() - wall)
        assert vault.statistics().index.notes_indexed == notes
        vault.close()
        cpus.append(_cpu_s() - cpu)

    interleaved(at.sizes.restarts, once)
    yield Figure(
        f"index.build.{notes}_notes",
        median([notes / wall for wall in walls[1:]]),
        "notes/s",
        at.sizes.for_notes(at_least(6_000)),
        at.sizes.for_notes(at_least(12_000)),
        {
            "notes": notes,
            "bytes_a_note": size // notes,
            "with_text_s": median(texts[1:]),
            "cpu_s": median(cpus[1:]),
            "rounds": len(walls) - 1,
            "note": "names, links and tags; text follows; by worker processes; file pages warm",
        },
    )


def _cpu_s() -> float:
    """CPU seconds of this process and of those it started that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


# -- the first calls after a start --


def first_calls(at: Place) -> Iterator[Figure]:
    """Calls on a daemon that accepts clients for the first time, its index still being built."""
    notes = usual_notes(at.vault, 7)
    data = at.new("data")
    with daemon(at, at.vault, data) as running:
        running.wait_for_index()
        with running.client() as client:
            client.publish(workspace_of(notes))
            title: str = client.tool("get_note_by_reference", {"reference": notes[3]})["data"]["title"]
    lines = {
        "context": call_line("get_workspace_context"),
        "content": call_line("get_workspace_context", includeContent=True),
        "by_title": call_line("get_note_by_reference", reference=title),
    }
    for name, line in lines.items():
        results = [_first_call(at, data, line) for _ in range(at.sizes.restarts)]
        waits = name == "by_title"
        fields = {
            "worst_ms": max(taken for taken, _ in results),
            "vault_notes": at.sizes.notes,
            "restarts": len(results),
            "index_was": None if waits else sorted({state or "unknown" for _, state in results}),
            "note": "waits for the index, at most 2 s" if waits else "goal set for 100,000 notes",
        }
        yield Figure(
            f"index.first_call.{name}.{at.sizes.notes}_notes",
            median([taken for taken, _ in results]),
            "ms",
            None if waits else at_most(300),
            None if waits else at_most(150),
            fields,
        )


def _first_call(at: Place, data: Path, line: bytes) -> tuple[float, str | None]:
    """How long the first call after a start took, and how the index was where the answer says so."""
    with daemon(at, at.vault, data) as running:
        wire = running.wire()
        started = time.perf_counter()
        answer = wire.ask(line)
        taken = 1_000 * (time.perf_counter() - started)
        wire.close()
        return taken, structured(answer).get("vaultInfo", {}).get("indexState")


# -- memory --


def memory(at: Place) -> Iterator[Figure]:
    """What a daemon holds with its index ready, and after every note was shown to an agent."""
    paths = [path.relative_to(at.vault).as_posix() for path in sorted(at.vault.rglob("*.md"))]
    with daemon(at, at.vault) as running:
        running.wait_for_text()
        built = running.resident_mb()
        time.sleep(FREE_PAGES_INTERVAL_S + 1)
        idle = running.resident_mb()
        _show_all(running, paths)
        filled = running.resident_mb()
        cache = running.status()["vaults"][0]["cache"]
    name = f"memory.resident.{len(paths)}_notes"
    yield Figure(f"{name}.just_built", built, "MB", fields={"notes": len(paths)})
    yield Figure(
        f"{name}.idle",
        idle,
        "MB",
        at.sizes.for_notes(at_most(85)),
        at.sizes.for_notes(at_most(70)),
        {"notes": len(paths), "idle_s": FREE_PAGES_INTERVAL_S + 1},
    )
    yield Figure(
        f"{name}.cache_filled",
        filled,
        "MB",
        at.sizes.for_notes(at_most(100)),
        at.sizes.for_notes(at_most(70)),
        {
            "notes": len(paths),
            "notes_cached": cache["entries"],
            "cache_mb": cache["bytes"] / 2**20,
            "note": "every note read with content and metadata through get_note_by_reference; default cache bound",
        },
    )


def _show_all(running: Daemon, paths: list[str]) -> None:
    wire = running.wire()
    for path in paths:
        structured(wire.ask(call_line("get_note_by_reference", reference=path, includeMetadata=True)))
    wire.close()


# -- the command line --


def command_line(at: Place) -> Iterator[Figure]:
    """`workspaced status` as a process: what it costs before a person sees a line."""
    vault = at.new("empty-vault")
    vault.mkdir()
    cpus, walls = [], []
    with daemon(at, vault) as running:
        command = [sys.executable, "-m", "workspaced", "status", "--socket", str(running.socket)]
        for _ in range(COMMAND_RUNS + 1):
            started = time.perf_counter()
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
            _, code, usage = os.wait4(process.pid, 0)
            process.returncode = code
            walls.append(1_000 * (time.perf_counter() - started))
            cpus.append(1_000 * (usage.ru_utime + usage.ru_stime))
            assert code == 0
    yield Figure(
        "cli.status_cpu_ms",
        median(cpus[1:]),
        "ms of CPU",
        at_most(60),
        None,
        {
            "wall_ms": median(walls[1:]),
            "runs": COMMAND_RUNS,
            "note": "python -m workspaced status, interpreter included",
        },
    )
