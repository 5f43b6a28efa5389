"""A disk that fails, fills up, cuts writes short or is slow, under a real daemon. Rows of the table of faults."""

import errno
import os
import resource
import shutil
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from support.crowd import Crowd, look, publish, segment, selected, verified
from support.daemon import ANSWER_S, refusal

from workspaced.errors import RemoteError
from workspaced.limits import CONNECTIONS_MAX
from workspaced_events.limits import QUEUE_BATCHES_MAX, SLOW_SYNC_S

MEGABYTE = 1024 * 1024
LONG = "/".join(["d" * 200] * 4) + ".md"
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="needs Linux: prlimit and strace")
pytestmark = LINUX


def stop_poisoned(running: Any) -> None:
    assert running.stop() == 4
    running.exit_expected = 0


def limit_file_size(running: Any, limit: int) -> None:
    """From now on a write that crosses `limit` is a real short one, and the next fails with EFBIG."""
    resource.prlimit(running.pid, resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))


# -- 4, 7: what poisons --


@pytest.mark.fault(row=4)
def test_row_04_a_failed_sync_poisons_until_a_restart(daemon: Any, inject: Any) -> None:
    running = daemon("--no-watch")
    client = running.connect()
    acknowledged = {f"before-{each}": publish(client, look("a.md", f"before-{each}")) for each in range(10)}
    pending = Crowd(running, 8)
    # Once and no more: whoever syncs that descriptor again is told that all is well. Held up before it fails, so
    # that others wait behind it.
    inject(running, "fdatasync:error=EIO:delay_enter=300000:when=1", path=segment(running))
    pending.publish(4, "pending")
    pending.collect()
    assert not pending.acknowledged and pending.codes() == {"LOG_FAILED"}
    details = next(iter(pending.refused.values()))["data"]
    assert details["file"] == f"log/{segment(running).name}" and details["seq"] >= 10 and details["hint"]
    for each in range(20):
        assert refusal(client.publish, [look("a.md", f"after-{each}")]).code == "LOG_FAILED"
    assert client.state()["activeNote"]["id"] == "a.md"
    assert client.tool("get_workspace_context")["success"] is True
    status = client.call("workspaced/status")
    assert status["log"]["durability"] == "none" and status["degraded"]
    assert status["seq"] == max(acknowledged.values())
    stop_poisoned(running)
    running.start()
    acknowledged["again"] = publish(running.connect(), look("b.md", "again"))
    names = {event.id for event in verified(running, acknowledged)}
    assert not any(name.startswith("after-") for name in names)


@pytest.mark.fault(row=7)
def test_row_07_a_short_write_that_cannot_be_cut_back_poisons(daemon: Any, inject: Any) -> None:
    running = daemon("--no-watch")
    client = running.connect()
    acknowledged = {f"n{each}": publish(client, look("a.md", f"n{each}")) for each in range(5)}
    inject(running, "ftruncate:error=EIO")
    limit_file_size(running, segment(running).stat().st_size + 20)
    assert refusal(client.publish, [look("b.md", "torn")]).code == "LOG_FAILED"
    limit_file_size(running, resource.RLIM_INFINITY)
    assert refusal(client.publish, [look("b.md", "later")]).code == "LOG_FAILED"
    assert client.state()["activeNote"]["id"] == "a.md"
    assert not segment(running).read_bytes().endswith(b"\n"), "nothing was torn: the test proves nothing"
    stop_poisoned(running)
    running.start()
    acknowledged["later"] = publish(running.connect(), look("c.md", "later"))
    events = verified(running, acknowledged)
    (recovered,) = [event for event in events if event.type == "log_recovered"]
    assert recovered.data.bytes == 20 and (running.data / recovered.data.quarantined).stat().st_size == 20


# -- 6: no space --


@pytest.mark.fault(row=6)
def test_row_06_a_short_write_is_cut_back_and_refused_and_the_next_one_works(daemon: Any) -> None:
    running = daemon("--no-watch")
    client = running.connect()
    client.call("workspaced/reconcile")  # the limit is the whole process's, and would meet the index as well
    acknowledged = {"first": publish(client, look("a.md", "first"))}
    for kept in (0, 1, 8, 9, 10, 50, 100, 150):
        size = segment(running).stat().st_size
        limit_file_size(running, size + kept)
        error = refusal(client.publish, [look("b.md", f"refused-{kept}")])
        assert error.code == "DISK_FULL" and error.hint
        assert segment(running).stat().st_size == size
        assert client.state()["activeNote"]["id"] != "b.md"
        limit_file_size(running, resource.RLIM_INFINITY)
        acknowledged[f"n{kept}"] = publish(client, look(f"n{kept}.md", f"n{kept}"))
    assert client.call("workspaced/status")["degraded"] == []
    events = verified(running, acknowledged)
    assert not any(event.id.startswith("refused") for event in events)
    running.restart()
    verified(running, acknowledged)


