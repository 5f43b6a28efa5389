"""The log that the demo leaves: it verifies, shows what an inspector shows, and its planted cause is true."""

import json
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from support import process
from support.daemon import clean_environment

from workspaced import replay
from workspaced.demo.morning import INSTALLED, QUESTION

KICKOFF = "projects/ferrybook/Kickoff.md"
SHOWN = """
active_note_set note_pinned pinned_notes_reordered temporary_tab_opened temporary_tab_closed selection_changed
view_opened note_changed note_withheld tool_called context_volunteered prompt_assembled context_folded
usage_reported message_added pause_started pause_ended sharing_set daemon_started daemon_stopped
"""
LETTER = "letter-to-imke"
KITCHEN = "kitchen-questions"


@pytest.fixture(scope="module")
def log() -> Iterator[replay.Log]:
    with replay.open(INSTALLED) as opened:
        yield opened


def events_of(log: replay.Log, *types: str) -> list[Any]:
    return [event for event in log.events() if event.type in types]


def printed(tmp_path: Path, *arguments: str) -> str:
    """What a command prints for a user without daemons, whose cache is in `tmp_path`."""
    env = {**clean_environment(tmp_path), "HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path), "TMPDIR": "/tmp"}
    done = process.run(*arguments, env=env, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    return done.stdout.decode()


# -- the log --


def test_every_call_and_every_prompt_is_the_same_again(log):
    outcomes = Counter(type(each).__name__ + " " + each.outcome for each in log.verify())

    assert set(outcomes) == {"Verified same", "Rebuilt same"}
    assert outcomes["Verified same"] >= 20
    assert outcomes["Rebuilt same"] == len(events_of(log, "prompt_assembled"))
    assert log.warnings == []


def test_it_is_a_small_file_about_one_morning_and_holds_what_each_view_shows(log):
    times = [datetime.fromisoformat(event.time) for event in log.events()]
    assert INSTALLED.stat().st_size < 300_000
    assert timedelta(hours=3) < times[-1] - times[0] < timedelta(hours=6)
    assert {event.type for event in log.events()} >= set(SHOWN.split())
    assert {event.data.caller for event in events_of(log, "tool_called")} == {"claude-code", "writer"}
    assert {event.data.caller for event in events_of(log, "context_volunteered")} == {"claude-code"}
    assert {event.data.conversation for event in events_of(log, "prompt_assembled")} == {LETTER, KITCHEN}
    assert {event.source for event in events_of(log, "active_note_set")} == {"obsidian", "vscode"}
    assert {call.served["code"] for call in log.calls() if not call.ok} == {
        "AMBIGUOUS_REFERENCE",
        "NOTE_NOT_FOUND",
    }
    assert [event.data.level for event in events_of(log, "sharing_set")] == ["names", "all"]
    assert [event.data.note for event in events_of(log, "note_withheld")] == ["daily/2026-04-17.md"]
    (started,), (ended,) = events_of(log, "pause_started"), events_of(log, "pause_ended")
    assert ended.seq == started.seq + 1


def test_the_providers_cache_has_hits_and_several_causes_of_a_miss(tmp_path):
    found = Counter[str]()
    for conversation in (LETTER, KITCHEN):
        shown = json.loads(printed(tmp_path, "context", "show", conversation, str(INSTALLED), "--cache", "--json"))
        found.update(prompt["cause"] or prompt["outcome"] for prompt in shown["prompts"])

    assert {"hit", "folded: budget", "provider evicted", "L1 changed: settings"} <= set(found)
    assert found["hit"] >= 3


@pytest.mark.thorough
def test_its_script_makes_the_same_events_again(log, tmp_path):
    place = Path(tempfile.mkdtemp(prefix="wsm-", dir="/tmp"))  # a socket's path is short
    script = Path(__file__).parents[3] / "docs" / "generator" / "demo_morning.py"
    made = tmp_path / "again.wsb"
    subprocess.run([sys.executable, script, "--output", made, "--place", place], check=True, timeout=120)

    with replay.open(made) as again:
        assert [named(event) for event in again.events()] == [named(event) for event in log.events()]


def named(event: Any) -> tuple[Any, ...]:
    return event.seq, event.type, event.source, event.vault


# -- the planted cause --


def shown_to_writer(tmp_path: Path, message: str) -> tuple[dict[str, Any], str]:
    """The manifest's entry of the note in the prompt for a message, and the body that was sent."""
    about = ("context", "show", LETTER, str(INSTALLED), "--message", message)
    entries = json.loads(printed(tmp_path, *about, "--manifest", "--json"))["entries"]
    (entry,) = [entry for entry in entries if entry["id"] == KICKOFF]
    return entry, printed(tmp_path, *about, "--body", "sent")


def seq_of_message(log: replay.Log, message: str) -> int:
    (found,) = [event.seq for event in events_of(log, "message_added") if event.data.message == message]
    return found


def test_the_wrong_answer_came_from_a_version_that_the_fold_took_over_and_older_than_the_notes(log, tmp_path):
    entry, body = shown_to_writer(tmp_path, "q7")
    (folded,) = events_of(log, "context_folded")
    (recorded,) = [event for event in events_of(log, "artifact_recorded") if event.data.id == KICKOFF]
    (changed,) = [event for event in events_of(log, "note_changed") if event.data.note == KICKOFF]
    (prompt,) = [event for event in events_of(log, "prompt_assembled") if event.data.message == "q7"]
    assert recorded.seq < folded.seq < changed.seq < prompt.seq < seq_of_message(log, "q7-answer")
    (taken_over,) = folded.data.library
    assert (taken_over.id, taken_over.revision) == (KICKOFF, recorded.data.revision)
    assert (entry["layer"], entry["state"]) == ("L2_PREVIOUS", "stale")
    assert entry["revision"] != changed.data.sha256
    assert "**22 June**" in body and "29 June" not in body
    _, body = shown_to_writer(tmp_path, "q8")
    answers = [each for each in json.loads(body)["messages"] if each["role"] == "assistant"]
    assert "We deliver release 1 on 22 June" in json.dumps(answers[-1])


def test_the_writer_was_told_of_the_change_in_one_line_and_did_not_read_it(log, tmp_path):
    _, body = shown_to_writer(tmp_path, "q6")
    (changed,) = [event for event in events_of(log, "note_changed") if event.data.note == KICKOFF]
    read_later = [call for call in log.calls() if call.caller == "writer" and call.seq > changed.seq]

    assert f"Changed since shown above: {KICKOFF} (+1 -1)" in body
    assert [call.tool for call in read_later] == ["get_workspace_summary"]
    assert all(call.seq > seq_of_message(log, "q8-answer") for call in read_later)


def test_the_other_agent_read_the_new_date_before_the_wrong_answer(log, tmp_path):
    asked = [call for call in log.calls() if call.arguments.get("reference") == KICKOFF and call.ok]
    dates = {
        call.seq: "29 June" in printed(tmp_path, "calls", "show", str(call.seq), str(INSTALLED), "--result")
        for call in asked
        if call.tool == "get_note_by_reference"
    }

    assert list(dates.values()) == [False, True]
    assert max(dates) < seq_of_message(log, "q7-answer")


# -- the command --


def test_the_demo_leaves_the_log_in_place_of_an_earlier_one_and_says_how_to_open_it(tmp_path):
    (tmp_path / "workspaced").mkdir()
    left = tmp_path / "workspaced" / "demo.wsb"
    left.write_text("older")
    shown = printed(tmp_path, "demo")
    assert QUESTION in shown
    (line,) = (each for each in shown.splitlines() if "Find it by clicking:" in each)
    program, *rest = line.partition(":")[2].split()
    assert rest == ["inspect", "~/workspaced/demo.wsb"]
    assert shutil.which(program), "also where no shell finds the command by its name"
    assert left.read_bytes() == INSTALLED.read_bytes() and left.stat().st_mode & 0o777 == 0o600
    assert list(left.parent.glob("[!.]*")) == [left]  # beside what Python compiled


def test_where_the_cache_cannot_be_written_to_the_installed_log_is_named(tmp_path):
    (tmp_path / "workspaced").write_text("no folder")
    said = json.loads(printed(tmp_path, "demo", "--json"))
    assert (said["log"], said["question"]) == (str(INSTALLED), QUESTION)
    assert str(tmp_path / "workspaced") in said["warnings"][0]
