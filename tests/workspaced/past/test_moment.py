"""A daemon that stands at a moment: what it takes, what it keeps from agents, and what it never does."""

import json
import os
import shutil
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from support import process
from support.daemon import Factory, clean_environment, refusal
from support.past import past

from workspaced import replay
from workspaced.demo.morning import INSTALLED
from workspaced.past.recorded_log import RecordedLog
from workspaced_events.log.lock import LogLock
from workspaced_events.replay import kept_folds
from workspaced_events.replay.open import open_source

NOTES = {"a.md": "# Alpha\n\nThe first.\n", "b.md": "# Beta\n\nThe second.\n", "secret.md": "# Falke\n\nHidden.\n"}
PRIVATE = "---\nworkspaced: private\n---\n"
CHANGES: dict[str, dict[str, Any]] = {
    "workspaced/judge": {"of": 1, "verdict": "right"},
    "workspaced/publish": {"actions": [{"type": "active_note_set", "data": {"note": "b.md"}}]},
    "workspaced/snapshot": {"source": "editor", "active": "b.md", "tabs": [], "pins": []},
    "workspaced/pause": {},
    "workspaced/resume": {},
    "workspaced/share": {"client": "agent", "level": "none"},
    "workspaced/share/accept": {"vault": "vault"},
    "workspaced/memory/undo": {"seq": 1},
    "workspaced/link/leave": {},
}


def look_at(editor: Any, note: str) -> int:
    """The user opens a note; the sequence of that."""
    receipts = editor.publish([{"type": "active_note_set", "data": {"note": note}}])
    seq: int = receipts[-1]["seq"]
    return seq


def last_call(client: Any) -> int:
    seq: int = client.call("workspaced/calls", {"limit": 1})["calls"][-1]["seq"]
    return seq


@pytest.fixture(scope="module")
def lived(module_daemon: Factory) -> dict[str, Any]:
    """A log and its moments: `a` is open, then `secret`, which an agent reads; it is withheld; a session is
    told of `b`; `secret` is withheld no more."""
    running = module_daemon(notes=NOTES)
    moments: dict[str, Any] = {}
    with running.connect("editor") as editor, running.connect("agent") as agent:
        moments["a open"] = look_at(editor, "a.md")
        agent.tool("get_current_note")
        look_at(editor, "secret.md")
        agent.tool("get_current_note")
        moments["secret read"] = last_call(agent)
        (running.vault / "secret.md").write_text(PRIVATE + NOTES["secret.md"])
        editor.call("workspaced/reconcile")
        agent.tool("get_current_note")
        agent.tool("get_workspace_context")
        moments["secret withheld"] = last_call(agent)
        moments["b open"] = look_at(editor, "b.md")
        told = {"client": "agent", "session": "s", "event": "UserPromptSubmit"}
        offered = editor.call("workspaced/volunteer", told)
        editor.call("workspaced/volunteer/confirm", {"token": offered["token"]})
        moments["text"] = offered["text"]
        moments["told"] = last_call(agent)
        moments["log"] = running.data
        moments["end"] = look_at(editor, "a.md")
        (running.vault / "secret.md").write_text(NOTES["secret.md"])
        editor.call("workspaced/reconcile")
        shown = agent.tool("get_note_by_reference", {"reference": "secret.md"})
        assert shown["data"]["title"] == "Falke"
    assert running.stop() == 0
    with replay.open(running.data) as opened:
        moments["finding"] = next(opened.events_of(("note_withheld",))).seq
    return moments


def test_changes_are_refused_for_good_and_nothing_of_the_log_changes(
    lived: dict[str, Any], tmp_path: Path
) -> None:
    log = tmp_path / "data"
    shutil.copytree(lived["log"], log)
    before = {path: path.read_bytes() for path in log.rglob("*") if path.is_file()}
    with past(log, lived["a open"]) as then, then.connect() as client:
        assert then.told("agent", "get_current_note")["data"]["title"] == "Alpha"
        for method, given in CHANGES.items():
            error = refusal(client.call, method, given)
            assert error.code == "READ_ONLY" and error.details.get("retryable") is False, method
        assert client.call("workspaced/state", {})["state"]["activeNote"]["id"] == "a.md"
        assert then.stop() == 0
    assert {path: path.read_bytes() for path in log.rglob("*") if path.is_file()} == before


