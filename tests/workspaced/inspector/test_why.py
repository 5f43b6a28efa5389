"""Why: a note's line of life, from a life that a daemon recorded."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.daemon import clean_environment
from support.inspector import Inspector
from support.stored_logs import as_export

SECRET = "---\nworkspaced: private\n---\n# Plan\n"


@pytest.fixture(scope="module")
def lived(module_daemon: Any) -> Any:
    """A daemon whose note `work/plan.md` was looked at, read, changed, renamed and withheld."""
    running = module_daemon()
    with running.connect("editor") as editor, running.connect("claude") as claude:
        editor.publish([{"type": "active_note_set", "data": {"note": "work/plan.md"}}])
        claude.tool("get_current_note")
        editor.publish([{"type": "active_note_set", "data": {"note": "b.md"}}])
        running.add({"work/plan.md": "# Plan\n\nAnother plan.\n"})
        claude.tool("get_note_by_reference", {"reference": "work/plan.md"})
        claude.call("workspaced/calls", {"limit": 1})  # waits until the calls are recorded
        (running.vault / "work/plan.md").rename(running.vault / "work/new.md")
        editor.publish([{"type": "note_renamed", "data": {"from": "work/plan.md", "to": "work/new.md"}}])
        running.add({"work/new.md": SECRET})
    return running


@pytest.fixture(scope="module")
def live(lived: Any) -> Iterator[Inspector]:
    with Inspector("--socket", lived.socket, env=lived.env) as running:
        yield running


@pytest.fixture(scope="module")
def life(live: Inspector) -> Any:
    return live.get("/api/notes/work/plan.md")


def kinds(life: Any) -> list[str]:
    return [each["kind"] for each in life["traces"]]


def test_a_former_path_leads_to_the_present_one(life: Any, live: Inspector) -> None:
    assert (life["path"], life["now"]) == ("work/plan.md", "work/new.md")
    assert set(life["names"]) == {"work/plan.md", "work/new.md"}
    assert live.get("/api/notes/work/new.md")["traces"] == life["traces"]


def test_it_was_looked_at_until_another_note_was(life: Any) -> None:
    (looked,) = [each for each in life["traces"] if each["kind"] == "looked"]
    assert looked["sentence"] == "editor opened work/plan.md" and looked["until"] > looked["time"]


def test_each_call_names_the_agent_and_the_revision_it_read(life: Any, lived: Any) -> None:
    asked = [each for each in life["traces"] if each["kind"] == "asked"]
    assert [each["agent"] for each in asked] == ["claude", "claude"]
    assert asked[0]["sentence"] == "claude asks get_note_by_reference"
    assert asked[0]["revision"] != asked[1]["revision"] and all(each["revision"] for each in asked)
    with lived.connect() as client:
        served = [client.call("workspaced/call", {"seq": each["seq"]})["recording"] for each in asked]
    for each, recording in zip(asked, served, strict=True):
        assert each["revision"] in str(recording)


def test_it_changed_and_was_renamed(life: Any) -> None:
    words = " ".join(each["sentence"] for each in life["traces"] if each["kind"] == "file")
    assert "renamed work/plan.md to work/new.md" in words
    assert "found other text in work/plan.md" in words


def test_it_is_withheld_since_an_event_and_the_daemon_says_why(life: Any) -> None:
    sharing = [each["sentence"] for each in life["traces"] if each["kind"] == "sharing"]
    assert sharing[0] == "workspaced found that agents may not see work/new.md"
    assert life["present"]["withheld"] and life["present"]["reasons"]


def test_calls_that_asked_for_it_in_vain_are_in_it(inspect: Callable[..., Inspector], daemon: Any) -> None:
    running = daemon(notes={"hr/Salary.md": "# Salary\n", "b.md": "", ".workspacedignore": "hr/\n"})
    agent = running.connect("agent")
    names = ("hr/Salary.md", "salary", "[[Salary#June]]")
    for reference in (*names, "b.md", "none.md"):
        agent.tool("get_note_by_reference", {"reference": reference})
    assert running.stop() == 0
    refused = inspect(running.data).get("/api/notes/hr/Salary.md")["traces"]
    assert {(each["kind"], each["agent"], each["revision"]) for each in refused} == {("refused", "agent", None)}
    assert sorted(each["sentence"] for each in refused) == sorted(
        f"agent asks get_note_by_reference for {name} and gets NOTE_NOT_FOUND" for name in names
    )


def test_another_note_has_another_life(live: Inspector) -> None:
    other = live.get("/api/notes/b.md")
    assert "looked" in kinds(other)
    assert not any("plan.md" in each["sentence"] for each in other["traces"])


def test_a_prompt_and_its_citation_are_in_it(recorded: Inspector) -> None:
    notes = recorded.get("/api/notes", limit=500)["notes"]
    lives = {note["path"]: recorded.get(f"/api/notes/{note['path']}") for note in notes}
    prompts = [(path, each) for path, life in lives.items() for each in life["traces"] if each["kind"] == "prompt"]
    assert prompts
    path, trace = prompts[0]
    assert trace["layer"] and trace["tokens"] > 0
    events = {each["seq"]: each for each in recorded.get("/api/newest", limit=500)["events"]}
    assert events[trace["seq"]]["type"] == "prompt_assembled", path


def test_what_is_not_kept_is_counted_and_not_guessed(lived: Any, tmp_path: Path) -> None:
    exported = tmp_path / "log.jsonl"
    assert lived.cli("log", "export", "-o", str(exported)).returncode == 0
    with Inspector(exported, env=lived.env) as inspector:
        life = inspector.get("/api/notes/work/plan.md")
        assert life["notKept"] == 2 and "asked" not in kinds(life)
        assert life["present"] is None


def test_the_search_finds_notes_by_words_of_their_path(live: Inspector) -> None:
    found = live.get("/api/notes", query="PLAN work")
    assert [each["path"] for each in found["notes"]] == ["work/plan.md"]
    assert found["read"] == found["of"]
    assert live.get("/api/notes", query="nowhere")["notes"] == []


@pytest.mark.parametrize(
    ("path", "code"),
    [("/api/notes/..%2F..%2Fetc%2Fpasswd", "OUTSIDE_VAULT"), ("/api/notes/a.md?vault=none", "INVALID_ARGUMENT")],
)
def test_what_is_no_note_is_refused(live: Inspector, path: str, code: str) -> None:
    assert live.error(path) == (400, code)


def test_a_log_without_a_vault_says_so(tmp_path: Path) -> None:
    empty = as_export(tmp_path / "empty.jsonl", [])
    with Inspector(empty, env=clean_environment(tmp_path)) as inspector:
        assert inspector.get("/api/notes")["notes"] == []
        assert inspector.error("/api/notes/a.md") == (400, "INVALID_ARGUMENT")
        assert inspector.get("/api/agents")["agents"] == []
        assert inspector.get("/api/newest")["events"] == []
