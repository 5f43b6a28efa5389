"""Row 34 over a real daemon, several times over: many small notes, deep folders, giants; memory is given back."""

import os
from pathlib import Path
from typing import Any

import pytest

MIB = 1024 * 1024
MANY = 10_000
PER_FOLDER = 200
DEEP = 1_000
ROUNDS = 6
GIANT_ROUNDS = 2
MANY_BYTES_MAX = 48 * MIB
"""What a daemon of MANY notes may take beyond one of four: their names and stats, and the index's caches."""
AGAIN_BYTES_MAX = 8 * MIB
"""What comparing and changing all of them again may add."""
GIANT_BYTES = 1 << 30
GIANT_PEAK_BYTES_MAX = 400 * MIB
GIANT_KEPT_BYTES_MAX = 96 * MIB
"""What may still be taken once the giants are gone."""
ANSWER_S = 120.0
needs_proc = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc")


def peak_bytes(running: Any) -> int:
    """The most resident memory that the process ever had."""
    status = Path(f"/proc/{running.pid}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024


def write_many(vault: Path, word: str) -> None:
    for number in range(MANY):
        folder = vault / f"d{number // PER_FOLDER}"
        if number % PER_FOLDER == 0:
            folder.mkdir(exist_ok=True)
        (folder / f"{number}.md").write_text(f"# Note {number}\n\n{word} [[{number + 1}]] #t{number % 50}\n")


def make_chain(vault: Path) -> None:
    """Folders in folders, deeper than a path may be long."""
    here = os.open(vault, os.O_RDONLY)
    for _ in range(DEEP):
        os.mkdir("deep", dir_fd=here)
        inner = os.open("deep", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(here)


def remove_chain(vault: Path) -> None:
    """Ordinary clean-up stops at paths that long."""
    while inner := list((vault / "deep").iterdir()):
        os.rename(inner[0], vault / "next")
        (vault / "deep").rmdir()
        os.rename(vault / "next", vault / "deep")


def few(daemon: Any) -> int:
    """The memory of a daemon of four notes."""
    running = daemon("--reconcile-s", "3600")
    with running.connect(timeout_s=ANSWER_S) as client:
        client.call("workspaced/reconcile")
        client.tool("search_workspace", {"query": "note"})
        taken: int = running.memory_bytes()
    running.stop()
    return taken


@pytest.mark.fault(row=34)
@needs_proc
@pytest.mark.thorough
def test_row_34_many_notes_and_deep_folders_cost_bounded_memory_however_often_they_change(daemon: Any) -> None:
    base = few(daemon)
    running = daemon("--reconcile-s", "3600", start=False)
    make_chain(running.vault)
    taken = []
    for number in range(ROUNDS):
        write_many(running.vault, f"word{number}")
        if number == 0:
            running.start()
        with running.connect(timeout_s=ANSWER_S) as client:
            client.call("workspaced/reconcile")
            found = client.tool("search_workspace", {"query": f"word{number}", "limit": 5})
            assert found["success"] and len(found["data"]["results"]) == 5
            status = client.call("workspaced/status")["vaults"][0]
            assert status["index"]["notesFound"] == MANY + 4
            assert any("too deep" in warning for warning in status["warnings"])
            assert status["cache"]["bytes"] < MIB, "indexing keeps no text"
        taken.append(running.memory_bytes())
        if number >= 2 and taken[-1] - taken[-2] < AGAIN_BYTES_MAX:
            break
    remove_chain(running.vault)
    assert max(taken) - base < MANY_BYTES_MAX, (base, taken)
    assert taken[-1] - taken[-2] < AGAIN_BYTES_MAX, (base, taken)  # a leak takes as much every time
    assert len(os.listdir(f"/proc/{running.pid}/fd")) < 64


@pytest.mark.fault(row=34)
@needs_proc
@pytest.mark.thorough
def test_row_34_the_memory_that_giants_took_is_given_back(daemon: Any) -> None:
    running = daemon("--reconcile-s", "3600")
    with running.connect(timeout_s=ANSWER_S) as client:
        client.call("workspaced/reconcile")
        client.tool("get_note_by_reference", {"reference": "a"})
        base = running.memory_bytes()
        for number in range(GIANT_ROUNDS):
            sparse, line = running.vault / "sparse.md", running.vault / "line.md"
            with sparse.open("wb") as file:
                file.write(f"# Sparse {number}\n".encode())
                file.truncate(GIANT_BYTES)
            line.write_text(f"# Line {number}\n" + "word [[x]] " * 300_000)
            client.call("workspaced/reconcile")
            for reference in ("sparse", "line"):
                for tool in ("get_note_by_reference", "get_related_notes", "get_note_diff"):
                    client.tool(tool, {"reference": reference})
            sparse.unlink()
            line.unlink()
            client.call("workspaced/reconcile")
            client.tool("get_note_by_reference", {"reference": "a"})
            kept = running.memory_bytes() - base
            assert kept < GIANT_KEPT_BYTES_MAX, f"{kept // MIB} MiB after round {number}"
    assert peak_bytes(running) - base < GIANT_PEAK_BYTES_MAX
