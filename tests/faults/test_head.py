"""Row 12: with anything in HEAD's place the daemon opens from the log and warns; only ahead of the log it takes no
events, because then acknowledged ones are missing."""

import errno
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.crowd import look, verified
from support.daemon import refusal

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs Linux's LD_PRELOAD")


def fifo(head: Path) -> None:
    head.unlink()
    os.mkfifo(head)


def directory(head: Path) -> None:
    head.unlink()
    (head / "inside").mkdir(parents=True)


def link_to_nothing(head: Path) -> None:
    head.unlink()
    head.symlink_to(head.parent / "nothing")


def half(head: Path) -> None:
    head.write_bytes(head.read_bytes()[:100])


CONDITIONS: dict[str, Callable[[Path], Any]] = {
    "missing": lambda head: head.unlink(),
    "empty": lambda head: head.write_bytes(b""),
    "garbage": lambda head: head.write_bytes(os.urandom(512)),
    "zeros": lambda head: head.write_bytes(bytes(512)),
    "large": lambda head: head.write_bytes(b"x" * 3_000_000),
    "half of it": half,
    "a FIFO": fifo,
    "a directory": directory,
    "a link to nothing": link_to_nothing,
}


@pytest.fixture
def stopped(daemon: Any, faults_of: Any) -> Any:
    """A daemon that stopped in good order, the plan of its next life's faults, and what was acknowledged."""
    running = daemon("--no-watch", start=False)
    plan = faults_of(running)
    running.start()
    receipts = running.connect().publish([look("a.md", "first"), look("b.md", "second")])
    assert running.stop() == 0
    return running, plan, {receipt["id"]: receipt["seq"] for receipt in receipts}


def check_goes_on(running: Any, acknowledged: dict[str, int]) -> None:
    """It lost nothing, takes events, and its next start is as good."""
    client = running.connect()
    assert client.state()["activeNote"]["id"] == "b.md"
    (receipt,) = client.publish([look("c.md", "third")])
    verified(running, acknowledged | {"third": receipt["seq"]})
    assert running.stop() == 0


@pytest.mark.fault(row=12)
@pytest.mark.parametrize("condition", CONDITIONS)
def test_row_12_the_daemon_opens_from_the_log_and_warns(stopped: Any, condition: str) -> None:
    running, _plan, acknowledged = stopped
    head = running.data / "log" / "HEAD"
    CONDITIONS[condition](head)
    running.start()
    status = running.connect().call("workspaced/status")
    if condition != "half of it":  # a slot of it may still be good
        assert any("log/HEAD" in each for each in status["warnings"]), status
    assert any("log/HEAD" in each for each in status["degraded"]) == (condition == "a directory")
    check_goes_on(running, acknowledged)
    if condition == "a directory":
        (head / "inside").rmdir()
        head.rmdir()
        running.start()
        running.stop()
    running.start()
    status = running.connect().call("workspaced/status")
    assert not any("log/HEAD" in each for each in status["warnings"] + status["degraded"])


@pytest.mark.fault(row=12)
@pytest.mark.parametrize(("call", "error"), [("open", errno.EACCES), ("open", errno.EIO), ("read", errno.EIO)])
def test_row_12_that_cannot_be_read_it_opens_from_the_log_and_warns(stopped: Any, call: str, error: int) -> None:
    running, plan, acknowledged = stopped
    fault = plan.add(call, "log/HEAD", error, times=1)
    running.start()
    assert plan.met(fault)
    assert any("log/HEAD" in each for each in running.connect().call("workspaced/status")["warnings"])
    check_goes_on(running, acknowledged)


@pytest.mark.fault(row=12)
def test_row_12_stale_it_is_behind_and_nothing_is_wrong(stopped: Any) -> None:
    running, _plan, acknowledged = stopped
    head = running.data / "log" / "HEAD"
    stale = head.read_bytes()
    running.start()
    (receipt,) = running.connect().publish([look("b.md", "later")])
    running.kill()
    head.write_bytes(stale)
    running.start()
    status = running.connect().call("workspaced/status")
    assert status["degraded"] == [] and not any("log/HEAD" in each for each in status["warnings"])
    check_goes_on(running, acknowledged | {"later": receipt["seq"]})


@pytest.mark.fault(row=12)
def test_row_12_of_another_log_it_is_ignored_with_a_warning(stopped: Any, daemon: Any) -> None:
    running, _plan, acknowledged = stopped
    other = daemon("--no-watch")
    other.connect().publish([look("a.md", f"o{each}") for each in range(50)])
    other.stop()
    head = running.data / "log" / "HEAD"
    head.write_bytes((other.data / "log" / "HEAD").read_bytes())
    running.start()
    assert any("log/HEAD" in each for each in running.connect().call("workspaced/status")["warnings"])
    check_goes_on(running, acknowledged)


@pytest.mark.fault(row=12)
def test_row_12_ahead_of_the_log_acknowledged_events_are_missing_and_nothing_more_is_taken(stopped: Any) -> None:
    running, _plan, _acknowledged = stopped
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
