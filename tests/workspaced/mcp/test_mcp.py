"""MCP on the daemon's socket: which era a connection speaks, tools, and what is refused how."""

import json
from typing import Any

import pytest

from workspaced.__about__ import __version__
from workspaced.limits import CLIENT_NAME_CHARS_MAX, IN_FLIGHT_MAX
from workspaced_tools.tools.registry import TOOLS

VERSION = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
CLIENT = "io.modelcontextprotocol/clientInfo"
SUPPORTED = ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]
META = {VERSION: "2026-07-28", CAPABILITIES: {}}
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "old", "version": "1"}}


@pytest.fixture(scope="module", autouse=True)
def open_note(shared: Any) -> None:
    shared.publish("active_note_set", note="work/plan.md")


def callers(running: Any) -> list[str]:
    """Who called tools so far."""
    return [event["data"]["caller"] for event in running.events("tool_called")]


# -- which era --


def test_a_request_with_a_version_in_its_meta_opens_2026_07_28(shared: Any, modern: Any) -> None:
    result = modern(shared).result("server/discover")
    assert result["supportedVersions"] == SUPPORTED
    assert result["capabilities"] == {"tools": {}, "resources": {"subscribe": True}, "prompts": {}}
    assert result["instructions"] and result["ttlMs"] > 0 and result["cacheScope"] == "public"
    assert result["_meta"]["io.modelcontextprotocol/serverInfo"]["version"] == __version__
    assert modern(shared).result("tools/list")["tools"]


@pytest.mark.parametrize(
    ("asked", "given"),
    [*((version, version) for version in SUPPORTED[1:]), ("2026-07-28", "2025-11-25"), ("x", "2025-11-25")],
)
def test_initialize_opens_the_handshake_era_in_a_version_both_know(shared: Any, asked: str, given: str) -> None:
    result = shared.wire().ask("initialize", {**HELLO, "protocolVersion": asked})["result"]
    assert result["protocolVersion"] == given
    assert result["serverInfo"] == {"name": "workspaced", "title": "workspaced", "version": __version__}
    assert "resultType" not in result


def test_a_settled_connection_stays_what_it_is(shared: Any, modern: Any, handshake: Any) -> None:
    new, old, native = modern(shared), handshake(shared), shared.wire()
    new.result("tools/list")
    refused = new.wire.ask("initialize", HELLO)["error"]
    assert refused["code"] == -32022
    assert refused["data"]["supported"] == ["2026-07-28"] and refused["data"]["requested"] == "2025-11-25"
    assert (
        new.error("ping")["code"] == new.error("resources/subscribe", uri="workspace://context")["code"] == -32601
    )
    assert old.wire.ask("server/discover", {"_meta": META})["error"]["code"] == -32601
    assert native.ask("workspaced/hello")["result"]
    for method in ("initialize", "ping", "server/discover", "subscriptions/listen"):
        assert native.ask(method, HELLO)["error"]["code"] == -32601
    assert native.ask("resources/read", {"uri": "workspace://context"})["result"]["contents"]


def test_on_an_mcp_connection_of_ours_only_hello_and_status_work(peer: Any) -> None:
    peer.result("tools/list")
    assert peer.result("workspaced/hello", client={"name": "unheard"})["workspace"] == "default"
    status = peer.result("workspaced/status")
    assert peer.revision.startswith("2026") is ("resultType" in status)
    assert "unheard" not in {each["client"] for each in status["sharing"]["clients"]}
    for method in ("state", "publish", "log", "calls", "call", "subscribe", "shutdown", "share", "nothing"):
        refused = peer.error(f"workspaced/{method}")
        assert refused["code"] == -32601 and "MCP connection" in refused["message"]
        exists = "workspaced/hello, workspaced/status" if method == "nothing" else "Open another connection"
        assert f"workspaced/{method}" in refused["message"] and exists in refused["data"]["hint"]


# -- what 2026-07-28 asks of requests and results --


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"_meta": {}},
        {"_meta": None},
        {"_meta": {VERSION: "2026-07-28"}},
        {"_meta": {CAPABILITIES: {}}},
        {"_meta": {VERSION: 7, CAPABILITIES: {}}},
        {"_meta": {**META, CAPABILITIES: []}},
        {"_meta": {**META, CLIENT: "me"}},
    ],
    ids=repr,
)
def test_a_request_without_its_meta_is_refused(shared: Any, modern: Any, params: Any) -> None:
    peer = modern(shared)
    assert peer.wire.ask("tools/list", params)["error"]["code"] == -32602
    peer.result("tools/list")
    for method in ("tools/list", "nothing"):
        error = peer.wire.ask(method, params)["error"]
        assert error["code"] == -32602 and error["data"]["code"] == "META_MISSING"


def test_an_unknown_version_is_refused_with_those_there_are(shared: Any, modern: Any) -> None:
    peer = modern(shared)
    for version in ("1999-01-01", "2025-11-25", ""):
        peer.meta = {**META, VERSION: version}
        number = peer.send("tools/list")
        message = peer.answer(number)
        assert message["error"]["code"] == -32022
        assert message["error"]["data"]["supported"] == SUPPORTED
        assert message["error"]["data"]["requested"] == version
    peer.meta = META
    assert peer.result("tools/list")


