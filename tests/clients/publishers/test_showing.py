"""What one editor shows, each situation for every editor: the log of a real daemon has it, and nothing more."""

import time
from collections.abc import Callable

import pytest
from support.publishers.desk import Desk

Desks = Callable[..., Desk]

COALESCE_S = 0.025
"""No editor tells more often."""


def test_each_note_that_is_opened_is_active_by_one_event_and_nothing_done_is_nothing_told(desk: Desks) -> None:
    here = desk()
    editor = here.showing("a.md")
    assert here.shown().active == "a.md"
    here.opens(editor, "b.md")
    here.mark()
    for name in ("a.md", "b.md", "a.md"):
        here.opens(editor, name)
    for _ in range(3):
        editor.settled()
    assert [event["data"]["note"] for event in here.events("active_note_set")] == ["a.md", "b.md", "a.md"]
    assert {event["type"] for event in here.events()} == {"active_note_set"}
    [told] = editor.told()["daemons"]
    assert told["socket"] == str(here.daemon.socket)
    assert [(vault["path"], vault["active"]) for vault in told["vaults"]] == [(str(here.vault.resolve()), "a.md")]


def test_an_editor_that_the_user_has_left_still_tells_what_it_shows(desk: Desks) -> None:
    here = desk()
    editor = here.showing("a.md", "focus")
    editor.blur()
    editor.settled()
    assert here.shown().active == "a.md"
    here.opens(editor, "b.md")
    assert here.shown().active == "b.md"
    editor.close(here.vault / "b.md")
    editor.close(here.vault / "a.md")
    editor.settled()
    assert here.shown().active is None


def test_notes_shown_side_by_side_are_tabs_and_the_one_in_focus_is_active(desk: Desks) -> None:
    here = desk()
    editor = here.editor("split")
    editor.open(here.vault / "a.md")
    editor.split(here.vault / "b.md")
    editor.settled()
    assert here.shown().active == "b.md" and "a.md" in here.shown().tabs
    editor.close(here.vault / "b.md")
    editor.settled()
    assert here.shown().active == "a.md" and "b.md" not in here.shown().tabs
    editor.close(here.vault / "a.md")
    editor.settled()
    assert here.shown() == (None, [], [])


def test_a_note_is_pinned_and_unpinned(desk: Desks) -> None:
    here = desk()
    editor = here.editor("pin")
    editor.open(here.vault / "a.md")
    editor.pin(here.vault / "a.md")
    editor.settled()
    assert (here.shown().active, here.shown().pins) == ("a.md", ["a.md"])
    here.opens(editor, "b.md")
    assert (here.shown().active, here.shown().pins) == ("b.md", ["a.md"])
    editor.unpin(here.vault / "a.md")
    editor.settled()
    assert here.shown().pins == []
    types = [event["type"] for event in here.events("note_pinned", "note_unpinned")]
    assert types == ["note_pinned", "note_unpinned"]


def test_of_a_selection_too_long_to_tell_there_are_the_lines_alone(desk: Desks) -> None:
    here = desk(notes={"a.md": "a line of some length\n" * 20_000})
    editor = here.showing("a.md", "selection")
    editor.select(here.vault / "a.md", 1, 20_000)
    here.until(lambda state: state["selection"] is not None)
    selected = here.state()["selection"]
    assert (selected["startLine"], selected["endLine"]) == (1, 20_000)
    assert not selected.get("text") and not selected.get("textSha256")


@pytest.mark.thorough
def test_a_thousand_switches_in_a_moment_are_few_events_and_end_right(desk: Desks) -> None:
    here = desk(notes={f"n{number:02}.md": "x\n" for number in range(20)})
    editor = here.showing("n00.md")
    here.mark()
    began = time.monotonic()
    editor.burst([here.vault / f"n{number % 20:02}.md" for number in range(1_000)])
    here.opens(editor, "n07.md")
    took_s = time.monotonic() - began
    assert here.shown().active == "n07.md"
    assert len(here.events()) <= took_s / COALESCE_S + 5


def test_a_pause_leaves_nothing_of_it_and_its_end_tells_the_present(desk: Desks) -> None:
    here = desk()
    editor = here.showing("a.md", "pause")
    editor.pause()
    here.mark()
    here.opens(editor, "b.md")
    here.opens(editor, "c.md")
    assert here.events() == [] and here.shown().active == "a.md"
    editor.resume()
    editor.settled()
    assert here.shown().active == "c.md"
    assert "b.md" not in [event["data"]["note"] for event in here.events("active_note_set")]


PRIVATE = {"a.md": "# A\n", "secret.md": "---\nworkspaced: private\n---\nwhat nobody may see\n"}


def test_a_withheld_note_is_recorded_and_shown_to_no_agent(desk: Desks) -> None:
    here = desk(notes=PRIVATE)
    editor = here.showing("a.md", "selection")
    editor.open(here.vault / "secret.md")
    editor.select(here.vault / "secret.md", 4, 4)
    editor.settled()
    assert here.shown().active == "secret.md"
    answers = [here.client.tool("get_current_note"), here.client.tool("get_workspace_context")]
    assert "secret" not in str(answers) and "nobody may see" not in str(answers)
    assert "nobody may see" not in str(here.events())
