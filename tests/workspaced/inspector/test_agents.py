"""Agents: what each may see, was told and asked; and what was said of an answer."""

from collections.abc import Iterator
from typing import Any

import pytest
from support.inspector import Inspector


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


class TestWhatIsShown:
    def test_each_agent_with_its_level_and_calls(self, talked: Any, reading: Inspector) -> None:
        agents = by_name(reading.get("/api/agents"))
        calls = talked.call("workspaced/calls", {"caller": "claude"})["calls"]
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


class TestWhatChanged:
    def test_who_set_a_level_and_who_paused_is_said(self, talked: Any, reading: Inspector) -> None:
        with talked.connect("owner") as client, reading.tail() as tail:
            tail.until("daemon", connected=True)
            client.call("workspaced/pause", {"forS": 3600})
            tail.until("grew")
            pause = reading.get("/api/agents")["pause"]
            assert pause["by"] == "owner" and pause["until"]
            assert reading.get("/api/agents", at=pause["seq"])["pause"]["by"] == "owner"
            client.call("workspaced/resume")
            tail.until("grew")
            shown = reading.get("/api/agents")
        assert shown["pause"] is None
        assert [each["type"] for each in shown["settings"][:3]] == ["pause_ended", "pause_started", "sharing_set"]

    def test_the_last_judgement_of_an_answer_counts(self, talked: Any, reading: Inspector) -> None:
        with talked.connect("claude") as claude, reading.tail() as tail:
            tail.until("daemon", connected=True)
            seq = claude.call("workspaced/calls")["calls"][-1]["seq"]
            assert reading.get(f"/api/judged/{seq}")["event"] is None
            for said in ({"verdict": "right"}, {"verdict": "wrong", "wanted": "b.md", "why": "It is open."}):
                judged = claude.call("workspaced/judge", {"of": seq, **said})["seq"]
                while tail.until("grew")["last"] < judged:
                    pass
            assert reading.get(f"/api/judged/{seq}") == {"event": judged, **said}

    def test_nothing_is_said_without_leave(self, reading: Inspector) -> None:
        before = reading.get("/api/about")["last"]
        refused = reading.error("/api/judged/1", "POST", json={"verdict": "right"})
        assert refused == (403, "NOT_ALLOWED")
        assert reading.get("/api/about")["last"] == before

    def test_an_answer_is_judged_by_an_event_of_the_inspector(self, changing: tuple[Any, Inspector]) -> None:
        running, inspector = changing
        with inspector.tail() as tail, running.connect("claude") as claude:
            tail.until("daemon", connected=True)
            claude.tool("get_workspace_context", {})
            seq = claude.call("workspaced/calls")["calls"][-1]["seq"]
            while tail.until("grew")["last"] < seq:
                pass
            said = inspector.post(f"/api/judged/{seq}", verdict="wrong", wanted="b.md", why="It is open.")
            while tail.until("grew")["last"] < said["event"]:
                pass
            assert inspector.get(f"/api/judged/{seq}") == said
            assert (said["verdict"], said["wanted"], said["why"]) == ("wrong", "b.md", "It is open.")
            [event] = claude.call("workspaced/log", {"from": said["event"], "limit": 1})["events"]
            assert event["source"] == "inspector"
            refused = inspector.error(f"/api/judged/{seq}", "POST", json={"verdict": "wrong", "wanted": ""})
            assert refused == (400, "INVALID_ARGUMENT")
