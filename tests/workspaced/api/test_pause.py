"""`workspaced/pause` and `workspaced/resume`: what stops meanwhile, what goes on, what is recorded at the end."""

import json
import os
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from msgspec.structs import replace
from support.daemon import Daemon, Factory, refusal

from workspaced import SyncClient
from workspaced.adapters.overlaying import Overlaying
from workspaced.api.routes import METHODS
from workspaced.calls.calls import Calls
from workspaced.terminal.screen import local_time
from workspaced_events.errors import Paused
from workspaced_events.projections.workspace_state import EMPTY, Pause
from workspaced_tools.ports.asking import WouldBlock
from workspaced_tools.tools.registry import TOOLS

SECRET = "paused-secret"
"""In the name of every note that is shown during a pause: it is to be nowhere on the disk."""

ADMINISTRATIVE: dict[str, dict[str, Any]] = {
    "workspaced/hello": {},
    "workspaced/publish": {"actions": [{"type": "active_note_set", "data": {"note": "b.md"}}]},
    "workspaced/snapshot": {"source": "editor", "active": "b.md", "pins": [], "tabs": []},
    "workspaced/state": {},
    "workspaced/subscribe": {},
    "workspaced/unsubscribe": {"subscription": "{subscription}"},
    "workspaced/log": {},
    "workspaced/clients": {},
    "workspaced/context/overlay/confirm": {"token": "none", "bodySha256": "0" * 64},
    "workspaced/context/overlay/finished": {
        "token": "none",
        "form": "openai",
        "usage": {"prompt_tokens": 1, "completion_tokens": 1},
    },
    "workspaced/context/overlay/unchanged": {"reasons": [{"code": "UNREADABLE", "count": 1}]},
    "workspaced/volunteer/confirm": {"token": "unknown"},
    "workspaced/calls": {},
    "workspaced/call": {"seq": "{call}"},
    "workspaced/context/usage": {
        "conversation": "chat",
        "report": {"prompt_tokens": 1, "completion_tokens": 1},
        "shape": "openai",
    },
    "workspaced/context/export": {"conversation": "chat"},
    "workspaced/context/end": {"conversation": "chat"},
    "workspaced/memory/list": {},
    "workspaced/memory/undo": {"seq": "{write}"},
    "workspaced/status": {},
    "workspaced/reconcile": {},
    "workspaced/share": {"client": "someone", "level": "names"},
    "workspaced/share/why": {"path": "a.md"},
    "workspaced/share/rules": {},
    "workspaced/share/accept": {"vault": "vault"},
    "workspaced/pause": {},
    "workspaced/names": {"prefix": "a"},
    "workspaced/links": {"note": "a.md", "direction": "out"},
    "workspaced/link/status": {},
    "tools/list": {},
}
"""Each works during a pause, with these parameters."""
AT_THE_END = {"workspaced/resume", "workspaced/shutdown"}
"""They work too, but there is no pause behind them."""
PAUSED: dict[str, dict[str, Any]] = {
    "workspaced/judge": {"of": 1, "verdict": "right"},
    "workspaced/blob/put": {"upload": "u", "text": "t", "last": True},
    "workspaced/context/start": {
        "provider": "p",
        "model": "m",
        "contextWindow": 9_000,
        "outputReserve": 500,
        "conversation": "chat",
    },
    "workspaced/volunteer": {"client": "claude-code", "session": "s-1", "event": "UserPromptSubmit"},
    "workspaced/volunteer/preview": {"client": "claude-code"},
    "workspaced/volunteer/editor": {
        "client": "claude-code",
        "session": "s-1",
        "event": "selection_changed",
        "folders": ["/"],
    },
    "workspaced/context/message": {"conversation": "chat", "messages": [{"role": "user", "text": "Why?"}]},
    "workspaced/context/pin": {"conversation": "chat", "id": "p", "kind": "note", "path": "a.md"},
    "workspaced/context/unpin": {"conversation": "chat", "id": "p"},
    "workspaced/context/assemble": {"conversation": "chat"},
    "workspaced/context/overlay": {
        "form": "openai",
        "turns": [{"key": "0" * 64, "near": "0" * 64}],
        "open": True,
        "chat": "0" * 64,
    },
    "workspaced/context/summary": {"conversation": "chat", "text": "So far.", "upTo": "m1"},
}
"""Parameters of those that answer PAUSED, which are taken otherwise; the others need none."""
WITHOUT_A_LINK: dict[str, tuple[dict[str, Any], str]] = {
    "workspaced/link/new": ({}, "INVALID_ARGUMENT"),
    "workspaced/link/invite": ({}, "NOT_LINKED"),
    "workspaced/link/join": ({"code": "x"}, "INVALID_ARGUMENT"),
    "workspaced/link/approve": ({"origin": "abcd"}, "NOT_LINKED"),
    "workspaced/link/map": ({"folder": "/", "name": "notes"}, "NOT_LINKED"),
    "workspaced/link/remove": ({"origin": "abcd"}, "NOT_LINKED"),
    "workspaced/link/leave": ({}, "NOT_LINKED"),
}
"""They work during a pause: with these parameters each is refused for another reason, as there is no link."""
IN_RESULTS = {"tools/call"}
"""They answer PAUSED in a result, where a model reads it."""