@pytest.mark.fault(row=6)
def test_row_06_without_an_inode_left_the_log_goes_on(small_disk: Any, daemon: Any, tmp_path: Path) -> None:
    running = daemon("--no-watch", "--cache-dir", str(tmp_path / "cache"), start=False)
    running.data = small_disk("size=1m,nr_inodes=64")
    running.start()
    client = running.connect()
    selection = selected("x" * 5_000, "selected")
    client.call("workspaced/reconcile")  # of a note that is known the text is recorded
    fillers = fill_inodes(running.data)
    acknowledged = {"before": publish(client, look("a.md", "before"))}
    error = refusal(client.publish, [selection])
    assert error.code == "DISK_FULL", error
    acknowledged["between"] = publish(client, look("b.md", "between"))
    for each in fillers:
        each.unlink()
    acknowledged["selected"] = publish(client, selection)
    verified(running, acknowledged)


def fill_inodes(directory: Path) -> list[Path]:
    """Empty files until the disk takes no more."""
    made: list[Path] = []
    for number in range(1_000):
        try:
            (directory / f"empty-{number}").touch()
        except OSError as error:
            assert error.errno == errno.ENOSPC
            return made
        made.append(directory / f"empty-{number}")
    raise AssertionError("the inodes did not run out")


# -- 60: no space at a start --


def fill(directory: Path) -> Path:
    """A file that takes all the room there is left."""
    ballast = directory / "ballast"
    with ballast.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(4_096))
    assert shutil.disk_usage(directory).free == 0
    return ballast


def published_at_last(client: Any, action: dict[str, Any]) -> int:
    """Publishes until there is room; the sequence."""
    deadline = time.monotonic() + ANSWER_S
    while True:
        try:
            return publish(client, action)
        except RemoteError as error:
            assert error.code == "DISK_FULL" and time.monotonic() < deadline, error
            time.sleep(0.05)


@pytest.mark.fault(row=60)
@pytest.mark.parametrize("before", ["killed", "torn", "stopped", "new"])
def test_row_60_a_start_on_a_full_disk_answers(small_disk: Any, daemon: Any, tmp_path: Path, before: str) -> None:
    running = daemon("--no-watch", "--cache-dir", str(tmp_path / "cache"), start=False)
    running.data = small_disk("size=64k")
    acknowledged: dict[str, int] = {}
    if before != "new":
        running.start()
        acknowledged = {f"e{each}": publish(running.connect(), look(LONG, f"e{each}")) for each in range(20)}
        running.stop() if before == "stopped" else running.kill()
    if before == "torn":
        with segment(running).open("ab") as file:
            file.write(b'01234567 [{"seq":')
    ballast = fill(running.data)
    kept = {path: path.read_bytes() for path in (running.data / "log").glob("*.wlog")}
    running.start()
    client = running.connect()

    if before == "stopped":  # its last page may have room for a line
        with suppress(RemoteError):
            acknowledged["stopped"] = publish(client, look(LONG, "stopped"))
    error = refusal(client.publish, [look(LONG, "refused")])
    assert error.code == "DISK_FULL" and error.hint and "log/" in error.message
    if before == "new":  # what makes keys of a chat's hashes cannot be written either
        turns = [{"key": "0" * 64, "near": "1" * 64}]
        asked = {"form": "anthropic", "turns": turns, "open": True, "chat": "2" * 64}
        assert refusal(client.call, "workspaced/context/overlay", asked).code == "DISK_FULL"
    else:
        assert client.tool("get_note_by_reference", {"reference": "a.md"})["success"] is True
        assert client.state()["activeNote"]["id"] == LONG
        assert client.call("workspaced/log", {"from": 1, "limit": 100})["events"]
    if before != "stopped":
        status = client.call("workspaced/status")
        assert status["log"]["durability"] == "none"
        assert any("No space" in each for each in status["degraded"])
    if before in ("killed", "torn"):
        assert {path: path.read_bytes() for path in (running.data / "log").glob("*.wlog")} == kept

    ballast.unlink()
    acknowledged["room"] = published_at_last(client, look("b.md", "room"))
    deadline = time.monotonic() + ANSWER_S
    # On so small a disk what agents are shown is never kept.
    while [each for each in client.call("workspaced/status")["degraded"] if "is not kept" not in each]:
        assert time.monotonic() < deadline
    assert client.state()["activeNote"]["id"] == "b.md"
    assert client.tool("get_note_by_reference", {"reference": "a.md"})["success"] is True
    running.restart()
    events = verified(running, acknowledged)
    assert sum(event.type == "daemon_started" for event in events) == (2 if before == "new" else 3)
    assert sum(event.type == "log_recovered" for event in events) == (before == "torn")
    assert not any(event.id == "refused" for event in events)


