"""What agents were shown is kept within bounds by the daemon."""

import os
import shutil
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.profiles import examples
from support.stored_logs import outcomes

from workspaced.limits import SWEEP_INTERVAL_S
from workspaced.recording.call_recorder import Sweeper
from workspaced_events.blobs.evictable import EvictableBlobStore
from workspaced_tools.replay.verify import Outcome

LONG_AGO_S = 100 * 86_400
WAIT_S = 60.0
TOOLS: list[tuple[str, dict[str, Any]]] = [
    ("get_workspace_context", {}),
    ("get_workspace_context", {"includeContent": True}),
    ("get_current_note", {"includeLinks": True}),
    ("get_note_by_reference", {"reference": "beta"}),
    ("get_note_by_reference", {"reference": "nothing"}),
    ("search_workspace", {"query": "note"}),
    ("get_related_notes", {}),
    ("get_workspace_summary", {}),
    ("get_navigation_history", {}),
]


def talk(running: Any) -> None:
    """Some calls of every tool, about changing notes."""
    with running.connect("agent") as client:
        for note in ("a.md", "b.md"):
            client.publish([{"type": "active_note_set", "data": {"note": note}}])
            for tool, arguments in TOOLS:
                client.tool(tool, arguments)
        client.call("workspaced/calls")


def blobs(data: Path) -> list[Path]:
    return sorted(path for path in (data / "served").rglob("*") if path.is_file())


def age(path: Path, seconds: float = LONG_AGO_S) -> None:
    at = time.time() - seconds
    os.utime(path, (at, at))


def recording(running: Any) -> dict[str, Any]:
    status: dict[str, Any] = running.call("workspaced/status")["recording"]
    return status


def bytes_of(paths: list[Path]) -> int:
    return sum(path.stat().st_size for path in paths)


@pytest.fixture(scope="module")
def recorded(module_daemon: Any) -> Path:
    """The data directory of a daemon that answered calls and was stopped."""
    running = module_daemon()
    talk(running)
    running.stop()
    data: Path = running.data
    assert outcomes(data) == {Outcome.SAME: 2 * len(TOOLS)}
    return data


# -- what the log still promises --


@settings(max_examples=examples(15))
@given(data=st.data())
def test_after_any_sweep_a_call_is_the_same_or_not_recorded(
    recorded: Path, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """And after any loss of what was never synced."""
    place = tmp_path_factory.mktemp("swept")
    for part in ("log", "served"):
        shutil.copytree(recorded / part, place / part)
    files = blobs(place)
    total = bytes_of(files)
    for path in data.draw(st.lists(st.sampled_from(files), unique=True)):
        age(path, data.draw(st.integers(1, 10)) * 86_400)
    for path in data.draw(st.lists(st.sampled_from(files), max_size=2, unique=True)):
        os.truncate(path, data.draw(st.integers(0, path.stat().st_size - 1)))
    for _ in range(data.draw(st.integers(0, 2))):
        store = EvictableBlobStore(place)
        store.sweep(data.draw(st.integers(0, total)), data.draw(st.floats(0.5, 11)))
    found = outcomes(place)
    assert found[Outcome.DIFFERENT] == 0 and found.total() == 2 * len(TOOLS)
    if len(blobs(place)) == 0:
        assert found == {Outcome.NOT_RECORDED: 2 * len(TOOLS)}


# -- the daemon --


def test_a_daemon_sweeps_at_its_start_and_says_what_it_keeps(daemon: Any) -> None:
    running = daemon(env={"WORKSPACED_RECORD_DAYS": "90"})
    talk(running)
    before = recording(running)
    files = blobs(running.data)
    assert (before["record"], before["kept"], before["keptBytes"]) == ("served", len(files), bytes_of(files))
    assert before["skipped"] == 0 and before["problem"] is None
    running.stop()
    for path in files[::2]:
        age(path)
    running.start()
    deadline = time.monotonic() + WAIT_S
    while recording(running)["kept"] != len(files[1::2]):
        assert time.monotonic() < deadline
    assert blobs(running.data) == files[1::2]
    assert recording(running)["keptBytes"] == bytes_of(files[1::2])
    assert f"recording  served: {len(files[1::2])} blobs" in running.cli("status").stdout


def test_a_sweep_is_due_after_an_hour_or_when_much_was_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = time.monotonic()
    monkeypatch.setattr("workspaced.recording.call_recorder.time.monotonic", lambda: now)
    store = EvictableBlobStore(tmp_path)
    sweeper = Sweeper(store, bytes_max=8_000, days_max=1)
    sweeper.turn()
    old = tmp_path / "served" / store.keep(b"old")[:2]
    for path in old.iterdir():
        age(path)
    sweeper.turn()
    assert len(blobs(tmp_path)) == 1
    now += SWEEP_INTERVAL_S
    sweeper.turn()
    assert blobs(tmp_path) == [] and sweeper.status() == {"kept": 0, "keptBytes": 0}
    for number in range(20):
        store.keep(os.urandom(950))
        sweeper.turn()
        assert bytes_of(blobs(tmp_path)) <= 9_000 + 960, number
        assert sweeper.status()["keptBytes"] == bytes_of(blobs(tmp_path))


def test_a_sweep_that_fails_is_a_problem_and_no_end(daemon: Any, tmp_path: Path) -> None:
    (tmp_path / "served").write_text("no directory")
    sweeper = Sweeper(EvictableBlobStore(tmp_path), 1, 1)
    sweeper.turn()
    assert sweeper.problem is not None and str(tmp_path) not in sweeper.problem
    running = daemon(start=False)
    running.data.mkdir()
    (running.data / "served").write_text("no directory")
    running.start()
    with running.connect("agent") as client:
        assert client.tool("get_workspace_context")["success"]
        client.call("workspaced/calls")
        status = client.call("workspaced/status")
    assert status["recording"]["problem"] in status["degraded"]
