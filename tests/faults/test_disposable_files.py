"""Row 13: a snapshot or an index that is missing, corrupt, foreign, ahead or unreadable costs time, never truth.

Whatever was done to the files, the daemon answers as one that has neither of them.
"""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.crowd import look

NOTES = {
    "a.md": "# Alpha\n\nA zebra, see [[b]].\n",
    "b.md": "---\naliases: [Second]\n---\n# Beta\n\nNo stripes.\n",
    "c.md": "# Gamma\n\nA zebra again, see [[Second]].\n",
}
LATER = {"a.md": "# Omega\n\nNo animal.\n", "d.md": "# Delta\n\nThe third zebra.\n"}


def snapshot_of(running: Any) -> Path:
    return max((running.data / "snapshots").glob("*.wsnap"))


def index_of(running: Any) -> Path:
    (found,) = (running.data / "cache").glob("*.sqlite")
    return found


def missing(path: Path, _other: Path) -> None:
    path.unlink()


def corrupt(path: Path, _other: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 3] ^= 4
    path.write_bytes(data)


def foreign(path: Path, other: Path) -> None:
    shutil.copy(other, path)
    if path.suffix == ".sqlite":
        shutil.copy(other.with_suffix(".seal"), path.with_suffix(".seal"))


def a_fifo(path: Path, _other: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def a_folder(path: Path, _other: Path) -> None:
    path.unlink()
    path.mkdir()


def answers(running: Any) -> dict[str, Any]:
    client = running.connect(timeout_s=30)
    client.call("workspaced/reconcile")
    asked = {
        "search": client.tool("search_workspace", {"query": "zebra"}),
        "related": client.tool("get_related_notes", {"reference": "b.md"}),
        "alias": client.tool("get_note_by_reference", {"reference": "Second"}),
        "title": client.tool("get_note_by_reference", {"reference": "Alpha"}),
        "late": client.tool("get_note_by_reference", {"reference": "Delta"}),
    }
    state = {name: value for name, value in client.state().items() if name not in ("seq", "clock", "asOfSeq")}
    return {"state": state} | {name: (each["success"], each.get("data")) for name, each in asked.items()}


def filled(running: Any) -> Any:
    """Stopped, with a snapshot and a sealed index."""
    client = running.connect()
    client.call("workspaced/reconcile")
    client.publish([look("a.md"), look("b.md"), {"type": "note_pinned", "data": {"note": "c.md"}}])
    assert running.stop() == 0
    return running


def check_answers_without_them(running: Any) -> list[str]:
    """The warnings of a start with the files as they are, once its answers are those of a start without any."""
    running.start()
    warnings: list[str] = running.connect().call("workspaced/status")["warnings"]
    found = answers(running)
    assert running.stop() == 0
    shutil.rmtree(running.data / "snapshots")
    shutil.rmtree(running.data / "cache")
    running.start()
    assert answers(running) == found
    return warnings


@pytest.mark.fault(row=13)
@pytest.mark.parametrize("which", [snapshot_of, index_of], ids=["snapshot", "index"])
@pytest.mark.parametrize("how", [missing, corrupt, foreign, a_fifo, a_folder], ids=lambda how: how.__name__)
def test_row_13_a_start_over_one_answers_as_without_it(
    daemon: Any, which: Callable[[Any], Path], how: Callable[[Path, Path], None]
) -> None:
    running = filled(daemon("--no-watch", notes=NOTES))
    other = running
    if how is foreign:
        other = filled(daemon("--no-watch", notes=LATER))
    path = which(running)
    how(path, which(other))
    warnings = check_answers_without_them(running)
    named = [each for each in warnings if path.name in each]
    assert bool(named) is (which is snapshot_of and how is not missing), warnings


@pytest.mark.fault(row=13)
def test_row_13_a_snapshot_and_an_index_ahead_of_a_log_and_notes_put_back_from_a_backup(daemon: Any) -> None:
    running = filled(daemon("--no-watch", notes=NOTES))
    backup = running.root / "backup"
    shutil.copytree(running.data / "log", backup / "log")
    shutil.copytree(running.vault, backup / "vault")
    running.start()
    running.add(LATER)
    client = running.connect()
    client.publish([look("d.md"), {"type": "note_unpinned", "data": {"note": "c.md"}}])
    assert client.tool("get_note_by_reference", {"reference": "Delta"})["success"] is True
    assert running.stop() == 0
    for name, place in (("log", running.data / "log"), ("vault", running.vault)):
        shutil.rmtree(place)
        shutil.copytree(backup / name, place)
    ahead = snapshot_of(running)
    warnings = check_answers_without_them(running)
    assert any(ahead.name in each and "does not fit" in each for each in warnings)
    found = answers(running)
    assert found["state"]["activeNote"]["id"] == "b.md" and found["title"][0] and not found["late"][0]
