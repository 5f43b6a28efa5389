"""`workspaced/withheld`: how far notes may go, as the gate of the tools decides it for every path of the log."""

from typing import Any

import pytest
from support.daemon import Factory, refusal

import workspaced.replay
from workspaced import SyncClient

NOTES = {
    "a.md": "# A\n",
    "keep/plan.md": "# Kept\n",
    "keep-asked/plan.md": "# Kept\n",
    "secret.md": "---\nworkspaced: private\n---\n# Secret\n",
    "asked.md": "---\nworkspaced: on-request\n---\n# Asked\n",
    ".workspacedignore": "keep/\n",
}


@pytest.fixture
def client(daemon: Factory) -> SyncClient:
    return daemon("--on-request", "keep-asked/", notes=NOTES).connect("inspector")


def levels(client: SyncClient, *notes: str, **more: Any) -> dict[str, tuple[str, bool]]:
    answer = client.call("workspaced/withheld", {"notes": list(notes), **more})
    assert [each["path"] for each in answer["notes"]] == list(notes)
    return {each["path"]: (each["level"], each["known"]) for each in answer["notes"]}


def look_at(client: SyncClient, note: str) -> None:
    client.publish([{"type": "active_note_set", "data": {"note": note}}])


def test_rules_front_matter_and_levels_count(client: SyncClient) -> None:
    assert levels(client, *(note for note in NOTES if note.endswith(".md"))) == {
        "a.md": ("volunteer", True),
        "keep/plan.md": ("never", True),
        "keep-asked/plan.md": ("on-request", True),
        "secret.md": ("never", True),
        "asked.md": ("on-request", True),
    }


def test_what_is_not_known_is_withheld(client: SyncClient) -> None:
    assert levels(client, "nowhere.md", "keep/nowhere.md") == {
        "nowhere.md": ("never", False),
        "keep/nowhere.md": ("never", True),
    }


def test_it_says_what_why_says(client: SyncClient) -> None:
    for note, (level, _known) in levels(client, "a.md", "keep/plan.md", "secret.md", "asked.md").items():
        assert client.call("workspaced/share/why", {"path": note})["level"] == level


def test_why_names_a_flag_that_is_not_understood(daemon: Factory) -> None:
    client = daemon(notes={**NOTES, "odd.md": "---\ntitle: x\nworkspaced: privat\n---\n"}).connect()
    answer = client.call("workspaced/share/why", {"path": "odd.md"})
    assert answer["level"] == "never"
    [reason] = answer["reasons"]
    assert "line 3" in reason["detail"] and "privat" in reason["detail"] and "not understood" in reason["detail"]


def test_a_note_is_withheld_from_the_moment_its_file_says_so(daemon: Factory) -> None:
    running = daemon(notes=NOTES)
    client = running.connect()
    look_at(client, "a.md")
    assert levels(client, "a.md") == {"a.md": ("volunteer", True)}
    (running.vault / "a.md").write_text(NOTES["secret.md"])
    assert levels(client, "a.md") == {"a.md": ("never", True)}
    (running.vault / ".workspacedignore").write_text("asked.md\n")
    assert levels(client, "asked.md") == {"asked.md": ("never", True)}


def test_a_deleted_private_note_stays_withheld_and_a_deleted_shown_one_does_not(daemon: Factory) -> None:
    running = daemon(notes=NOTES)
    client = running.connect()
    for note in ("secret.md", "a.md"):
        look_at(client, note)
        levels(client, note)
        client.call("workspaced/reconcile")
    for note in ("secret.md", "a.md"):
        (running.vault / note).unlink()
    client.call("workspaced/reconcile")
    assert levels(client, "secret.md", "a.md") == {"secret.md": ("never", True), "a.md": ("volunteer", True)}


def test_a_former_path_is_withheld_with_its_note(client: SyncClient) -> None:
    client.publish([{"type": "note_renamed", "data": {"from": "old.md", "to": "secret.md"}}])
    client.publish([{"type": "note_renamed", "data": {"from": "older.md", "to": "a.md"}}])
    assert levels(client, "old.md", "older.md") == {"old.md": ("never", True), "older.md": ("volunteer", True)}


def test_a_question_leaves_no_event(daemon: Factory) -> None:
    running = daemon(notes=NOTES)
    levels(running.connect(), "a.md", "secret.md", "nowhere.md")
    running.stop()
    with workspaced.replay.open(running.data) as log:
        assert not {"note_shown", "note_withheld"} & {event.type for event in log.events()}


def test_a_client_that_is_shown_nothing_may_ask(client: SyncClient) -> None:
    client.call("workspaced/share", {"client": "inspector", "level": "none"})
    assert levels(client, "a.md") == {"a.md": ("volunteer", True)}


@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({"notes": ["../a.md"]}, "OUTSIDE_VAULT"),
        ({"notes": [""]}, "INVALID_ARGUMENT"),
        ({"notes": ["a.md"] * 1_001}, "INVALID_ARGUMENT"),
        ({"notes": ["a" * 1_025]}, "INVALID_ARGUMENT"),
        ({"notes": "a.md"}, "INVALID_ARGUMENT"),
        ({"notes": [7]}, "INVALID_ARGUMENT"),
        ({}, "INVALID_ARGUMENT"),
        ({"notes": ["a.md"], "vault": "nowhere"}, "INVALID_ARGUMENT"),
    ],
)
def test_a_bad_question_is_refused(client: SyncClient, params: dict[str, Any], code: str) -> None:
    assert refusal(client.call, "workspaced/withheld", params).code == code


def test_a_thousand_notes_are_answered_at_once(client: SyncClient) -> None:
    notes = [f"nowhere {number}.md" for number in range(999)]
    assert len(levels(client, "a.md", *notes)) == 1_000
