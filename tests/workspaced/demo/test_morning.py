"""The log that the demo leaves: it verifies, shows what an inspector shows, and its planted cause is true."""

import json
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support import process
from support.daemon import clean_environment

from workspaced import replay
from workspaced.demo.morning import INSTALLED, QUESTION

KICKOFF = "projects/ferrybook/Kickoff.md"
LETTER = "letter-to-imke"


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
