"""`tools/list` and `tools/call` in MCP's shapes, over our own socket."""

import json
import time
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from support.daemon import refusal

SCHEMAS = Path(__file__).parents[3] / "schemas" / "tools"
CALLS: list[tuple[str, Any]] = [
    ("get_workspace_context", {"includeContent": True, "maxContentLength": 500}),
    ("get_note_by_reference", {"reference": "no such note"}),
    ("get_note_by_reference", {"reference": 7}),
]


@pytest.fixture(scope="module")
def tools(shared: Any) -> dict[str, Any]:
    shared.publish("active_note_set", note="work/plan.md")
    shared.publish("note_pinned", note="a.md")
    shared.publish("temporary_tab_opened", note="gone.md", source="history")
    with shared.connect() as client:
        return {tool["name"]: tool for tool in client.call("tools/list")["tools"]}


@pytest.mark.parametrize(("name", "arguments"), CALLS, ids=repr)
def test_a_result_has_mcps_shape_and_fits_its_published_schema(
    client: Any, tools: dict[str, Any], name: str, arguments: Any
) -> None:
    result = client.call("tools/call", {"name": name, "arguments": arguments})
    structured = result["structuredContent"]
    (content,) = result["content"]
    assert content["type"] == "text" and json.loads(content["text"]) == structured
    assert result["isError"] is (not structured["success"])
    Draft202012Validator(tools[name]["outputSchema"]).validate(structured)
    valid = Draft202012Validator(json.loads((SCHEMAS / f"{name}.input.json").read_text())).is_valid(arguments)
    assert not valid or Draft202012Validator(tools[name]["inputSchema"]).is_valid(arguments)
    assert (structured.get("code") != "INVALID_ARGUMENT") is valid
    (clock,) = [value for key, value in result["_meta"].items() if key.endswith("/clock")]
    assert int(clock.rpartition(":")[2]) >= structured["asOfSeq"]


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