@pytest.mark.fault(row=16)
def test_row_16_out_of_descriptors_the_daemon_serves_whom_it_has_and_the_log_goes_on(daemon: Any) -> None:
    running = daemon("--no-watch", start=False)
    running.wrapper = ("sh", "-c", 'ulimit -n 64; exec "$@"', "sh")
    running.start()
    client = running.connect()
    acknowledged = {"before": publish(client, look("a.md", "before"))}
    crowd = [running.wire() for _ in range(200)]
    # 17 MiB of events: the log must open its next segment meanwhile, and a blob, and read itself.
    turn = 0
    while len(list((running.data / "log").glob("*.wlog"))) < 2:
        batch = [look(LONG, f"e{turn}-{each}") for each in range(600)]
        receipts = client.call("workspaced/publish", {"actions": batch})["events"]
        acknowledged |= {receipt["id"]: receipt["seq"] for receipt in receipts}
        turn += 1
        assert turn < 60, "the segment was not sealed"
    acknowledged["sel"] = publish(client, selected("x" * 5_000, "sel"))
    assert client.tool("get_current_note")["success"] in (True, False)
    assert client.call("workspaced/log", {"from": 1, "limit": 5})["events"]
    descriptors = len(os.listdir(f"/proc/{running.pid}/fd"))
    assert descriptors <= 64
    served = client.call("workspaced/status")["queues"]["connections"]
    assert 8 <= served < 64
    for each in crowd:
        each.close()
    deadline = time.monotonic() + ANSWER_S
    while client.call("workspaced/status")["queues"]["connections"] > 1:
        assert time.monotonic() < deadline
    verified(running, acknowledged)


@pytest.mark.fault(row=17)
@pytest.mark.fault(row=25)
def test_row_17_while_a_sync_takes_long_reads_answer(daemon: Any, inject: Any, record_property: Any) -> None:
    running = daemon("--no-watch")
    client = running.connect()
    clients = QUEUE_BATCHES_MAX // 32 + 40
    assert clients < CONNECTIONS_MAX
    many = Crowd(running, clients)
    memory = running.memory_bytes()
    slow = inject(running, f"fdatasync:delay_enter={int((SLOW_SYNC_S + 0.9) * 1e6)}", path=segment(running))
    sending = threading.Thread(target=many.publish, args=(32, "many", 6))
    sending.start()
    slowest, queued, peak = 0.0, 0, memory
    while not client.call("workspaced/status")["log"]["slowSyncs"]:
        before = time.monotonic()
        assert client.state()
        assert client.tool("get_workspace_context")["success"] is True
        slowest = max(slowest, time.monotonic() - before)
        queued = max(queued, client.call("workspaced/status")["queues"]["publish"])
        peak = max(peak, running.memory_bytes())
    sending.join()
    slow.detach()
    many.collect()
    record_property("slowest_read_s", round(slowest, 3))
    record_property("worst_publish_s", round(many.worst_s, 3))
    record_property("queued", queued)
    record_property("memory_growth_mib", round((peak - memory) / MEGABYTE, 1))
    assert slowest < SLOW_SYNC_S, "a read waited for the disk"
    assert queued <= QUEUE_BATCHES_MAX and peak - memory < 64 * MEGABYTE
    assert many.codes() == {"BUSY"}
    assert all(each["data"]["retryAfterMs"] > 0 and each["data"]["hint"] for each in many.refused.values())
    assert len(many.kept) + len(many.refused) == clients * 32
    assert any(":" in name for name in many.acknowledged), "no large batch was kept"
    events = verified(running, many.acknowledged)
    assert not {event.id.partition(":")[0] for event in events} & many.refused.keys()
    assert any("sync" in line and "WARNING" in line for line in running.stderr), "nobody was warned"
    # and whoever was sent away comes back
    name = next(iter(many.refused))
    assert publish(client, look("b.md", name)) > 0