def show(client: SyncClient, note: str | None) -> dict[str, Any]:
    answer: dict[str, Any] = client.call(
        "workspaced/publish", {"actions": [{"type": "active_note_set", "data": {"note": note}}]}
    )
    return answer


def events(client: SyncClient) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = client.call("workspaced/log")["events"]
    return found


def between(client: SyncClient) -> list[str]:
    """The types between the latest `pause_started` and its end."""
    types = [event["type"] for event in events(client)]
    begun = len(types) - types[::-1].index("pause_started")
    end = types.index("pause_ended", begun) if "pause_ended" in types[begun:] else len(types)
    return types[begun:end]


def on_disk(daemon: Daemon, text: str) -> list[Path]:
    """The daemon's files that hold the text."""
    files = [Path(place, name) for place, _, names in os.walk(daemon.data) for name in names]
    return [file for file in files if text.encode() in file.read_bytes()]


@pytest.mark.fault(row=68)
class TestEveryMethod:
    def test_is_listed_if_it_works(self) -> None:
        working = {name for name, method in METHODS.items() if method.works_paused}
        assert {*ADMINISTRATIVE, *AT_THE_END, *WITHOUT_A_LINK, *IN_RESULTS} == working

    def test_works_or_answers_paused(self, daemon: Factory) -> None:
        running = daemon("--memory", "Memory", notes={"a.md": "# A\n", "b.md": "# B\n", "Memory/old.md": "x\n"})
        client = running.connect()
        client.call("workspaced/context/start", PAUSED["workspaced/context/start"])
        turn = {"conversation": "chat", "messages": [{"id": "m1", "role": "user", "text": "What?"}]}
        client.call("workspaced/context/message", turn)
        client.call("workspaced/context/assemble", {"conversation": "chat"})
        client.tool("get_current_note")
        client.tool("memory", {"command": "create", "path": "/memories/new.md", "file_text": "text"})
        values = {
            "{call}": client.call("workspaced/calls")["calls"][0]["seq"],
            "{write}": client.call("workspaced/memory/list")["writes"][0]["seq"],
            "{subscription}": client.call("workspaced/subscribe")["subscription"],
        }
        client.call("workspaced/pause")
        for method in (name for name, each in METHODS.items() if not each.works_paused):
            assert refusal(client.call, method, PAUSED.get(method, {})).code == "PAUSED", method
        assert client.tool("get_current_note")["code"] == "PAUSED"
        for method, params in ADMINISTRATIVE.items():
            client.call(method, {name: values.get(str(value), value) for name, value in params.items()})
        for method, (params, code) in WITHOUT_A_LINK.items():
            assert refusal(client.call, method, params).code == code, method
        client.call("workspaced/resume")
        assert set(between(client)) <= {
            *("tool_called", "usage_reported", "conversation_ended", "sharing_set", "note_shown"),
            *("memory_written", "memory_write_ended"),
        }


