"""Processes and clients that do not behave: stolen locks, signals, clients that vanish, crowds. Rows of the
table of faults.
"""

import os
import signal
import sys
import time
from typing import Any

import pytest
from support import DATA
from support.crowd import Crowd, look, segment, selected, verified
from support.daemon import ANSWER_S

from workspaced.errors import RemoteError
from workspaced.limits import (
    FLUSH_BYTES,
    FREE_PAGES_INTERVAL_S,
    NOTIFICATION_EVENTS_MAX,
    UNREAD_BYTES_MAX,
    UNREAD_S,
)
from workspaced_events.limits import SELECTION_CHARS_MAX

MEGABYTE = 1024 * 1024
OTHERS_BYTES = 24 * MEGABYTE
"""What some hundred events and a thousand cursors cost in any case."""


# -- 20 --


@pytest.mark.fault(row=20)
def test_row_20_with_the_lock_file_deleted_there_is_still_only_one_daemon(daemon: Any) -> None:
    first = daemon("--no-watch")
    with first.connect() as client:
        acknowledged = {"before": client.publish([look("a.md", "before")])[0]["seq"]}
        (first.data / "lock").unlink()
        second = daemon.beside(first, "--no-watch")
        second.socket = first.root / "s2"
        second.spawn()
        code = second.wait()
        assert code == 3 and str(first.pid) in "\n".join(second.stderr)
        acknowledged["after"] = client.publish([look("b.md", "after")])[0]["seq"]
        verified(first, acknowledged)


# -- 21 --


@pytest.mark.fault(row=21)
def test_row_21_asked_twice_to_end_it_ends_in_time(daemon: Any, inject: Any, record_property: Any) -> None:
    running = daemon("--no-watch")
    many = Crowd(running, 20)
    slow = inject(running, "fdatasync:delay_enter=300000")
    many.publish(20, "many")
    acknowledged: dict[str, int] = {}
    first = many.wires[0].line()
    receipt = first["result"]["events"][0]
    acknowledged[receipt["id"]] = receipt["seq"]
    before = time.monotonic()
    running.send_signal(signal.SIGTERM)
    assert running.stop(signal.SIGTERM) == 0
    record_property("stop_s", round(time.monotonic() - before, 3))
    for wire in many.wires:
        while (message := wire.line()) is not None:
            if "result" in message:
                receipt = message["result"]["events"][0]
                acknowledged[receipt["id"]] = receipt["seq"]
    slow.detach()
    running.start()
    verified(running, acknowledged)


SLOW_BLOBS = DATA / "slow_blobs"


@pytest.mark.fault(row=21)
@pytest.mark.parametrize("tool", ["get_note_diff", "get_note_by_reference"])
def test_row_21_a_long_question_keeps_it_not_from_ending(daemon: Any, tool: str, record_property: Any) -> None:
    running = daemon("--no-watch")
    seen = running.root / "seen"
    path = os.pathsep.join([str(SLOW_BLOBS), *filter(None, [os.environ.get("PYTHONPATH")])])
    slow = {"PYTHONPATH": path, "SLOW_BLOB_S": "1", "SLOW_BLOB_SEEN": str(seen)}
    with running.connect() as client:
        for number in range(100):
            client.tool("get_note_by_reference", {"reference": f"none {number}"})
        client.call("workspaced/calls", {"limit": 1})  # all so far is recorded
        seq = client.call("workspaced/status")["seq"]
    assert running.stop() == 0
    running.env.update(slow)
    running.start()
    moment = {} if tool == "get_note_diff" else {"at": seq + 1}
    wire = running.wire()
    wire.ask("workspaced/hello", {"client": {"name": "agent"}})
    wire.request("tools/call", {"name": tool, "arguments": {"reference": "a", **moment}})
    deadline = time.monotonic() + ANSWER_S
    while not seen.exists():
        assert running.process.poll() is None and time.monotonic() < deadline, running.stderr
        time.sleep(0.01)
    before = time.monotonic()
    assert running.stop() == 0, "it reads a hundred of them, for longer than it may take to end"
    record_property("stop_s", round(time.monotonic() - before, 3))