def test_every_result_says_that_it_is_complete_and_who_gave_it(shared: Any, modern: Any) -> None:
    peer = modern(shared)
    for method in ("server/discover", "tools/list", "resources/list", "resources/templates/list"):
        result = peer.result(method)
        assert result["resultType"] == "complete"
        scope = "private" if method == "tools/list" else "public"  # each client chooses the tools of its list
        assert result["ttlMs"] > 0 and result["cacheScope"] == scope
        assert result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "workspaced"
        assert ":" in result["_meta"]["io.github.workspaced/clock"]
    read = peer.result("resources/read", uri="workspace://context")
    assert (read["ttlMs"], read["cacheScope"]) == (0, "private")
    assert peer.call("get_current_note")["resultType"] == "complete"


# -- tools --


def test_the_list_has_every_tool_with_its_hints_in_order(peer: Any) -> None:
    tools = peer.result("tools/list")["tools"]
    assert [tool["name"] for tool in tools] == list(TOOLS)
    for tool in tools:
        assert tool["annotations"] == {
            "readOnlyHint": True,
            "destructiveHint": False,
            "idempotentHint": True,
            "openWorldHint": False,
        }
        definition = TOOLS[tool["name"]].definition
        assert (tool["inputSchema"], tool["outputSchema"]) == (
            definition["inputSchema"],
            definition["outputSchema"],
        )
    assert peer.result("tools/list")["tools"] == tools
    assert len(json.dumps(tools, separators=(",", ":"))) < 12 * 1024
    assert peer.error("tools/list", cursor="2")["code"] == -32602


def test_wrong_arguments_and_what_a_tool_cannot_do_are_results_that_say_what_next(peer: Any) -> None:
    for arguments, code in (
        ({"reference": "no such note"}, "NOTE_NOT_FOUND"),
        ({"reference": 7}, "INVALID_ARGUMENT"),
        ({"colour": "red"}, "INVALID_ARGUMENT"),
        ({"reference": "../x.md"}, "OUTSIDE_VAULT"),
    ):
        result = peer.call("get_note_by_reference", **arguments)
        assert result["isError"] is True
        assert result["structuredContent"]["code"] == code and result["structuredContent"]["message"]
        assert json.loads(result["content"][0]["text"]) == result["structuredContent"]


def test_a_tool_that_is_none_is_an_error_of_the_protocol(peer: Any) -> None:
    error = peer.error("tools/call", name="delete_everything")
    assert error["code"] == -32602 and "get_current_note" in error["data"]["hint"]


# -- who asks --


@pytest.mark.parametrize("era", ["modern", "handshake"])
def test_the_share_policy_goes_by_the_name_the_client_gave(
    shared: Any, request: pytest.FixtureRequest, era: str
) -> None:
    made = request.getfixturevalue(era)
    shared.call("workspaced/share", {"client": f"kept-{era}", "level": "none"})
    shared.call("workspaced/share", {"client": f"named-{era}", "level": "names"})
    kept, named, other = made(shared, f"Kept-{era}"), made(shared, f"named-{era}"), made(shared, "other")
    assert kept.call("get_current_note")["structuredContent"]["code"] == "SHARING_OFF"
    refused = kept.error("resources/read", uri="workspace://note/current")
    assert refused["code"] == -32602 and refused["data"]["code"] == "SHARING_OFF"
    assert "content" not in named.call("get_current_note")["structuredContent"]["data"]
    assert "1. begin" in other.call("get_current_note")["structuredContent"]["data"]["content"]
    assert callers(shared)[-4:] == [f"Kept-{era}", f"Kept-{era}", f"named-{era}", "other"]


def test_in_2026_07_28_each_request_says_anew_who_asks(shared: Any, modern: Any) -> None:
    shared.call("workspaced/share", {"client": "secretive", "level": "none"})
    peer = modern(shared, "open")
    assert peer.call("get_current_note")["isError"] is False
    peer.meta = {**META, CLIENT: {"name": "secretive", "version": "1"}}
    assert peer.call("get_current_note")["structuredContent"]["code"] == "SHARING_OFF"
    peer.meta = META
    assert peer.call("get_current_note")["isError"] is False
    peer.meta = {**META, CLIENT: {"name": "x" * 5_000, "version": "1"}}
    assert peer.call("get_current_note")["isError"] is False
    assert callers(shared)[-2:] == ["unknown", "x" * CLIENT_NAME_CHARS_MAX]


# -- notifications, cancelling, bad lines --


@pytest.mark.thorough
def test_a_call_that_was_cancelled_is_not_answered_and_its_place_is_free(peer: Any) -> None:
    seq = peer.call("get_workspace_summary")["structuredContent"]["asOfSeq"]
    waiting = [
        peer.send("tools/call", name="get_workspace_context", arguments={"minSeq": seq + 1_000_000})
        for _ in range(IN_FLIGHT_MAX - 1)
    ]
    for number in waiting:
        peer.tell("notifications/cancelled", requestId=number, reason="enough")
    # An answer to any of them would come before this one, which waits as long as they would have.
    last = peer.send("tools/call", name="get_workspace_context", arguments={"minSeq": seq + 1_000_000})
    message = peer.line()
    assert message["id"] == last and message["error"]["data"]["code"] == "TIMEOUT"
