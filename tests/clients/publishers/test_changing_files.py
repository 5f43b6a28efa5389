"""Files that change their names, or go, while an editor shows them."""

from collections.abc import Callable

from support.publishers.desk import Desk, shown

Desks = Callable[..., Desk]


def test_a_note_renamed_in_the_editor_is_the_same_note(desk: Desks) -> None:
    here = desk("--no-watch")  # so that nobody but the editor tells
    editor = here.showing("a.md", "rename")
    editor.rename(here.vault / "a.md", here.vault / "new.md")
    here.until(lambda state: shown(state).active == "new.md")
    editor.settled()
    renames = [event["data"] for event in here.events("note_renamed")]
    assert renames == [{"from": "a.md", "to": "new.md"}]
    assert here.shown().active == "new.md" and "a.md" not in here.shown().tabs


def test_a_pin_goes_with_its_note(desk: Desks) -> None:
    here = desk("--no-watch")
    editor = here.editor("rename", "pin")
    editor.open(here.vault / "a.md")
    editor.pin(here.vault / "a.md")
    editor.settled()
    editor.rename(here.vault / "a.md", here.vault / "work" / "new.md")
    here.until(lambda state: shown(state).pins == ["work/new.md"])
    editor.settled()
    assert (here.shown().active, here.shown().pins) == ("work/new.md", ["work/new.md"])
    assert here.events("note_unpinned") == []


def test_a_rename_while_no_daemon_runs_is_told_once_one_does(desk: Desks) -> None:
    here = desk("--no-watch")
    editor = here.showing("a.md", "rename")
    here.daemon.kill()
    editor.rename(here.vault / "a.md", here.vault / "new.md")
    here.daemon.start()
    here.until(lambda state: shown(state).active == "new.md")
    editor.settled()
    assert [event["data"] for event in here.events("note_renamed")] == [{"from": "a.md", "to": "new.md"}]


def test_a_note_moved_by_another_program_is_shown_under_its_new_name(desk: Desks) -> None:
    here = desk()
    editor = here.showing("a.md")
    (here.vault / "a.md").rename(here.vault / "moved.md")
    editor.open(here.vault / "moved.md")
    here.until(lambda state: shown(state).active == "moved.md")
    editor.settled()
    assert here.shown().active == "moved.md"


def test_a_note_that_is_deleted_while_it_is_shown_goes_with_its_pane(desk: Desks) -> None:
    here = desk()
    editor = here.showing("a.md")
    (here.vault / "a.md").unlink()
    editor.close(here.vault / "a.md")
    here.until(lambda state: shown(state).active is None)
    here.opens(editor, "b.md")
    assert here.shown().active == "b.md" and "a.md" not in here.shown().tabs
