"""A client chooses the tools that its list shows: `core` or `all`."""

import json
from typing import Any

import pytest
from support import process

from workspaced_tools.tools.registry import TOOLS

CORE = ["get_workspace_context", "get_current_note", "get_note_by_reference", "search_workspace"]
CHOICE = {"jsonrpc": "2.0", "method": "notifications/workspaced/tools", "params": {"tools": "core"}}
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "a", "version": "1"}},
}


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


def test_case_13_a_choice_before_the_first_request_leaves_the_protocol_open(shared: Any) -> None:
    for first in (INITIALIZE, {"jsonrpc": "2.0", "id": 1, "method": "workspaced/hello", "params": {}}):
        wire = shared.wire()
        wire.send(json.dumps(CHOICE).encode() + b"\n" + json.dumps(first).encode() + b"\n")
        assert "result" in wire.line()
        assert names(wire.ask("tools/list")["result"]) == CORE


@pytest.mark.parametrize(("choice", "expected"), [((), list(TOOLS)), (("--tools", "core"), CORE)])
def test_case_13_the_bridge_takes_the_choice_as_an_argument(
    shared: Any, choice: tuple[str, ...], expected: list[str]
) -> None:
    command = ("mcp", "--socket", str(shared.socket), *choice)
    asked = [INITIALIZE, {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}]
    sent = b"".join(json.dumps(each).encode() + b"\n" for each in asked)
    done = process.run(*command, input=sent, env=shared.env, timeout_s=20, cwd=shared.root)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [each["id"] for each in answers] == [1, 2]
    assert names(answers[1]["result"]) == expected


def test_case_13_the_printed_configuration_keeps_the_choice(shared: Any) -> None:
    done = shared.cli("mcp", "--print-config", "cursor", "--tools", "core")
    assert "--tools" in json.loads(done.stdout)["mcpServers"]["workspaced"]["args"]
    refused = shared.cli("mcp", "--tools", "few")
    assert refused.returncode == 2 and "core" in refused.stderr
