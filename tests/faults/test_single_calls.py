"""Row 61: small faults of single calls under a real daemon, each of which hid, hung or had a wrong code."""

import errno
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support import TESTS
from support.crowd import degraded, look, publish, selected, verified
from support.daemon import refusal

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs Linux's LD_PRELOAD")


def long(name: str) -> dict[str, Any]:
    """A selection whose text goes into a blob of its own."""
    return selected(name * 5_000, name)


def names_head(found: list[str]) -> bool:
    return len(found) == 1 and "log/HEAD" in found[0]


def blob_files(running: Any) -> list[Path]:
    return [path for path in (running.data / "blobs").rglob("*") if path.is_file()]


QUICK = Path("/dev/shm")
"""Where there is one, a sync costs nothing."""
Faulty = tuple[Any, Any, Any]


@pytest.fixture
def faulty(daemon: Any, faults_of: Any) -> Faulty:
    """A running daemon, a client of it, and the plan of the faults that it meets."""
    running = daemon("--no-watch", start=False)
    plan = faults_of(running)
    running.start()
    client = running.connect()
    client.call("workspaced/reconcile")  # of notes that are known texts are recorded
    return running, client, plan


# -- HEAD --


@pytest.mark.fault(row=61)
@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        *((call, errno.EIO, "Input/output error") for call in ("open", "pwrite", "fdatasync", "rename")),
        *((call, errno.EINTR, "") for call in ("pwrite", "fdatasync")),
    ],
)
def test_row_61_a_lasting_head_fault_shows(daemon: Any, faults_of: Any, call: str, error: int, says: str) -> None:
    running = daemon("--no-watch", start=False)
    plan = faults_of(running)
    fault = plan.add(call, "log/HEAD.tmp" if call == "open" else "log/HEAD", error)
    running.start()
    client = running.connect()
    client.call("workspaced/reconcile")  # of notes that are known texts are recorded
    acknowledged = {}
    for each in range(5):
        acknowledged[f"n{each}"] = publish(client, look("a.md", f"n{each}"))
        (said,) = degraded(client, names_head)
    assert plan.met(fault) and says in said and "workspaced" in running.cli("status").stdout
    assert client.call("workspaced/status")["log"]["durability"] == "synced"
    running.kill()
    plan.clear()
    running.start()
    assert running.connect().call("workspaced/status")["degraded"] == []
    verified(running, acknowledged)


@pytest.mark.fault(row=61)
@pytest.mark.parametrize("call", ["pwrite", "fdatasync"])
def test_row_61_a_head_that_fails_for_a_while_shows_until_it_is_written_again(faulty: Faulty, call: str) -> None:
    running, client, plan = faulty
    acknowledged = {"before": publish(client, look("a.md", "before"))}
    assert client.call("workspaced/status")["degraded"] == []
    fault = plan.add(call, "log/HEAD", errno.ENOSPC)
    number = 0
    while not plan.met(fault):  # it is synced once a second
        acknowledged[f"n{number}"] = publish(client, look("a.md", f"n{number}"))
        number += 1
    degraded(client, names_head)
    plan.clear()
    acknowledged["after"] = publish(client, look("b.md", "after"))
    degraded(client, lambda found: not found)
    running.restart()
    verified(running, acknowledged)


@pytest.mark.fault(row=61)
@pytest.mark.parametrize("call", ["open", "pwrite", "fdatasync", "rename", "fsync", "mkdir"])
@pytest.mark.parametrize(("error", "code"), [(errno.EIO, "BLOB_FAILED"), (errno.ENOSPC, "DISK_FULL")])
def test_row_61_a_blob_that_fails_has_its_own_code(faulty: Faulty, call: str, error: int, code: str) -> None:
    running, client, plan = faulty
    acknowledged = {"kept": publish(client, long("kept"))}
    fault = plan.add(call, "/blobs", error)
    refused = refusal(client.publish, [long("s")])
    assert refused.code == code and refused.hint and refused.details["file"].startswith("blobs/")
    assert plan.met(fault)
    assert client.call("workspaced/status")["log"]["durability"] == "synced"
    acknowledged["between"] = publish(client, look("b.md", "between"))
    plan.clear()
    assert len(blob_files(running)) == 1, "something of the refused batch is left"
    acknowledged["s"] = publish(client, long("s"))
    assert len(blob_files(running)) == 2
    running.restart()
    verified(running, acknowledged)


@pytest.mark.fault(row=61)
@pytest.mark.parametrize(
    ("call", "path", "code"),
    [
        ("pwrite", ".wlog", "LOG_FAILED"),
        ("fdatasync", ".wlog", "LOG_FAILED"),
        ("open", "/blobs/", "BLOB_FAILED"),
        ("pwrite", "/blobs/", "BLOB_FAILED"),
        ("fdatasync", "/blobs/", "BLOB_FAILED"),
        ("ftruncate", "/blobs/", "BLOB_FAILED"),
        ("fsync", "/blobs/", "BLOB_FAILED"),
    ],
)
def test_row_61_an_endless_interruption_is_typed(faulty: Faulty, call: str, path: str, code: str) -> None:
    running, client, plan = faulty
    acknowledged = {"before": publish(client, look("a.md", "before"))}
    few = plan.add(call, path, errno.EINTR, times=5)
    acknowledged["few"] = publish(client, long("few"))
    assert plan.met(few) == 5, "a call that is interrupted a few times goes on"
    plan.clear()
    plan.add(call, path, errno.EINTR)
    assert refusal(client.publish, [long("x")]).code == code
    assert client.state()["activeNote"]["id"] == "a.md"
    if code == "BLOB_FAILED":
        acknowledged["after"] = publish(client, look("b.md", "after"))
    else:
        running.exit_expected = 4
    assert running.stop() == running.exit_expected
    running.exit_expected = 0
    plan.clear()
    running.start()
    verified(running, acknowledged)


@pytest.mark.fault(row=61)
def test_calls_that_fail_on_a_real_file_system_cost_nothing_acknowledged(tmp_path: Path) -> None:
    place = QUICK if os.access(QUICK, os.W_OK) else tmp_path
    command = [
        sys.executable,
        str(TESTS / "faults_by_hand.py"),
        "--calls-only",
        "--every",
        "41",
        "--in-directory",
        str(place),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    if done.returncode == 2:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stdout
    figures = json.loads(done.stdout.splitlines()[-1])
    assert figures["failed"] == 0 and figures["calls"] > 20 and figures["notMet"] == 0
