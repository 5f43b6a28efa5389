"""What calls leave in memory, in daemons that never collect garbage: nothing may wait for the collector."""

import json
import os
import select
import signal
import threading
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from support import DATA

UNCOLLECTED = DATA / "uncollected"
REPORT_S = 60.0
CALLS = 40
LEFT_MAX = 20
"""Objects that CALLS calls leave: less than one for every second call, since the report leaves some too."""
SETTINGS = {"provider": "openai", "model": "m", "contextWindow": 100_000, "outputReserve": 1_000}

MANY = 10_000
GROWTH_BYTES_MAX = 24 * 1024 * 1024
NOTE_CHARS = 8_000


class Uncollected:
    """A daemon whose garbage stays."""

    def __init__(self, daemon: Any, more: Mapping[str, str] | None = None, **options: Any) -> None:
        """`more`: of the environment."""
        self.report = daemon.root() / "report"
        path = os.pathsep.join([str(UNCOLLECTED), *filter(None, [os.environ.get("PYTHONPATH")])])
        env = {"PYTHONPATH": path, "UNCOLLECTED_REPORT": str(self.report), **(more or {})}
        self.running = daemon(env=env, **options)
        self.client = self.running.connect("agent")

    def connections(self) -> int:
        """How many are open."""
        count: int = self.client.call("workspaced/status")["queues"]["connections"]
        return count

    def objects(self) -> dict[str, dict[str, int]]:
        """`alive` and `left`, by type."""
        self.report.unlink(missing_ok=True)
        self.client.call("workspaced/calls", {"limit": 1})  # what was recorded so far is written
        self.running.send_signal(signal.SIGUSR1)
        written = threading.Event()
        for _ in range(int(REPORT_S / 0.02)):
            if self.report.exists():
                found: dict[str, dict[str, int]] = json.loads(self.report.read_text())
                return found
            written.wait(0.02)
        raise AssertionError("no report came")


@pytest.fixture(scope="module")
def uncollected(module_daemon: Any) -> Uncollected:
    made = Uncollected(module_daemon)
    made.client.publish([{"type": "active_note_set", "data": {"note": "a.md"}}])
    made.client.publish([{"type": "note_pinned", "data": {"note": "b.md"}}])
    made.client.call("workspaced/reconcile")
    made.client.call("workspaced/context/start", {"conversation": "talk", **SETTINGS})
    attachments = [{"kind": "note", "id": "a.md"}]
    said = {"id": "m1", "role": "user", "text": "hello", "attachments": attachments}
    made.client.call("workspaced/context/message", {"conversation": "talk", "messages": [said]})
    return made


def tool(name: str, **arguments: Any) -> tuple[str, dict[str, Any]]:
    return "tools/call", {"name": name, "arguments": arguments}


KINDS: list[tuple[str, dict[str, Any]]] = [
    tool("get_workspace_context"),
    tool("get_workspace_context", includeContent=True),
    tool("get_workspace_context", at=10**6),
    tool("get_current_note", includeLinks=True, includeOutline=True),
    tool("get_note_by_reference", reference="b"),
    tool("get_note_by_reference", reference="b", at=3),
    tool("get_note_by_reference", reference="nothing of that name"),
    tool("get_note_by_reference", reference=5),
    tool("get_note_diff", reference="a", sinceSeq=2),
    tool("search_workspace", query="note"),
    tool("get_related_notes"),
    tool("get_workspace_summary"),
    tool("get_navigation_history"),
    tool("get_context_manifest"),
    tool("no_such_tool"),
    ("workspaced/state", {"at": 10**6}),
    ("workspaced/log", {"limit": 5}),
    ("workspaced/calls", {"limit": 5}),
    ("workspaced/call", {"seq": 1}),
    ("workspaced/no_such_method", {}),
    ("workspaced/publish", {"actions": [{"type": "active_note_set", "data": {"note": "b.md"}}]}),
    ("workspaced/context/assemble", {"conversation": "talk"}),
    ("workspaced/context/assemble", {"conversation": "talk", "shape": "openai"}),
    ("workspaced/context/export", {"conversation": "talk"}),
]


@pytest.mark.fault(row=46)
@pytest.mark.parametrize(("method", "params"), KINDS, ids=[f"{m}-{json.dumps(p)[:60]}" for m, p in KINDS])
def test_a_call_leaves_nothing_that_only_the_collector_removes(
    uncollected: Uncollected, method: str, params: dict[str, Any]
) -> None:
    wire = uncollected.running.wire()
    wire.ask("workspaced/hello", {"client": {"name": "agent"}})
    ask(wire, method, params, 5)
    before = uncollected.objects()
    ask(wire, method, params, CALLS)
    after = uncollected.objects()
    assert sum(after["left"].values()) <= LEFT_MAX, after["left"]
    for each in ("View", "ViewRecorder", "Turn"):  # the recorder remembers a few, one for each different answer
        assert after["alive"].get(each, 0) <= before["alive"].get(each, 0) + LEFT_MAX


