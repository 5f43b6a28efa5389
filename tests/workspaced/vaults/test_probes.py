"""What an agent may try in order to learn of a withheld note.

Where it asks for a guessed name, nothing may change that does not change for a name that no note has.
"""

import json
import os
from collections.abc import Callable
from typing import Any

import pytest

Json = dict[str, Any]
PRIVATE = "---\nworkspaced: private\n---\n# Diary\n\nThe passphrase is xyzzy.\n"
HOME = {"Home.md": "# Home\n\nSome words.\n"}
SETTINGS = {"provider": "openai", "model": "m", "contextWindow": 100_000, "outputReserve": 1_000}
GUESSED, MISSING = "keep/Diary.md", "keep/Diarx.md"


def publish(running: Any, *actions: tuple[str, Json]) -> None:
    with running.connect("editor") as client:
        client.publish([{"type": name, "data": data} for name, data in actions])


def found_withheld(running: Any, note: str) -> list[str]:
    """The notes that the log says are withheld, once this one is among them."""
    withheld: list[str] = []
    with running.connect("person") as client:
        while note not in withheld:
            found = client.call("workspaced/log", {"from": 1, "limit": 1_000, "types": ["note_withheld"]})
            withheld = [each["data"]["note"] for each in found["events"]]
    return withheld


# -- versions under former names --


def test_of_a_note_that_left_a_denied_folder_no_version_is_looked_for_under_its_old_name(daemon: Any) -> None:
    running = daemon("--no-watch", notes={**HOME, "keep/Diary.md": "# Untitled\n", ".workspacedignore": "keep/\n"})
    publish(running, ("note_pinned", {"note": GUESSED}), ("active_note_set", {"note": "Home.md"}))
    (running.vault / "open").mkdir()
    (running.vault / GUESSED).rename(running.vault / "open" / "New.md")
    running.reconcile()
    for since in (1, 3, 4):
        answer = json.dumps(running.ask("get_note_diff", reference="open/New.md", sinceSeq=since))
        assert "Diary" not in answer and "keep/" not in answer, answer


# -- the status --

MOVING = {"uptimeS", "seq", "asOfSeq", "clock", "recording", "sharing"}
"""Of the status, what every call moves."""


def test_an_agents_status_does_not_move_with_what_was_asked_for(daemon: Any, modern: Callable[..., Any]) -> None:
    running = daemon("--no-watch", notes={**HOME, GUESSED: PRIVATE})
    running.reconcile()
    agent = modern(running)

    def status() -> Json:
        found = agent.result("workspaced/status")
        # What waits for the disk at this moment is the records of the calls themselves, of either kind.
        queues = {name: value for name, value in found["queues"].items() if not name.startswith("publish")}
        return {name: value for name, value in found.items() if name not in MOVING} | {"queues": queues}

    agent.result("tools/list")
    seen = []
    for reference in (MISSING, GUESSED, GUESSED, MISSING):
        agent.call("get_note_by_reference", reference=reference)
        seen.append(status())
    assert seen == [seen[0]] * len(seen)


# -- the clock --


def test_what_a_runtime_guesses_leaves_nothing_in_the_log_that_a_missing_name_does_not(daemon: Any) -> None:
    running = daemon(notes={**HOME, GUESSED: PRIVATE, "own.md": PRIVATE})
    running.reconcile()
    with running.connect("runtime") as client:
        client.call("workspaced/context/start", {"conversation": "c", **SETTINGS})
        attached = {"role": "user", "text": "?", "attachments": [{"kind": "note", "id": GUESSED}]}
        client.call("workspaced/context/message", {"conversation": "c", "messages": [attached]})
    publish(running, ("note_pinned", {"note": "own.md"}))
    assert found_withheld(running, "own.md") == ["own.md"]  # which was named later, by an editor


# -- what cannot be read --


@pytest.mark.parametrize("became", ["fifo", "folder", "symlink"])
def test_a_private_note_that_became_something_else_answers_as_a_missing_one(daemon: Any, became: str) -> None:
    running = daemon("--no-watch", notes={**HOME, GUESSED: PRIVATE})
    publish(running, ("note_pinned", {"note": GUESSED}), ("active_note_set", {"note": "Home.md"}))
    assert found_withheld(running, GUESSED) == [GUESSED]
    running.kill()
    file = running.vault / GUESSED
    file.unlink()
    if became == "fifo":
        os.mkfifo(file)
    elif became == "folder":
        file.mkdir()
    else:
        file.symlink_to("/etc/hostname")
    running.start()
    answers = {
        json.dumps(running.ask("get_note_by_reference", reference=name)).replace(name, "NAME")
        for name in (GUESSED, MISSING)
    }
    assert len(answers) == 1, answers


# -- a selection whose note is gone --


def test_a_selection_is_shown_only_while_its_note_can_be_read(daemon: Any) -> None:
    running = daemon("--no-watch", notes={**HOME, "Plan.md": "# Plan\n\nxyzzy\n"})
    running.reconcile()  # a note that is not known yet is recorded without the selected text
    chosen = {"note": "Plan.md", "startLine": 3, "endLine": 3, "text": "xyzzy"}
    publish(running, ("active_note_set", {"note": "Plan.md"}), ("selection_changed", chosen))
    assert "xyzzy" in json.dumps(running.ask("get_workspace_context"))
    running.stop()
    running.start()
    (running.vault / "Plan.md").write_text(PRIVATE)
    publish(running, ("selection_changed", {**chosen, "text": "the passphrase is xyzzy"}))
    running.kill()
    (running.vault / "Plan.md").unlink()
    running.start()
    for tool in ("get_workspace_context", "get_current_note"):
        assert "passphrase" not in json.dumps(running.ask(tool))