@pytest.mark.fault(row=68)
class TestWhatIsShownMeanwhile:
    def test_is_nowhere_before_the_end_and_then_the_last_of_it(self, daemon: Factory) -> None:
        running = daemon()
        client = running.connect("editor")
        show(client, "a.md")
        before = client.call("workspaced/pause")
        for number in range(3):
            answer = show(client, f"{SECRET} {number}.md")
            assert (answer["events"], answer["paused"], answer["durability"]) == ([], True, "none")
        client.call("workspaced/publish", {"actions": [{"type": "note_pinned", "data": {"note": f"{SECRET}.md"}}]})
        selected = {"note": f"{SECRET} 2.md", "startLine": 1, "endLine": 2, "text": SECRET * 1_000}
        client.call("workspaced/publish", {"actions": [{"type": "selection_changed", "data": selected}]})
        assert client.state()["activeNote"]["id"] == "a.md"
        assert client.call("workspaced/status")["clock"] == before["clock"]
        assert on_disk(running, SECRET) == []
        client.call("workspaced/resume")
        state = client.state()
        assert state["activeNote"]["id"] == f"{SECRET} 2.md"
        assert [pin["id"] for pin in state["pinnedNotes"]] == [f"{SECRET}.md"]
        assert state["selection"] is None
        assert not re.search(f"{SECRET} [01]", json.dumps(events(client)))
        after = [(event["type"], event["source"]) for event in events(client)][-3:]
        assert after == [("pause_ended", "editor"), ("active_note_set", "editor"), ("note_pinned", "editor")]

    def test_is_checked_as_always(self, daemon: Factory) -> None:
        client = daemon().connect()
        client.publish([{"type": "note_pinned", "data": {"note": "a.md"}, "id": "once"}])
        client.call("workspaced/pause")
        reorder = {"type": "pinned_notes_reordered", "data": {"notes": ["a.md", "b.md"]}}
        bad: list[tuple[dict[str, Any], str]] = [
            ({"type": "note_starred", "data": {}}, "UNKNOWN_ACTION"),
            ({"type": "pause_ended", "data": {}}, "NOT_ALLOWED"),
            ({"type": "active_note_set", "data": {"note": "../x.md"}}, "OUTSIDE_VAULT"),
            (reorder, "INVALID_ARGUMENT"),
            ({"type": "active_note_set", "data": {"note": "a.md"}, "vault": "other"}, "INVALID_ARGUMENT"),
            ({"type": "note_pinned", "data": {"note": "b.md"}, "id": "once"}, "CONFLICT"),
        ]
        for action, code in bad:
            pinned = {"type": "note_pinned", "data": {"note": "c.md"}}
            refused = refusal(client.call, "workspaced/publish", {"actions": [pinned, action]})
            assert (refused.code, refused.details["index"]) == (code, 1)
        client.publish([{"type": "note_pinned", "data": {"note": "b.md"}}])
        client.publish([reorder])  # what was shown meanwhile counts
        client.call("workspaced/resume")
        assert [pin["id"] for pin in client.state()["pinnedNotes"]] == ["a.md", "b.md"]

    def test_that_was_queued_before_the_pause_is_recorded(self, daemon: Factory) -> None:
        """All in one write, so that most of it waits for the writer when the pause is asked for."""
        running = daemon()
        wire = running.wire()

        def line(number: int, method: str, params: dict[str, Any]) -> bytes:
            return (
                json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode() + b"\n"
            )

        def note(number: int) -> dict[str, Any]:
            return {"actions": [{"type": "active_note_set", "data": {"note": f"{number}.md"}}]}

        lines = [line(number, "workspaced/publish", note(number)) for number in range(1, 31)]
        lines.insert(15, line(100, "workspaced/pause", {}))
        wire.send(b"".join(lines))
        answers: dict[int, dict[str, Any]] = {}
        while len(answers) < 31:
            message = wire.line()
            assert message is not None
            answers[message["id"]] = message["result"]
        recorded = [number for number in range(1, 31) if answers[number]["events"]]
        assert recorded == list(range(1, 16))
        assert all(answers[number].get("paused") for number in range(16, 31))
        assert between(running.connect()) == []


