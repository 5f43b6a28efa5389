"""Why: a note's line of life, from a life that a daemon recorded."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from support.inspector import Inspector

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


def test_a_former_path_leads_to_the_present_one(life: Any, live: Inspector) -> None:
    assert (life["path"], life["now"]) == ("work/plan.md", "work/new.md")
    assert set(life["names"]) == {"work/plan.md", "work/new.md"}
    assert live.get("/api/notes/work/new.md")["traces"] == life["traces"]


def test_each_call_names_the_agent_and_the_revision_it_read(life: Any, lived: Any) -> None:
    asked = [each for each in life["traces"] if each["kind"] == "asked"]
    assert [each["agent"] for each in asked] == ["claude", "claude"]
    assert asked[0]["sentence"] == "claude asks get_note_by_reference"
    assert asked[0]["revision"] != asked[1]["revision"] and all(each["revision"] for each in asked)
    served = [lived.call("workspaced/call", {"seq": each["seq"]})["recording"] for each in asked]
    for each, recording in zip(asked, served, strict=True):
        assert each["revision"] in str(recording)


def test_it_is_withheld_since_an_event_and_the_daemon_says_why(life: Any) -> None:
    sharing = [each["sentence"] for each in life["traces"] if each["kind"] == "sharing"]
    assert sharing[0] == "workspaced found that agents may not see work/new.md"
    assert life["present"]["withheld"] and life["present"]["reasons"]


@pytest.mark.thorough
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


def test_a_prompt_that_holds_it_is_in_it(recorded: Inspector) -> None:
    notes = recorded.get("/api/notes", limit=500)["notes"]
    lives = {note["path"]: recorded.get(f"/api/notes/{note['path']}") for note in notes}
    prompts = [(path, each) for path, life in lives.items() for each in life["traces"] if each["kind"] == "prompt"]
    prompts = [(path, each) for path, each in prompts if "(full" in each["sentence"]]
    assert prompts
    path, trace = prompts[0]
    assert trace["layer"] and trace["tokens"] > 0
    events = {each["seq"]: each for each in recorded.get("/api/events", limit=500)["events"]}
    assert events[trace["seq"]]["type"] == "prompt_assembled", path


@pytest.mark.parametrize(
    ("path", "code"),
    [("/api/notes/..%2F..%2Fetc%2Fpasswd", "OUTSIDE_VAULT"), ("/api/notes/a.md?vault=none", "INVALID_ARGUMENT")],
)
def test_what_is_no_note_is_refused(live: Inspector, path: str, code: str) -> None:
    assert live.error(path) == (400, code)