def test_a_note_that_was_withheld_then_is_withheld(lived: dict[str, Any]) -> None:
    """As a log and as a bundle. Before, it is told as it was."""
    log = lived["log"]
    bundle = log.parent / "bug.wsb"
    made = process.run("bundle", "-o", bundle, "--from", str(lived["secret read"]), "--data-dir", log)
    assert made.returncode == 0, made.stderr
    asked = [("get_note_by_reference", {"reference": "secret.md"}), ("get_workspace_context", {})]
    asked += [
        ("get_current_note", {}),
        ("get_note_diff", {"reference": "secret.md"}),
        ("get_workspace_summary", {}),
    ]
    for place in (log, bundle):
        with past(place, lived["secret withheld"]) as then:
            answers = [then.ask(who, tool, **given) for who in ("agent", "other") for tool, given in asked]
            stranger = then.told("stranger", "get_note_by_reference", reference="what nobody asked")
            assert stranger["code"] == "NOT_RECORDED" and "secret" not in json.dumps(stranger)
            with then.connect() as client:
                hook = {"client": "agent", "session": "new", "event": "UserPromptSubmit"}
                answers.append(json.dumps(client.call("workspaced/volunteer", hook)).encode())
        assert not [each for each in answers if b"Falke" in each or b"Hidden" in each]
        assert b"secret.md" not in answers[1] and b"secret.md" not in answers[-1]
    with past(bundle, lived["secret read"]) as then:
        assert then.told("other", "get_current_note")["data"]["title"] == "Falke"


def test_a_bundle_withholds_the_notes_that_it_holds(lived: dict[str, Any]) -> None:
    """Though no call in it was made after the note was withheld."""
    log = lived["log"]
    bundle = log.parent / "short.wsb"
    part = ("--from", str(lived["secret read"]), "--to", str(lived["finding"]))
    made = process.run("bundle", "-o", bundle, *part, "--data-dir", log)
    assert made.returncode == 0, made.stderr
    with past(bundle) as then:
        told = then.ask("other", "get_note_by_reference", reference="secret.md")
        assert b"Falke" not in told and b"Hidden" not in told
        assert b"Falke" not in then.ask("other", "get_current_note")


def test_what_came_later_cannot_be_asked_about(lived: dict[str, Any]) -> None:
    with past(lived["log"], lived["finding"]) as then:
        before = then.told("other", "get_current_note", at=lived["a open"])
        assert before["data"]["title"] == "Alpha"
        for later in (lived["b open"], lived["end"]):
            told = then.told("other", "get_current_note", at=later)
            assert (told["success"], told["code"]) == (False, "INVALID_ARGUMENT")
        with then.connect() as client:
            assert refusal(client.call, "workspaced/state", {"at": lived["end"]}).code == "INVALID_ARGUMENT"


def test_a_session_is_told_what_it_was_not_told_before(lived: dict[str, Any]) -> None:
    hook = {"client": "agent", "event": "UserPromptSubmit"}
    with past(lived["log"], lived["end"]) as then, then.connect() as client:
        known = client.call("workspaced/volunteer", {**hook, "session": "s"})
        unknown = client.call("workspaced/volunteer", {**hook, "session": "new"})
        assert "a.md" in known["text"] and "vault:" not in known["text"]
        assert "a.md" in unknown["text"] and "vault:" in unknown["text"]
        assert client.call("workspaced/volunteer/confirm", {"token": known["token"]})["recorded"] is True
        again = client.call("workspaced/volunteer", {**hook, "session": "s"})
        assert (again["text"], again["reason"]) == (None, "nothingNew")
        assert then.stop() == 0
        with replay.open(then.run) as run:
            (told,) = run.calls()
            assert told.event.type == "context_volunteered" and told.verify().outcome == "same"
    with replay.open(lived["log"]) as opened:
        assert opened.counts()["context_volunteered"] == 1


def test_a_chat_through_a_proxy_is_new_there_and_a_prompt_is_assembled_from_the_moment(
    lived: dict[str, Any],
) -> None:
    asked = {"form": "openai", "turns": [{"key": "1" * 64, "near": "2" * 64}], "open": True, "chat": "3" * 64}
    with past(lived["log"], lived["a open"]) as then, then.connect("agent") as client:
        (inserted,) = client.call("workspaced/context/overlay", asked)["insertions"]
        assert "looking at: a.md" in inserted["text"]
        talk = {"conversation": "talk"}
        settings = {"provider": "anthropic", "model": "m", "contextWindow": 100_000, "outputReserve": 1_000}
        client.call("workspaced/context/start", {**talk, **settings})
        attached = [{"kind": "note", "id": "a.md"}]
        message = {"id": "m", "role": "user", "text": "What is it?", "attachments": attached}
        client.call("workspaced/context/message", {**talk, "messages": [message]})
        assembled = client.call("workspaced/context/assemble", {**talk, "shape": "anthropic"})
        assert "The first." in json.dumps(assembled)
        assert then.stop() == 0
        with replay.open(then.run) as run:
            assert [each.outcome for each in run.verify()] == ["same"]


def test_a_conversation_goes_on_and_its_prompt_verifies_without_the_other_log() -> None:
    with past(INSTALLED, 162) as then, then.connect("writer") as client:
        made = client.call("workspaced/context/assemble", {"conversation": "letter-to-imke"})
        assert "when do we deliver release 1?" in json.dumps(made)
        assert then.stop() == 0
        with replay.open(then.run) as run:
            assert [each.outcome for each in run.verify()] == ["same"]
            (prompt,) = run.prompts()
            assert "**22 June**" in prompt.text()
        # Though the whole text of a note that stood there is only in the other log.
        assert then.cli("replay", str(then.run), "--prompt", str(prompt.seq)).returncode == 0