@pytest.mark.fault(row=22)
def test_row_22_of_a_client_that_vanishes_the_event_is_there_or_not_and_a_retry_makes_it_one(daemon: Any) -> None:
    running = daemon("--no-watch")
    acknowledged: dict[str, int] = {}
    before_it: dict[str, bool] = {}
    for number in range(60):
        name = f"gone-{number}"
        with running.wire() as wire:
            wire.ask("workspaced/hello")
            match number % 4:
                case 0:  # in mid request
                    action = '{"jsonrpc":"2.0","id":9,"method":"workspaced/publish","params":{"actions":['
                    wire.send(action.encode()[: number + 10])
                case 1:  # before the answer
                    wire.request("workspaced/publish", {"actions": [look("a.md", name)]})
                case 2:  # in mid answer
                    wire.request("workspaced/publish", {"actions": [look("a.md", name)]})
                    wire.socket.recv(number % 30 + 1)
                case 3:  # with a request behind it half sent
                    wire.request("workspaced/publish", {"actions": [look("a.md", name)]})
                    wire.send(b'{"jsonrpc":"2.0","id":')
        with running.connect() as client:
            (receipt,) = client.publish([look("a.md", name)])
        acknowledged[name] = receipt["seq"]
        before_it[name] = receipt["duplicate"]
    events = verified(running, acknowledged)
    assert len([event for event in events if event.id in acknowledged]) == 60
    assert not any(was for name, was in before_it.items() if int(name[5:]) % 4 == 0)
    assert all(was for name, was in before_it.items() if int(name[5:]) % 4 == 2)


@pytest.mark.fault(row=23)
def test_row_23_of_one_id_sent_at_once_with_other_data_one_is_recorded_also_after_restarts(daemon: Any) -> None:
    running = daemon("--no-watch")
    wires = [running.wire() for _ in range(16)]
    for number, wire in enumerate(wires):
        actions = [look(f"{number % 2}.md", "same"), look("own.md", f"own-{number}")]
        wire.request("workspaced/publish", {"actions": actions})
    answers = [wire.line() for wire in wires]
    taken = [each["result"]["events"] for each in answers if "result" in each]
    refused = [each["error"]["data"] for each in answers if "error" in each]
    (seq,) = {events[0]["seq"] for events in taken}
    assert len(taken) == 8 and sum(not events[0]["duplicate"] for events in taken) == 1
    assert {each["code"] for each in refused} == {"CONFLICT"} and {each["seq"] for each in refused} == {seq}
    acknowledged = {event["id"]: event["seq"] for events in taken for event in events}
    note = verified(running, acknowledged)[seq - 1].data.note
    for end in (running.kill, running.stop):
        end()
        running.start()
        client = running.connect()
        (receipt,) = client.publish([look(note, "same")])
        assert receipt == {"seq": seq, "id": "same", "duplicate": True}
        for other in (look("other.md", "same"), {"type": "note_pinned", "data": {"note": note}, "id": "same"}):
            with pytest.raises(RemoteError) as raised:
                client.publish([look("new.md"), other])
            assert raised.value.code == "CONFLICT" and raised.value.details["seq"] == seq
        events = verified(running, acknowledged)
        assert not any(getattr(event.data, "note", None) == "new.md" for event in events), "half a batch was kept"


DEAF, EACH = 20, 50
"""A thousand subscribers on so many connections."""


