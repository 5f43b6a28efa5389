"""Findings over the inspector's API: the demo's wrong answer with its cause, and logs with less to say."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from support.inspector import Inspector

from workspaced import replay
from workspaced.demo.morning import INSTALLED
from workspaced.inspector.views.findings import FindingsParameters, findings
from workspaced_events.schema.catalogue import NoteFile

KICKOFF = "projects/ferrybook/Kickoff.md"


def test_a_prompt_that_read_an_older_note_is_found_with_both_texts(morning: Inspector) -> None:
    shown = morning.get("/api/findings")
    [found] = [each for each in shown["findings"] if each["note"] == KICKOFF]
    assert found["sentence"] == f"A prompt read “22 June”; {KICKOFF} said “29 June”"
    assert (found["seq"], found["since"][:16], found["times"]) == (167, "2026-04-17T10:04", 3)
    assert found["answer"] == "Release 1 comes on 22 June."
    changed = [line for line in found["difference"][2:] if line[:1] in "+-"]
    assert [line[:1] for line in changed] == ["-", "+"]
    assert "**22 June**" in changed[0] and "**29 June**" in changed[1]
    assert [each["link"] for each in found["evidence"]] == [["prompt", "167"], ["at", "146"], ["note", KICKOFF]]


class Swept:
    """A log of which the texts of notes are not kept."""

    def __init__(self, log: replay.Log) -> None:
        self._log = log
        files = (event.data for event in log.events_of(("note_changed", "note_created")))
        self._gone = {each.sha256 for each in files if isinstance(each, NoteFile)}

    def blob(self, name: str) -> bytes | None:
        return None if name in self._gone else self._log.blob(name)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._log, name)


def test_without_the_texts_an_older_note_is_found_all_the_same() -> None:
    with replay.open(INSTALLED) as log:
        inspected: Any = SimpleNamespace(log=Swept(log))
        shown = findings(inspected, FindingsParameters()).findings
    [found] = [each for each in shown if each.note == KICKOFF]
    assert found.sentence == f"A prompt read an older version of {KICKOFF}, which said something else"
    assert found.difference == [] and found.since is not None


def test_a_prompt_without_the_note_that_a_fold_left_out_and_the_user_asks_about_is_found(
    inspect: Callable[..., Inspector], daemon: Any
) -> None:
    running = daemon(notes={"Long plan.md": "# Plan\n\n" + "Blue is the roof of house nine.\n" * 150})
    context = running.connect("runtime").context
    talk = context.start(**{**SETTINGS, "context_window": 3_000})["conversation"]
    ask(context, talk, "What does it say?", "Long plan.md")
    for number in range(2):
        ask(context, talk, f"Something else, {number}: " + "well, " * 700)
    ask(context, talk, "And the long plan?")
    ask(context, talk, "Were there long plans?")
    assert running.stop() == 0
    found = inspect(running.data).get("/api/findings")["findings"]
    assert [(each["kind"], each["sentence"]) for each in found] == [
        ("folded", "The user asked about Long plan.md, which a compaction had left out of the prompt")
    ]
    assert [each["link"][0] for each in found[0]["evidence"]] == ["prompt", "prompt", "note"]


SETTINGS = {"provider": "anthropic", "model": "m", "context_window": 50_000, "output_reserve": 500}


def ask(context: Any, talk: str, text: str, *notes: str) -> None:
    attached = [{"kind": "note", "id": note} for note in notes]
    context.message(talk, {"role": "user", "text": text, "attachments": attached})
    context.assemble(talk)
    context.message(talk, {"role": "assistant", "text": "Yes."})


def test_a_log_in_which_nothing_went_wrong_has_none(inspect: Callable[..., Inspector], daemon: Any) -> None:
    running = daemon(notes={"plan.md": "# Plan\n"})
    running.connect("agent").tool("get_note_by_reference", {"reference": "plan.md"})
    assert running.stop() == 0
    assert inspect(running.data).get("/api/findings") == {"findings": [], "leftOut": 0, "searchedFrom": None}


def test_a_note_that_is_withheld_while_the_user_looks_at_it_is_found(
    inspect: Callable[..., Inspector], daemon: Any
) -> None:
    private = "---\nworkspaced: private\n---\n"
    running = daemon(notes={"pay.md": "# Pay\n", "other.md": "# Other\n", "never.md": private})
    client = running.connect("editor")
    client.publish([{"type": "note_pinned", "data": {"note": "other.md"}}])
    for note in ("never.md", "pay.md"):
        client.publish([{"type": "active_note_set", "data": {"note": note}}])
        client.call("workspaced/reconcile")
    for name in ("pay.md", "other.md"):
        (running.vault / name).write_text(private)
    client.call("workspaced/reconcile")
    assert running.stop() == 0
    pay, never = inspect(running.data).get("/api/findings")["findings"]
    assert pay["sentence"] == "pay.md was withheld from agents while the user looked at it"
    assert pay["evidence"][0]["link"] == ["at", str(pay["seq"])]
    assert never["sentence"] == "The user looked at never.md, which is withheld from agents"


def test_a_note_that_a_rule_withholds_is_found_by_the_calls_that_were_not_told_of_it(
    inspect: Callable[..., Inspector], daemon: Any
) -> None:
    running = daemon(notes={"hr/Salary.md": "# Salary\n", ".workspacedignore": "hr/\n"})
    running.connect("editor").publish([{"type": "active_note_set", "data": {"note": "hr/Salary.md"}}])
    agent = running.connect("agent")
    agent.tool("get_workspace_context", {})
    agent.tool("get_current_note", {})
    agent.tool("search_workspace", {"query": "pay"})
    agent.tool("get_current_note", {"maxContentLength": -1})
    assert running.stop() == 0
    every = inspect(running.data).get("/api/findings")["findings"]
    wrong, none_active = [each for each in every if each["kind"] == "failedCall"]
    [found] = [each for each in every if each["kind"] == "withheldNote"]
    assert wrong["sentence"].endswith("INVALID_ARGUMENT") and none_active["seq"] == found["seq"]
    assert found["sentence"] == "agent was not told that the user looked at hr/Salary.md: a rule withholds it"
    assert found["times"] == 2
    assert [each["link"] for each in found["evidence"]] == [["call", str(found["seq"])], ["note", "hr/Salary.md"]]
