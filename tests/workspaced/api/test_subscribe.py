"""`workspaced/subscribe`: every event in order, to whoever reads; a gap to whoever does not."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import msgspec
import pytest
from support import session_machine

from workspaced.api.state_and_log import Subscription
from workspaced.limits import GAP_EVENTS, RECENT_EVENTS, SUBSCRIPTIONS_PER_CONNECTION_MAX

ACTIVE = "active_note_set"


def looked_at(note: str) -> dict[str, Any]:
    return {"type": ACTIVE, "data": {"note": note}}


def subscribe(wire: Any, **params: Any) -> dict[str, Any]:
    answer = wire.ask("workspaced/subscribe", params)
    assert "result" in answer, answer
    result: dict[str, Any] = answer["result"]
    return result


def events_until(wire: Any, seq: int) -> list[dict[str, Any]]:
    """The events of the notifications up to sequence `seq`."""
    found: list[dict[str, Any]] = []
    while not found or found[-1]["seq"] < seq:
        message = wire.line()
        assert message is not None and message["method"] == "workspaced/event", message
        found.extend(message["params"]["events"])
        assert int(message["params"]["clock"].rpartition(":")[2]) >= found[-1]["seq"]
    return found


def fill(client: Any, count: int) -> int:
    """Appends `count` events and returns the last sequence."""
    for start in range(0, count, 1_000):
        batch = [looked_at(f"n{number % 7}.md") for number in range(start, min(start + 1_000, count))]
        last: int = client.publish(batch)[-1]["seq"]
    return last


def test_events_come_in_order_without_a_gap(shared: Any, client: Any) -> None:
    wire = shared.wire()
    made = subscribe(wire)
    assert made["freshInstance"] is False
    start = int(made["clock"].rpartition(":")[2])
    last = fill(client, 50)
    for number in range(10):
        last = client.publish([looked_at(f"n{number}.md")])[0]["seq"]
    events = events_until(wire, last)
    assert [event["seq"] for event in events] == list(range(start + 1, last + 1))
    assert events[-1]["data"] == {"note": "n9.md"}


@pytest.mark.parametrize("form", ["clock", "sequence", "decimal"])
def test_since_resumes_where_one_was(shared: Any, client: Any, form: str) -> None:
    status = client.call("workspaced/status")
    last = fill(client, 20)
    wire = shared.wire()
    since = {"clock": status["clock"], "sequence": status["seq"], "decimal": str(status["seq"])}[form]
    assert subscribe(wire, since=since)["freshInstance"] is False
    assert [event["seq"] for event in events_until(wire, last)] == list(range(status["seq"] + 1, last + 1))


def test_the_clock_of_another_log_brings_everything_anew(shared: Any, client: Any) -> None:
    wire = shared.wire()
    assert subscribe(wire, since="deadbeef:17")["freshInstance"] is True
    assert events_until(wire, 1)[0]["seq"] == 1


@pytest.mark.parametrize("since", [10**9, -1, "x", "abc:", "abc:x", "abc:-1", 1.5, True, ["1"]], ids=repr)
def test_a_since_that_is_none_is_refused(shared: Any, since: Any) -> None:
    wire = shared.wire()
    wire.request("workspaced/subscribe", {"since": since})
    assert wire.line()["error"]["data"]["code"] == "INVALID_ARGUMENT"


def test_types_select(shared: Any, client: Any) -> None:
    wire = shared.wire()
    subscribe(wire, types=["note_archived", "note_unarchived"])
    client.publish([looked_at("a.md"), {"type": "note_archived", "data": {"note": "t.md"}}, looked_at("b.md")])
    (receipt,) = client.publish([{"type": "note_unarchived", "data": {"note": "t.md"}}])
    events = events_until(wire, receipt["seq"])
    assert [event["type"] for event in events] == ["note_archived", "note_unarchived"]


def test_after_unsubscribe_nothing_comes(shared: Any, client: Any) -> None:
    wire = shared.wire()
    number = subscribe(wire)["subscription"]
    wire.request("workspaced/unsubscribe", {"subscription": number})
    while (message := wire.line()) is not None and "id" not in message:
        pass
    client.publish([looked_at("unheard.md")])
    wire.request("workspaced/status")
    assert "result" in wire.line()
    assert (
        wire.ask("workspaced/unsubscribe", {"subscription": number})["error"]["data"]["code"] == "INVALID_ARGUMENT"
    )


def test_nobody_unsubscribes_another(shared: Any, client: Any) -> None:
    wire, other = shared.wire(), shared.wire()
    number = subscribe(wire)["subscription"]
    assert "error" in other.ask("workspaced/unsubscribe", {"subscription": number})
    (receipt,) = client.publish([looked_at("heard.md")])
    assert events_until(wire, receipt["seq"])[-1]["seq"] == receipt["seq"]


def test_a_connection_holds_so_many_subscriptions_and_no_more(shared: Any) -> None:
    wire = shared.wire()
    for _ in range(SUBSCRIPTIONS_PER_CONNECTION_MAX):
        subscribe(wire)
    assert wire.ask("workspaced/subscribe")["error"]["data"]["code"] == "INVALID_ARGUMENT"


def test_events_from_before_the_daemons_memory_come_from_the_log(daemon: Any) -> None:
    running = daemon()
    last = fill(running.connect(), RECENT_EVENTS + 1_500)
    wire = running.wire()
    subscribe(wire, since=0)
    assert [event["seq"] for event in events_until(wire, last)] == list(range(1, last + 1))


def test_who_is_too_far_behind_is_told_of_the_gap_and_goes_on_from_the_tail(daemon: Any) -> None:
    running = daemon()
    client = running.connect()
    last = fill(client, GAP_EVENTS + 100)
    wire = running.wire()
    subscribe(wire, since=0)
    gap = wire.line()
    assert gap["method"] == "workspaced/gap"
    assert gap["params"]["from"] == 1 and gap["params"]["to"] == last
    (receipt,) = client.publish([looked_at("after.md")])
    assert [event["seq"] for event in events_until(wire, receipt["seq"])] == list(
        range(last + 1, receipt["seq"] + 1)
    )


def test_a_log_that_breaks_under_a_subscriber_gives_a_gap_and_the_daemon_lives(daemon: Any) -> None:
    running = daemon()
    fill(running.connect(), 2_000)
    running.restart()  # nothing is left in memory, so the subscriber reads the log
    (segment,) = (running.data / "log").glob("*.wlog")
    content = bytearray(segment.read_bytes())
    content[len(content) // 3] ^= 1
    segment.write_bytes(content)
    wire = running.wire()
    last = int(subscribe(wire, since=0)["clock"].rpartition(":")[2])
    seen = 0
    while seen < last:
        message = wire.line()
        assert message is not None, "the daemon died"
        params = message["params"]
        seen = params["to"] if message["method"] == "workspaced/gap" else params["events"][-1]["seq"]
    assert running.connect().call("workspaced/status")["seq"] >= last


class Outlet:
    """A client that does not read, until `writable` says that it does."""

    def __init__(self) -> None:
        self.writable = False
        self.sent: list[bytes] = []

    def send(self, line: bytes) -> None:
        self.sent.append(line)

    def start_soon(self, _function: Callable[..., Any], *_args: Any) -> NoReturn:
        raise AssertionError("all of it is in memory")

    def call_later(self, _delay_s: float, _function: Callable[[], None]) -> NoReturn:
        raise AssertionError("nothing waits")


@pytest.mark.fault(row=24)
def test_a_thousand_that_do_not_read_cost_no_work_at_a_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = session_machine.Session(tmp_path, vaults=("one",)).open()
    try:
        service, asked = session.service, 0
        honest = service.tail.events_from

        def counted(first: int) -> Any:
            nonlocal asked
            asked += 1
            return honest(first)

        monkeypatch.setattr(service.tail, "events_from", counted)
        outlets = [Outlet() for _ in range(1_000)]
        subscribers = [Subscription(service, each, 1, None) for each in outlets]
        for number in range(20):
            session.look_at(f"n{number}.md")
            for each in subscribers:
                each.tail_moved()
        assert asked == 0 and not any(each.sent for each in outlets)
        outlets[0].writable = True
        subscribers[0].tail_moved()
        events = [event for line in outlets[0].sent for event in msgspec.json.decode(line)["params"]["events"]]
        assert [event["seq"] for event in events] == list(range(1, service.tail.seq + 1))
    finally:
        session.dispose()