@pytest.mark.fault(row=24)
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("behind", [3_500, 5_600], ids=["from memory", "from the log"])
def test_row_24_a_thousand_deaf_subscribers_cost_little(daemon: Any, record_property: Any, behind: int) -> None:
    running = daemon("--no-watch")
    client = running.connect()
    note = "/".join(["d" * 200] * 3) + ".md"
    notification_bytes = NOTIFICATION_EVENTS_MAX * (len(note) + 300)
    acknowledged: dict[str, int] = {}
    peak = 0

    def publish(count: int, stem: str) -> None:
        receipts = client.publish([look(note, f"{stem}-{each}") for each in range(count)])
        acknowledged.update((receipt["id"], receipt["seq"]) for receipt in receipts)

    def one_by_one(count: int, stem: str) -> None:
        nonlocal peak
        for each in range(count):
            publish(1, f"{stem}-{each}")
            peak = max(peak, running.memory_bytes())

    for turn in range(behind // 700):
        publish(700, f"fill-{turn}")
    one_by_one(100, "quiet")
    peak = memory = running.memory_bytes()
    deaf = [running.wire() for _ in range(DEAF)]
    for wire in deaf:
        for _ in range(EACH):
            wire.request("workspaced/subscribe", {"since": 0})
    one_by_one(200, "beside")
    deadline = time.monotonic() + UNREAD_S + ANSWER_S
    while client.call("workspaced/status")["queues"]["connections"] > 1:
        one_by_one(1, f"dropping-{len(acknowledged)}")
        assert time.monotonic() < deadline, "subscribers that do not read were kept"
    record_property("memory_growth_mib", round((peak - memory) / MEGABYTE))
    allowed = DEAF * (UNREAD_BYTES_MAX + FLUSH_BYTES + notification_bytes) + OTHERS_BYTES
    record_property("allowed_mib", round(allowed / MEGABYTE))
    assert peak - memory < allowed
    verified(running, acknowledged)


# -- 54 --

SELECTED_BYTES = 3 * SELECTION_CHARS_MAX
"""Of one batch: as much text as fits a line, so that a few batches are many bytes."""


def selecting(name: str) -> dict[str, Any]:
    """The parameters of a publish of SELECTED_BYTES of text."""
    return {"actions": [selected("x" * SELECTION_CHARS_MAX, f"{name}-{each}") for each in range(3)]}


def answers(wire: Any, count: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The next `count` answers: those that acknowledge, and the errors of the others."""
    found = [wire.line() for _ in range(count)]
    refused = [each["error"] for each in found if "error" in each]
    return [each["result"] for each in found if "result" in each], refused


@pytest.mark.fault(row=54)
def test_row_54_what_waits_for_the_disk_is_bounded(daemon: Any, inject: Any, record_property: Any) -> None:
    running = daemon("--no-watch")
    wires = [running.wire() for _ in range(12)]
    for number, wire in enumerate(wires):  # what the first publish of each costs is no growth
        wire.ask("workspaced/publish", selecting(f"first-{number}"))
    memory = running.memory_bytes()
    slow = inject(running, "fdatasync:delay_enter=20000000", path=segment(running))
    each, peak = 16, memory
    for number, wire in enumerate(wires):
        for turn in range(each):
            wire.request("workspaced/publish", selecting(f"many-{number}-{turn}"))
            peak = max(peak, running.memory_bytes())
    assert running.call("workspaced/status")["queues"]["publishBytes"] > 0, "waiting, or on their way to the disk"
    peak = max(peak, running.memory_bytes())
    slow.detach()
    acknowledged: dict[str, int] = {}
    refused = []
    for wire in wires:
        good, bad = answers(wire, each)
        acknowledged.update((receipt["id"], receipt["seq"]) for result in good for receipt in result["events"])
        refused += bad
    deadline = time.monotonic() + 4 * FREE_PAGES_INTERVAL_S
    while (after := running.memory_bytes()) - memory > 8 * MEGABYTE and time.monotonic() < deadline:
        time.sleep(0.05)
    record_property("sent_mib", round(len(wires) * each * SELECTED_BYTES / MEGABYTE))
    record_property("growth_mib", round((peak - memory) / MEGABYTE, 1))
    record_property("kept_mib", round((after - memory) / MEGABYTE, 1))
    assert {error["data"]["code"] for error in refused} == {"BUSY"}
    assert all(error["data"]["retryAfterMs"] > 0 and error["data"]["hint"] for error in refused)
    assert len(acknowledged) // 3 + len(refused) == len(wires) * each
    assert peak - memory < 48 * MEGABYTE
    assert after - memory < 8 * MEGABYTE
    verified(running, acknowledged)