@pytest.mark.fault(row=68)
class TestAPause:
    def test_is_shown_wherever_one_looks(self, daemon: Factory) -> None:
        running = daemon()
        client = running.connect()
        assert client.call("workspaced/status")["paused"] is None
        assert "paused" not in client.state()
        assert running.cli("pause", "--for", "30m").stdout.startswith("paused since ")
        paused = client.call("workspaced/status")["paused"]
        assert paused["until"] > paused["since"]
        assert client.state()["paused"] == paused == running.connect().server["paused"]
        since, until = (local_time(paused[name]) for name in ("since", "until"))
        assert f"paused     since {since}, until {until}" in running.cli("status").stdout
        assert f"paused       since {since}, until {until}" in running.cli("state").stdout
        doctor = json.loads(running.cli("doctor", "--json").stdout)
        assert [each["fix"] for each in doctor if each["about"] == "pause"] == ["workspaced resume"]
        assert running.cli("call", "get_current_note").returncode == 1
        assert running.cli("resume").stdout == "not paused\n"
        assert running.cli("resume").returncode == 0
        assert [event["type"] for event in events(client)].count("pause_ended") == 1

    def test_ends_by_itself_and_tells_subscribers(self, daemon: Factory) -> None:
        running = daemon()
        client = running.connect()
        following = running.connect().events(since=0, types=["pause_started", "pause_ended", "note_pinned"])
        client.call("workspaced/pause", {"forS": 0.2})
        client.publish([{"type": "note_pinned", "data": {"note": "a.md"}}])
        seen: list[str] = []
        while len(seen) < 3:
            seen += [event["type"] for event in next(following).params["events"]]
        assert seen == ["pause_started", "pause_ended", "note_pinned"]
        assert client.tool("get_workspace_context")["success"] is True

    def test_outlasts_a_kill(self, daemon: Factory) -> None:
        running = daemon()
        client = running.connect()
        show(client, "a.md")
        paused = client.call("workspaced/pause")["paused"]
        show(client, f"{SECRET}.md")
        running.kill()
        running.start()
        client = running.connect()
        assert client.call("workspaced/status")["paused"] == paused
        assert client.tool("get_current_note")["code"] == "PAUSED"
        assert show(client, "b.md")["paused"] is True
        client.call("workspaced/resume")
        assert client.state()["activeNote"]["id"] == "b.md"
        assert on_disk(running, SECRET) == []

    def test_whose_time_ran_out_meanwhile_is_over_at_the_start(self, daemon: Factory) -> None:
        running = daemon(clocked=True)
        running.connect().call("workspaced/pause", {"forS": 3_600})
        running.kill()
        running.set_ahead(3_700)
        running.start()
        client = running.connect()
        assert client.server["paused"] is None
        assert client.tool("get_workspace_context")["success"] is True
        assert [event["type"] for event in events(client)][-1] == "pause_ended"

    def test_takes_as_long_as_was_asked_for_when_the_clock_is_set(self, daemon: Factory) -> None:
        running = daemon(clocked=True)
        client = running.connect()
        before = client.call("workspaced/pause", {"forS": 3_600})["paused"]
        running.set_ahead(86_400, 0)
        client.call("workspaced/share", {"client": "x", "level": "names"})
        after = client.call("workspaced/status")["paused"]
        assert after["until"] > before["until"] and "clock_stepped" in between(client)
        running.set_ahead(90_100, 3_700)
        following = client.events(since=0, types=["pause_ended"])
        assert next(following).params["events"][0]["type"] == "pause_ended"


