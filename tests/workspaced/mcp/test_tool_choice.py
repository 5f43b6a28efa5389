"""A client chooses the tools that its list shows: `core` or `all`."""

import json
from typing import Any

import pytest

from workspaced_tools.tools.registry import TOOLS

CORE = ["get_workspace_context", "get_current_note", "get_note_by_reference", "search_workspace"]
CHOICE = {"jsonrpc": "2.0", "method": "notifications/workspaced/tools", "params": {"tools": "core"}}


def names(listed: dict[str, Any]) -> list[str]:
    return [tool["name"] for tool in listed["tools"]]


def test_case_13_a_hello_chooses_and_without_a_choice_all_are_listed(shared: Any) -> None:
    wire = shared.wire()
    for hello, expected in (
        ({}, list(TOOLS)),
        ({"tools": "core"}, CORE),
        ({"client": {"name": "a"}}, CORE),
        ({"tools": "all"}, list(TOOLS)),
    ):
        wire.ask("workspaced/hello", hello)
        assert names(wire.ask("tools/list")["result"]) == expected
    refused = wire.ask("workspaced/hello", {"tools": "few"})["error"]
    assert refused["data"]["code"] == "INVALID_ARGUMENT" and "core" in json.dumps(refused)


@pytest.mark.parametrize("era", ["modern", "handshake"])
def test_case_13_an_mcp_client_chooses_with_a_notification(
    shared: Any, era: str, request: pytest.FixtureRequest
) -> None:
    peer = request.getfixturevalue(era)(shared)
    assert names(peer.result("tools/list")) == list(TOOLS)
    peer.wire.send(json.dumps(CHOICE).encode() + b"\n")
    assert names(peer.result("tools/list")) == CORE
    peer.wire.send(json.dumps({**CHOICE, "params": {"tools": "few"}}).encode() + b"\n")
    assert names(peer.result("tools/list")) == CORE
    assert peer.call("get_workspace_summary")["isError"] is False  # not listed, and answered
    peer.wire.close()
