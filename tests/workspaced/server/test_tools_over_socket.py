"""`tools/list` and `tools/call` in MCP's shapes, over our own socket."""

import json
import time
from typing import Any

import pytest
from support.daemon import refusal


def test_a_call_sees_what_was_acknowledged_and_written_before_it(shared: Any, client: Any) -> None:
    other = shared.connect()
    for number, note in enumerate(("a.md", "b.md", "c.md", "work/plan.md")):
        (receipt,) = other.publish([{"type": "active_note_set", "data": {"note": note}}])
        answer = client.tool("get_current_note")
        assert answer["data"]["id"] == note and answer["asOfSeq"] == receipt["seq"]
        (shared.vault / "c.md").write_text(f"# Gamma\n\nEdition {number}.\n")
        answer = client.tool("get_note_by_reference", {"reference": "c.md"})
        assert answer["data"]["content"] == f"# Gamma\n\nEdition {number}.\n"


def test_every_door_opens_the_section_that_a_link_leads_to(
    shared: Any, client: Any, modern: Any, handshake: Any
) -> None:
    link = {"reference": "[[plan#Steps]]", "from": "a.md"}
    data = client.tool("get_note_by_reference", link)["data"]
    assert data["content"].startswith("## Steps\n\n1. begin")
    for era in (modern, handshake):
        answer = era(shared).call("get_note_by_reference", **link)["structuredContent"]
        assert (answer["data"]["id"], answer["data"]["content"]) == (data["id"], data["content"])
    words = [f"{name}={value}" for name, value in link.items()]
    printed = shared.cli("call", "get_note_by_reference", *words, "--json").stdout
    assert json.loads(printed)["data"]["content"] == data["content"]
    peer = modern(shared)
    [content] = peer.result("resources/read", uri="workspace://note/work/plan%23Steps")["contents"]
    assert json.loads(content["text"])["data"]["content"] == data["content"]
    assert peer.error("resources/read", uri="workspace://note/work/plan%23No")["code"] == -32602


@pytest.mark.thorough
def test_min_seq_waits_and_times_out(shared: Any, client: Any) -> None:
    waiting = shared.wire()
    waiting.ask("workspaced/hello")
    seq = client.call("workspaced/status")["seq"]
    waiting.request("tools/call", {"name": "get_current_note", "arguments": {"minSeq": seq + 1}})
    client.publish([{"type": "active_note_set", "data": {"note": "b.md"}}])
    assert waiting.line()["result"]["structuredContent"]["data"]["id"] == "b.md"
    before = time.monotonic()
    error = refusal(client.call, "tools/call", {"name": "get_current_note", "arguments": {"minSeq": 10**9}})
    assert error.code == "TIMEOUT" and time.monotonic() - before > 1.9