@pytest.mark.fault(row=46)
def test_mcp_leaves_nothing_that_only_the_collector_removes(
    uncollected: Uncollected, modern: Callable[..., Any]
) -> None:
    peer = modern(uncollected.running)
    for turn in (5, CALLS):
        uncollected.objects()
        for _ in range(turn):
            peer.call("get_current_note")
            peer.result("resources/read", uri="workspace://note/b.md")
            peer.result("resources/list")
            peer.error("resources/read", uri="workspace://note/no such note.md")
    assert sum(uncollected.objects()["left"].values()) <= LEFT_MAX


@pytest.mark.fault(row=45)
def test_a_call_for_an_active_note_that_is_gone_leaves_nothing_that_only_the_collector_removes(
    uncollected: Uncollected,
) -> None:
    gone = uncollected.running.vault / "gone.md"
    gone.write_text("# Gone\n")
    with uncollected.running.wire() as wire:
        wire.ask("workspaced/hello", {"client": {"name": "agent"}})
        wire.ask("workspaced/reconcile", {})
        wire.ask("workspaced/publish", {"actions": [{"type": "active_note_set", "data": {"note": gone.name}}]})
        wire.ask(*tool("get_current_note"))
        gone.unlink()
        refused = wire.ask(*tool("get_current_note"))["result"]["structuredContent"]
        assert refused["code"] == "NOTE_NOT_FOUND"
        for turn in (5, CALLS):
            uncollected.objects()
            ask(wire, *tool("get_current_note"), turn)
        wire.ask("workspaced/publish", {"actions": [{"type": "active_note_set", "data": {"note": "b.md"}}]})
    left = uncollected.objects()["left"]
    assert sum(left.values()) <= LEFT_MAX, left


def test_an_edited_note_leaves_nothing_that_only_the_collector_removes(uncollected: Uncollected) -> None:
    note = uncollected.running.vault / "c.md"
    for turn in (5, CALLS):
        uncollected.objects()
        for number in range(turn):
            note.write_text(f"# Gamma\n\nVersion {number} of {turn}.\n")
            uncollected.client.call("workspaced/reconcile")
    left = uncollected.objects()["left"]
    assert sum(left.values()) <= LEFT_MAX, left


BEGUN = b'{"jsonrpc":"2.0","id"'
CONNECTIONS: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "says nothing": [],
    "says hello": [("workspaced/hello", {"client": {"name": "agent"}})],
    "subscribes": [("workspaced/subscribe", {})],
    "leaves amid a line": [("workspaced/hello", {"client": {"name": "agent"}})],
    "breaks amid a line": [("workspaced/hello", {"client": {"name": "agent"}})],
    "asks": [("workspaced/hello", {"client": {"name": "agent"}}), tool("get_current_note")],
}


@pytest.mark.fault(row=45)
@pytest.mark.parametrize("kind", CONNECTIONS)
def test_a_connection_that_ends_leaves_nothing_that_only_the_collector_removes(
    uncollected: Uncollected, kind: str
) -> None:
    open_before = uncollected.connections()  # those of the tests before this one, too
    for turn in (5, CALLS):
        uncollected.objects()
        for _ in range(turn):
            with uncollected.running.wire() as wire:
                for method, params in CONNECTIONS[kind]:
                    wire.ask(method, params)
                if kind == "breaks amid a line":  # with an answer unread, closing is no end but a reset
                    wire.request("workspaced/status")
                    select.select([wire.socket], [], [])
                if kind.endswith("amid a line"):
                    wire.send(BEGUN)
        while uncollected.connections() > open_before:
            pass
    left = uncollected.objects()["left"]
    assert sum(left.values()) <= LEFT_MAX, left


def ask(wire: Any, method: str, params: dict[str, Any], times: int) -> None:
    for _ in range(times):
        wire.ask(method, params)


@pytest.mark.fault(row=46)
@pytest.mark.thorough
def test_ten_thousand_calls_over_notes_that_the_cache_cannot_hold_cost_bounded_memory(daemon: Any) -> None:
    notes = {f"{number}.md": f"# {number}\n\n" + "word " * (NOTE_CHARS // 5) for number in range(250)}
    uncollected = Uncollected(daemon, notes=notes, more={"WORKSPACED_CACHE_BYTES": str(1024 * 1024)})
    running, wire = uncollected.running, uncollected.running.wire()
    wire.ask("workspaced/hello", {"client": {"name": "agent"}})
    uncollected.client.call("workspaced/reconcile")

    def calls(first: int, times: int) -> None:
        for number in range(first, first + times):
            wire.ask(*tool("get_note_by_reference", reference=f"{number % len(notes)}.md"))

    calls(0, 500)  # fills what is bounded
    before = running.memory_bytes()
    for first in range(500, MANY, 500):
        calls(first, 500)
        assert running.memory_bytes() - before < GROWTH_BYTES_MAX, f"after {first} calls"
