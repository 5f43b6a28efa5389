"""Files of the data and cache directory that cannot be read, and a HEAD that is ahead of its log.

A disposable one never stops a start. Of the log's own the start says which one it is and what to do.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.crowd import look, verified
from support.daemon import refusal

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs Linux: strace")

START_S = 60.0


def a_fifo(path: Path) -> None:
    path.unlink(missing_ok=True)
    os.mkfifo(path)


def a_folder(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.mkdir()
    (path / "x").touch()


def garbage(path: Path) -> None:
    path.write_bytes(os.urandom(700))


def failing(*calls: str) -> Callable[..., tuple[str, ...]]:
    """A wrapper that runs the daemon with these calls failing on some files."""

    def wrapper(*paths: Path) -> tuple[str, ...]:
        if shutil.which("strace") is None:
            pytest.skip("strace is not installed")
        command = ["strace", "-D", "-f", "-qq", "-o", "/dev/null"]
        for path in paths:
            command += ["-P", str(path)]
        names = ",".join(call.partition(":")[0] for call in calls)
        command += ["-e", f"trace={names}", "-e", "signal=none", *(f"--inject={call}" for call in calls)]
        if subprocess.run([*command, "true"], capture_output=True).returncode != 0:
            pytest.skip("strace cannot trace a process here")
        return tuple(command)

    return wrapper


CHANGES: dict[str, Callable[[Path], None]] = {"a FIFO": a_fifo, "a folder": a_folder, "garbage": garbage}
FAILURES = {
    "EIO on reading": failing("read:error=EIO", "pread64:error=EIO"),
    "EACCES on opening": failing("openat:error=EACCES"),
}


def make_unreadable(running: Any, how: str, *paths: Path) -> None:
    if how in CHANGES:
        for path in paths:
            CHANGES[how](path)
    else:
        running.wrapper = FAILURES[how](*paths)


@pytest.fixture
def stopped(daemon: Any) -> Any:
    """A daemon with a few events, a snapshot and an index, stopped in good order."""
    running = daemon("--no-watch")
    client = running.connect()
    client.call("workspaced/reconcile")
    client.publish([look("a.md", "first"), look("b.md", "second")])
    assert running.stop() == 0
    return running


@pytest.mark.fault(row=12)
@pytest.mark.fault(row=58)
@pytest.mark.parametrize("how", [*CHANGES, *FAILURES])
def test_row_58_no_disposable_file_that_cannot_be_read_stops_a_start(stopped: Any, how: str) -> None:
    (snapshot,) = (stopped.data / "snapshots").glob("*.wsnap")
    (seal,) = (stopped.data / "cache").glob("*.seal")
    head = stopped.data / "log" / "HEAD"
    make_unreadable(stopped, how, snapshot, head, seal, stopped.data / "lock")
    stopped.start()
    client = stopped.connect(timeout_s=30)
    status = client.call("workspaced/status")
    warnings = "\n".join(status["warnings"])
    assert f"snapshots/{snapshot.name}" in warnings and "log/HEAD" in warnings
    cannot_be_replaced = how in {"a folder", "EACCES on opening"}
    assert any("log/HEAD" in each for each in status["degraded"]) == cannot_be_replaced
    assert client.state()["activeNote"]["id"] == "b.md"
    client.call("workspaced/reconcile")
    assert client.tool("search_workspace", {"query": "second"})["success"] is True
    (receipt,) = client.call("workspaced/publish", {"actions": [look("c.md", "third")]})["events"]
    verified(stopped, {"third": receipt["seq"]})
    assert client.state()["activeNote"]["id"] == "c.md"
    assert stopped.stop() == 0
    stopped.wrapper = ()
    stopped.start()
    assert stopped.connect().state()["activeNote"]["id"] == "c.md"


@pytest.mark.fault(row=58)
@pytest.mark.parametrize("how", [*CHANGES, *FAILURES])
def test_row_58_what_a_forgetting_left_and_cannot_be_read_stops_no_start(stopped: Any, how: str) -> None:
    ready = stopped.data / "forgetting" / "ready"
    (ready.parent / "log").mkdir(parents=True)
    (ready.parent / "log" / "00000000000000000001.wlog").write_bytes(b"half")
    ready.write_bytes(b"{}")
    make_unreadable(stopped, how, ready)
    stopped.start()
    client = stopped.connect(timeout_s=30)
    assert any("forgetting/ready" in each for each in client.call("workspaced/status")["warnings"])
    client.publish([look("c.md", "third")])
    assert client.state()["activeNote"]["id"] == "c.md"
    assert not ready.parent.exists()


@pytest.mark.fault(row=58)
@pytest.mark.parametrize("how", ["a FIFO", "a folder", *FAILURES])
def test_row_58_a_segment_that_cannot_be_read_is_refused_with_its_name_and_a_step(stopped: Any, how: str) -> None:
    (segment,) = (stopped.data / "log").glob("*.wlog")
    kept = segment.read_bytes()
    make_unreadable(stopped, how, segment)
    stopped.spawn()
    assert stopped.wait(START_S) == 4
    said = "\n".join(stopped.stderr)
    assert f"log/{segment.name}" in said and "[LOG_UNREADABLE]" in said and "Traceback" not in said
    assert "\n  " in said, "no next step"
    if how in CHANGES:
        done = stopped.cli("log", "verify", "--data-dir", str(stopped.data))
        assert done.returncode == 4 and f"log/{segment.name}" in done.stderr
        shutil.rmtree(segment) if segment.is_dir() else segment.unlink()
        segment.write_bytes(kept)
    stopped.wrapper = ()
    stopped.start()
    assert stopped.connect().state()["activeNote"]["id"] == "b.md"


@pytest.mark.fault(row=12)
def test_row_12_ahead_of_the_log_acknowledged_events_are_missing_and_nothing_more_is_taken(stopped: Any) -> None:
    (segment,) = (stopped.data / "log").glob("*.wlog")
    before = segment.read_bytes()
    stopped.start()
    stopped.connect().publish([look("c.md", "gone")])
    stopped.stop()
    segment.write_bytes(before)
    for path in (stopped.data / "snapshots").glob("*"):
        path.unlink()
    stopped.start()
    client = stopped.connect()
    (said, *_) = client.call("workspaced/status")["degraded"]
    assert "acknowledged events are missing" in said and f"log/{segment.name}" in said and "sequences" in said
    assert client.state()["activeNote"]["id"] == "b.md"
    assert refusal(client.publish, [look("d.md", "more")]).code == "LOG_READ_ONLY"
    assert segment.read_bytes() == before