@pytest.mark.parametrize("at", [None, 120])
def test_any_state_up_to_the_moment_is_that_of_the_log(monkeypatch: pytest.MonkeyPatch, at: int | None) -> None:
    monkeypatch.setattr(kept_folds, "STATE_STRIDE_EVENTS", 7)
    with open_source(INSTALLED) as source, replay.open(INSTALLED) as log:
        stands = RecordedLog(source, at)
        assert stands.start.state == log.state_at(stands.here.seq)
        for seq in range(stands.here.seq + 1):
            assert stands.state_at(seq) == log.state_at(seq), seq


def test_a_run_goes_if_nothing_was_asked_in_it_or_long_ago(lived: dict[str, Any]) -> None:
    with past(lived["log"], lived["secret read"]) as then:
        empty = then.run
        assert empty.is_dir() and then.stop() == 0 and not empty.exists()
        asked: list[Path] = []
        for _ in range(2):
            then.stderr.clear()
            then.start()
            then.ask("agent", "get_current_note")
            asked.append(then.run)
            assert then.stop() == 0
        young, old = asked
        for path in (old / "log", *(old / "log").iterdir()):
            os.utime(path, (0, 0))
        with closing(LogLock(old)):  # as a daemon that serves it
            then.start()
            assert old.exists() and then.stop() == 0
        then.start()
        assert young.exists() and not old.exists()


def test_a_run_is_no_log_to_forget_in_and_is_shared_without_words(lived: dict[str, Any]) -> None:
    with past(lived["log"], lived["secret read"]) as then:
        then.ask("agent", "get_current_note")
        assert then.stop() == 0
        run = ("--data-dir", str(then.run))
        forgotten = then.cli("forget", "secret.md", *run)
        assert forgotten.returncode == 2 and "remove its whole directory" in forgotten.stderr
        assert then.cli("log", "verify", *run).returncode == 0
        shared = then.root / "shared.wsb"
        assert then.cli("bundle", "-o", str(shared), "--redact", *run).returncode == 0
        with replay.open(shared) as opened:
            (call,) = opened.calls()
            assert call.verify().outcome == "same"
            assert "Falke" not in json.dumps(call.served)


def test_memory_takes_nothing(module_daemon: Factory) -> None:
    running = module_daemon("--memory", "Memory", notes=NOTES)
    with running.connect("agent") as agent:
        agent.tool("memory", {"command": "view", "path": "/memories"})
        seq = last_call(agent)
    assert running.stop() == 0
    with past(running.data, seq) as then:
        assert then.told("agent", "memory", command="view", path="/memories")["success"] is True
        written = then.told("agent", "memory", command="create", path="/memories/x.md", file_text="x")
        assert (written["success"], written["code"]) == (False, "READ_ONLY")


WRONG: dict[str, tuple[tuple[str, ...], int, str]] = {
    "no such log": (("serve", "--replay", "LOG/none.wsb"), 2, "INVALID_ARGUMENT"),
    "no such event": (("mcp", "--replay", "LOG", "--at", "99999"), 2, "INVALID_ARGUMENT"),
    "a time to come": (("serve", "--replay", "LOG", "--at", "2999-01-01T00:00:00Z"), 2, "INVALID_ARGUMENT"),
    "a broken bundle": (("mcp", "--replay", "BROKEN"), 4, "LOG_DAMAGED"),
    "the name of a workspace": (("serve", "--replay", "LOG", "--workspace", "default"), 2, "INVALID_ARGUMENT"),
    "the name of an agent's": (
        ("mcp", "--replay", "LOG", "--workspace", "x"),
        2,
        "only --at and --tools go with it",
    ),
    "folders too": (("serve", "--replay", "LOG", "--vault", "."), 2, "do not go with it"),
    "an agent's folders": (("mcp", "--replay", "LOG", "--vault", "."), 2, "only --at and --tools go with it"),
    "a moment of the present": (("serve", "--at", "3"), 2, "--at goes with --replay"),
    "an agent's present": (("mcp", "--at", "3"), 2, "--at goes with --replay"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_what_cannot_be_served_is_said(lived: dict[str, Any], tmp_path: Path, wrong: str) -> None:
    arguments, code, said = WRONG[wrong]
    broken = tmp_path / "broken.wsb"
    broken.write_bytes(b"PK" + bytes(100))
    given = [each.replace("LOG", str(lived["log"])).replace("BROKEN", str(broken)) for each in arguments]
    done = process.run(*given, env=clean_environment(tmp_path))
    assert done.returncode == code, done.stderr
    assert said in done.stderr.decode()