@pytest.mark.fault(row=68)
class TestAgents:
    @pytest.mark.parametrize("era", ["modern", "handshake"])
    def test_get_paused_where_a_model_reads_it_and_no_notice(
        self, daemon: Factory, request: pytest.FixtureRequest, era: str
    ) -> None:
        running = daemon()
        client = running.connect()
        show(client, "a.md")
        peer = request.getfixturevalue(era)(running)
        uri = "workspace://context"
        if era == "modern":
            peer.send("subscriptions/listen", notifications={"resourceSubscriptions": [uri]})
            assert peer.notice()["method"] == "notifications/subscriptions/acknowledged"
        else:
            peer.result("resources/subscribe", uri=uri)
        client.pause()
        show(client, "b.md")
        (running.vault / "a.md").write_text("# Changed\n")
        client.call("workspaced/reconcile")
        answer = peer.call("get_current_note")
        assert answer["isError"] is True and answer["structuredContent"]["code"] == "PAUSED"
        refused = peer.error("resources/read", uri=uri)
        assert (refused["code"], refused["data"]["code"]) == (4007, "PAUSED")
        assert peer.notices_before("tools/list") == []
        assert peer.result("workspaced/status")["paused"] is not None
        client.resume()
        assert peer.notice()["method"] == "notifications/resources/updated"
        assert "b.md" in json.dumps(peer.result("resources/read", uri=uri))

    def test_of_a_framework_send_their_messages_as_they_are(
        self, daemon: Factory, caplog: pytest.LogCaptureFixture
    ) -> None:
        running = daemon()
        running.connect().pause()
        body = b'{"messages":[{"role":"user","content":"What is it?"}]}'
        assert Overlaying("test", socket=running.socket).overlay("openai", b"", body) is None
        assert "PAUSED" in caplog.text


@pytest.mark.fault(row=68)
class TestTheVault:
    def test_is_watched_and_nothing_of_it_recorded_but_renames_behind_the_pause(self, daemon: Factory) -> None:
        running = daemon()
        client = running.connect()
        show(client, "a.md")
        client.publish([{"type": "note_pinned", "data": {"note": "b.md"}}])
        client.call("workspaced/reconcile")
        client.pause()
        (running.vault / "a.md").write_text("# Changed meanwhile\n")
        (running.vault / "b.md").rename(running.vault / "moved.md")
        client.call("workspaced/reconcile")
        assert set(between(client)) <= {"note_shown"}
        client.resume()
        assert [pin["id"] for pin in client.state()["pinnedNotes"]] == ["moved.md"]
        types = [event["type"] for event in events(client)]
        assert types[types.index("pause_ended") + 1] == "note_renamed"
        assert "note_changed" not in types

    def test_still_records_that_a_note_is_withheld(self, daemon: Factory) -> None:
        running = daemon()
        client = running.connect()
        show(client, "a.md")
        following = running.connect().events(since=0, types=["note_withheld"])
        client.pause()
        (running.vault / "a.md").write_text("---\nworkspaced: private\n---\n# Private now\n")
        client.call("workspaced/reconcile")
        assert next(following).params["events"][0]["data"] == {"note": "a.md"}
        assert "note_withheld" in between(client)


# -- selections, tabs and answers that a pause overtakes --


class _Overtaken:
    """A daemon whose user pauses while a thread makes an answer."""

    def __init__(self) -> None:
        self.state = EMPTY
        self.seq = 0

    def answer(self, *_: Any, nonblocking: bool) -> str:
        if nonblocking:
            raise WouldBlock
        return "answer"

    async def run(self, function: Any, *arguments: Any) -> Any:
        made = function(*arguments)
        self.state = replace(EMPTY, paused=Pause("2026-01-01T00:00:00.000000Z"))
        return made


async def test_what_was_being_made_for_a_hook_or_a_watch_when_the_pause_began_is_not_given() -> None:
    world: Any = _Overtaken()
    recorder: Any = SimpleNamespace(record=lambda _call: None)
    calls = Calls(world, {}, world, world, world, recorder, cast(Any, None))

    for ask in (calls.call, calls.preview):
        world.state = EMPTY
        with pytest.raises(Paused):
            await ask(TOOLS["get_workspace_context"], {}, "agent")


def test_a_selection_of_an_hour_ago_is_not_told(daemon: Factory) -> None:
    running = daemon(clocked=True)
    running.reconcile()
    client = running.connect()
    client.pause()
    for kind, more in (("active_note_set", {}), ("selection_changed", {"startLine": 1, "endLine": 2})):
        client.publish([{"type": kind, "data": {"note": "a.md", **more}}], source="editor")
    running.set_ahead(3_600)
    client.resume()
    asked = {"client": "claude-code", "session": "s", "event": "UserPromptSubmit"}
    told = client.call("workspaced/volunteer", asked)["text"]
    assert "looking at: a.md" in told and "selected" not in told
