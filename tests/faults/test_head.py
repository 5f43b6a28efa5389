"""Row 12: with anything in HEAD's place the daemon opens from the log and warns; only ahead of the log it takes no
events, because then acknowledged ones are missing."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.crowd import look, verified
from support.daemon import refusal


def fifo(head: Path) -> None:
    head.unlink()
    os.mkfifo(head)


def directory(head: Path) -> None:
    head.unlink()
    (head / "inside").mkdir(parents=True)


def link_to_nothing(head: Path) -> None:
    head.unlink()
    head.symlink_to(head.parent / "nothing")


CONDITIONS: dict[str, Callable[[Path], Any]] = {
    "missing": lambda head: head.unlink(),
    "large": lambda head: head.write_bytes(b"x" * 3_000_000),
    "a FIFO": fifo,
    "a directory": directory,
    "a link to nothing": link_to_nothing,
}


@pytest.fixture
def stopped(daemon: Any) -> Any:
    """A daemon that stopped in good order, and what was acknowledged."""
    running = daemon("--no-watch")
    receipts = running.connect().publish([look("a.md", "first"), look("b.md", "second")])
    assert running.stop() == 0
    return running, {receipt["id"]: receipt["seq"] for receipt in receipts}


@pytest.mark.fault(row=12)
@pytest.mark.parametrize("condition", CONDITIONS)
def test_row_12_the_daemon_opens_from_the_log_and_warns(stopped: Any, condition: str) -> None:
    running, acknowledged = stopped
    head = running.data / "log" / "HEAD"
    CONDITIONS[condition](head)
    running.start()
    client = running.connect()
    status = client.call("workspaced/status")
    assert any("log/HEAD" in each for each in status["warnings"]), status
    assert any("log/HEAD" in each for each in status["degraded"]) == (condition == "a directory")
    assert client.state()["activeNote"]["id"] == "b.md"
    (receipt,) = client.publish([look("c.md", "third")])
    verified(running, acknowledged | {"third": receipt["seq"]})
    assert running.stop() == 0
    if condition == "a directory":
        (head / "inside").rmdir()
        head.rmdir()
        running.start()
        running.stop()
    running.start()
    status = running.connect().call("workspaced/status")
    assert not any("log/HEAD" in each for each in status["warnings"] + status["degraded"])


@pytest.mark.fault(row=12)
def test_row_12_ahead_of_the_log_acknowledged_events_are_missing_and_nothing_more_is_taken(stopped: Any) -> None:
    running, _acknowledged = stopped
    (segment,) = (running.data / "log").glob("*.wlog")
    before = segment.read_bytes()
    running.start()
    running.connect().publish([look("c.md", "gone")])
    running.stop()
    segment.write_bytes(before)
    for path in (running.data / "snapshots").glob("*"):
        path.unlink()
    running.start()
    client = running.connect()
    (said, *_) = client.call("workspaced/status")["degraded"]
    assert "acknowledged events are missing" in said and f"log/{segment.name}" in said and "sequences" in said
    assert client.state()["activeNote"]["id"] == "b.md"
    assert refusal(client.publish, [look("d.md", "more")]).code == "LOG_READ_ONLY"
    assert segment.read_bytes() == before
