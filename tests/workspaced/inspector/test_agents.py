"""Agents: what each may see, was told and asked; and what the page may change."""

from collections.abc import Iterator
from typing import Any

import pytest
from support.inspector import Inspector, Tail


@pytest.fixture(scope="module")
def talked(module_daemon: Any) -> Any:
    """A daemon whose agents asked and were set levels."""
    running = module_daemon()
    with running.connect("claude") as claude, running.connect("codex") as codex:
        claude.publish([{"type": "active_note_set", "data": {"note": "a.md"}}])
        claude.tool("get_current_note")
        claude.tool("get_workspace_context")
        claude.tool("get_note_by_reference", {"reference": "nobody"})
        codex.call("workspaced/calls", {"limit": 1})  # waits until the calls are recorded
        codex.call("workspaced/share", {"client": "codex", "level": "names"})
        codex.tool("get_workspace_context")
        codex.call("workspaced/calls", {"limit": 1})
    return running


@pytest.fixture(scope="module")
def reading(talked: Any) -> Iterator[Inspector]:
    with Inspector("--socket", talked.socket, env=talked.env) as running:
        yield running


@pytest.fixture(scope="module")
def changing(module_daemon: Any) -> Iterator[tuple[Any, Inspector]]:
    running = module_daemon()
    with Inspector("--socket", running.socket, "--allow-changes", env=running.env) as inspector:
        yield running, inspector


def by_name(agents: Any) -> dict[str, Any]:
    return {each["client"]: each for each in agents["agents"]}


def until_it_says(tail: Tail, words: str) -> Any:
    while True:
        for event in tail.until("grew")["events"]:
            if words in event["sentence"]:
                return event


class TestWhatIsShown:
    def test_each_agent_with_its_level_and_calls(self, talked: Any, reading: Inspector) -> None:
        agents = by_name(reading.get("/api/agents"))
        with talked.connect() as client:
            calls = client.call("workspaced/calls", {"caller": "claude"})["calls"]
        claude = agents["claude"]
        assert claude["level"] == "all" and claude["levelSeq"] is None
        assert claude["asked"]["calls"] == 3 and claude["asked"]["failed"] == 1
        assert claude["asked"]["bytes"] == sum(each["bytes"] for each in calls)
        assert [each["seq"] for each in claude["asked"]["latest"]] == [each["seq"] for each in calls][::-1]
        assert agents["codex"]["level"] == "names"

    def test_who_is_connected_is_known_now_and_only_now(self, talked: Any, reading: Inspector) -> None:
        with talked.connect("gemini") as gemini:
            gemini.call("workspaced/status")
            now = reading.get("/api/agents")
            assert by_name(now)["gemini"]["isConnected"] is True
            assert by_name(now)["claude"]["isConnected"] is False
            assert "inspector" not in by_name(now)
        assert by_name(reading.get("/api/agents", at=now["seq"]))["claude"]["isConnected"] is None


class TestWhatMayBeChanged:
    @pytest.mark.parametrize(
        ("path", "body"),
        [
            ("/api/agents/level", {"client": "claude", "level": "none"}),
            ("/api/pause", {}),
            ("/api/resume", {}),
            ("/api/judged/1", {"verdict": "right"}),
        ],
    )
    def test_nothing_without_leave(self, reading: Inspector, path: str, body: Any) -> None:
        before = reading.get("/api/about")["last"]
        assert reading.error(path, "POST", json=body) == (403, "NOT_ALLOWED")
        assert reading.get("/api/about")["last"] == before

    def test_a_level_that_is_set_here_is_an_event_of_the_inspector(self, changing: tuple[Any, Inspector]) -> None:
        running, inspector = changing
        with inspector.tail() as tail:
            tail.until("daemon", connected=True)
            answer = inspector.post("/api/agents/level", client="Claude", level="names", volunteering="off")
            assert answer == {"client": "claude", "level": "names", "volunteering": "off"}
            assert until_it_says(tail, "what claude is shown to “names”")["source"] == "inspector"
        with running.connect("claude") as claude:
            assert claude.call("workspaced/status")["sharing"]["clients"][0]["level"] == "names"

    def test_a_pause_says_who_began_it_and_ends(self, changing: tuple[Any, Inspector]) -> None:
        _running, inspector = changing
        with inspector.tail() as tail:
            tail.until("daemon", connected=True)
            assert inspector.post("/api/pause", forS=3600)["paused"]["until"]
            seq = until_it_says(tail, "inspector paused")["seq"]
            pause = inspector.get("/api/agents")["pause"]
            assert (pause["by"], pause["seq"]) == ("inspector", seq)
            assert inspector.post("/api/resume") == {"paused": None}
            until_it_says(tail, "inspector ended the pause")
            assert inspector.get("/api/agents")["pause"] is None
            assert inspector.get("/api/agents", at=seq)["pause"]["by"] == "inspector"

    def test_an_answer_is_judged_by_an_event_of_the_inspector(self, changing: tuple[Any, Inspector]) -> None:
        running, inspector = changing
        with inspector.tail() as tail, running.connect("claude") as claude:
            tail.until("daemon", connected=True)
            claude.tool("get_workspace_context", {})
            seq = claude.call("workspaced/calls")["calls"][-1]["seq"]
            until_it_says(tail, "called get_workspace_context")
            assert inspector.get(f"/api/judged/{seq}")["event"] is None
            said = inspector.post(f"/api/judged/{seq}", verdict="wrong", wanted="b.md", why="It is open.")
            assert until_it_says(tail, f"judged the answer of event {seq} wrong")["source"] == "inspector"
            assert inspector.get(f"/api/judged/{seq}") == said
            assert (said["verdict"], said["wanted"], said["why"]) == ("wrong", "b.md", "It is open.")
            refused = inspector.error(f"/api/judged/{seq}", "POST", json={"verdict": "wrong", "wanted": ""})
            assert refused == (400, "INVALID_ARGUMENT")
