"""What a log recorded is answered to the byte: at the socket, by MCP, and in the log of the run."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from support.bridge import INITIALIZE, Agent
from support.daemon import clean_environment
from support.past import past, recorded_in

from workspaced import replay

LOGS = ("the demo's morning", "golden answers", "a proxied chat", "a long session")


@pytest.mark.parametrize("name", LOGS)
def test_every_recorded_call_is_answered_with_its_bytes(stored_log: Callable[[str], Path], name: str) -> None:
    log = stored_log(name)
    left = recorded_in(log)
    assert len(left) > 5
    while left:
        first = left[0]
        with past(log, first.seq) as then:
            assert then.ask(first.caller, first.tool, **first.arguments) == first.answer
            # A question that was asked again later is answered as it was answered first.
            later = [each for each in left if then.ask(each.caller, each.tool, **each.arguments) != each.answer]
            assert then.stop() == 0
            with replay.open(then.run) as made:
                verified = made.verify()
        assert len(verified) == len(left) + 1
        assert {each.outcome for each in verified} == {replay.Outcome.SAME}
        assert first not in later
        left = later


@pytest.mark.parametrize("name", ["the demo's morning", "a long session"])
def test_an_agent_gets_them_by_mcp(stored_log: Callable[[str], Path], name: str, tmp_path: Path) -> None:
    log = stored_log(name)
    calls = recorded_in(log)
    first = calls[len(calls) // 2]
    agent = Agent(["--replay", str(log), "--at", str(first.seq)], clean_environment(tmp_path), tmp_path)
    try:
        client = {"name": first.caller, "version": "1"}
        agent.send({**INITIALIZE, "params": {**INITIALIZE["params"], "clientInfo": client}})
        agent.hear()
        said = agent.ask("tools/call", {"name": first.tool, "arguments": first.arguments})
        assert said["content"][0]["text"].encode() == first.answer
        code, _, err = agent.end()
    finally:
        agent.close()
    assert code == 0 and "recorded in" in err
    assert not list(tmp_path.glob("workspaced-past-*")), "the daemon has ended, and its socket is gone"


def test_what_nobody_asked_is_not_recorded_and_says_what_was(stored_log: Callable[[str], Path]) -> None:
    log = stored_log("a long session")
    (search,) = [each for each in recorded_in(log) if each.tool == "search_workspace"][-1:]
    with past(log, search.seq) as then:
        other = then.told("agent", "search_workspace", query="nobody asked this")
        assert (other["success"], other["code"]) == (False, "NOT_RECORDED")
        assert json.dumps(search.arguments, separators=(",", ":")) in other["message"]
        assert f"event {search.seq}" in other["message"]


@pytest.mark.parametrize(("name", "tool"), [(LOGS[3], "get_current_note"), (LOGS[1], "get_context_manifest")])
def test_another_client_is_answered_by_what_the_log_tells_of_the_moment(
    stored_log: Callable[[str], Path], name: str, tool: str
) -> None:
    """The state, the notes, and the texts that events name."""
    asked = next(each for each in recorded_in(stored_log(name)) if each.tool == tool)
    with past(stored_log(name), asked.seq) as then:
        told = then.told("another agent", tool, **asked.arguments)
    assert told == json.loads(asked.answer) and told["success"]


def test_what_was_told_at_another_level_is_not_told(stored_log: Callable[[str], Path]) -> None:
    log = stored_log("the demo's morning")
    later = next(each for each in recorded_in(log) if each.seq == 181)
    assert "content" in json.loads(later.answer)["data"]
    with past(log, 116) as then:
        told = then.told(later.caller, later.tool, **later.arguments)
    assert "content" not in told.get("data", {})


def test_the_clock_stands(stored_log: Callable[[str], Path]) -> None:
    log = stored_log("the demo's morning")
    with past(log, 116) as then, then.connect("claude-code") as client:
        for _ in range(2):
            client.tool("get_workspace_context")
        times = [each["time"] for each in client.call("workspaced/calls", {"limit": 2})["calls"]]
        state = client.call("workspaced/state", {})
    with replay.open(log) as opened:
        assert {each[:19] for each in times} == {opened.event(116).time[:19]}
        assert state["state"] == opened.at(116).state_json()
