"""Files that change their names, or go, while an editor shows them."""

from collections.abc import Callable

from support.publishers.desk import Desk, shown

Desks = Callable[..., Desk]


def test_a_pin_goes_with_its_note_also_while_no_daemon_runs(desk: Desks) -> None:
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
    here.daemon.kill()
    editor.rename(here.vault / "work" / "new.md", here.vault / "newer.md")
    here.daemon.start()
    here.until(lambda state: shown(state).pins == ["newer.md"])
    editor.settled()
    assert [event["data"]["to"] for event in here.events("note_renamed")] == ["work/new.md", "newer.md"]


def test_a_note_that_is_moved_or_deleted_by_another_program_is_shown_as_it_is_then(desk: Desks) -> None:
    here = desk()
    editor = here.showing("b.md")
    (here.vault / "b.md").rename(here.vault / "a.md")
    here.opens(editor, "a.md")
    assert here.shown().active == "a.md"
    (here.vault / "a.md").unlink()
    editor.close(here.vault / "a.md")
    here.until(lambda state: shown(state).active != "a.md")
    here.opens(editor, "c.md")
    assert here.shown().active == "c.md" and "a.md" not in here.shown().tabs
