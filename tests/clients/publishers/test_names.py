"""Names of notes as files, folders and users have them: what is told, and what is told to nobody."""

import os
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest
from support.daemon import NOTES, Factory, write_vault
from support.publishers.desk import Desk, shown
from support.publishers.protocol import PublishingEditor

Desks = Callable[..., Desk]

NAMES = (
    "日本/ノート.md",
    "👩‍👩‍👧‍👦 family 🏳️‍🌈.md",
    "q\u0323\u0304 cafe\u0301.md",  # decomposed
    "a \"quote\" 'and' #1 100% $x [y] {z} `w`.md",
    "  two  spaces .md",
    "n" * 252 + ".md",
    "語" * 84 + ".md",
    "/".join(["a folder with a name of its own"] * 12) + "/note.md",
)


def test_any_name_is_told_in_its_composed_form(desk: Desks) -> None:
    here = desk()
    editor = here.editor()
    for name in NAMES:
        editor.open(here.note(name))
        editor.settled()
        assert here.shown().active == unicodedata.normalize("NFC", name)


def test_a_name_that_is_no_utf8_is_told_to_nobody(desk: Desks) -> None:
    here = desk()
    bad = Path(os.fsdecode(os.fsencode(here.vault) + b"/wrong\xff.md"))
    bad.touch()
    editor = here.showing("a.md")
    here.mark()
    if "bytes" in editor.can:
        editor.open(bad)
        editor.settled()
        assert here.shown().active in ("a.md", None), "None where what is replaced is closed"
    here.opens(editor, "b.md")
    assert [event["data"]["note"] for event in here.events("active_note_set")] == ["b.md"]
    assert here.shown().active == "b.md" and "wrong" not in str(here.events())


def test_a_file_outside_every_vault_is_told_to_nobody(desk: Desks) -> None:
    here = desk()
    beside = write_vault(here.daemon.root / "vault-beside")
    (here.vault / "leads-out.md").symlink_to(beside / "c.md")
    editor = here.showing("a.md", opened=here.daemon.root)
    here.mark()
    for path in (beside / "b.md", here.vault / "leads-out.md", beside / "work" / "plan.md"):
        editor.open(path)
        editor.settled()
    assert {event["type"] for event in here.events()} <= {"active_note_cleared"}, "a.md may be closed, no more"
    assert str((beside / "work" / "plan.md").resolve()) in editor.told()["unserved"]


def test_a_vault_above_the_opened_folder_has_its_notes(desk: Desks) -> None:
    here = desk()
    here.showing("work/plan.md", opened=here.vault / "work")
    assert here.shown().active == "work/plan.md"


@pytest.fixture
def nested(desk: Desks) -> Desk:
    """A desk whose vault lies in a folder of its own, below one that may be opened."""
    here = desk(start=False)
    here.daemon.vault = here.vault = write_vault(here.daemon.root / "documents" / "notes")
    return here


def test_a_vault_below_the_opened_folder_has_its_notes(nested: Desk) -> None:
    nested.daemon.start()
    documents = nested.vault.parent
    (documents / "outside.md").touch()
    editor = nested.showing("a.md", opened=documents)
    assert nested.shown().active == "a.md"
    editor.open(documents / "outside.md")
    editor.settled()
    assert nested.shown().active in ("a.md", None) and "outside" not in str(nested.events())


def test_of_two_vaults_of_one_daemon_each_has_its_own_notes(nested: Desk) -> None:
    other = write_vault(nested.vault.parent / "other", {"o.md": "# O\n"})
    nested.daemon.flags = ("--vault", str(other))
    nested.daemon.start()
    editor = nested.showing("a.md", opened=nested.vault.parent)
    assert nested.state()["currentVaultId"] == "notes" and nested.shown().active == "a.md"
    editor.open(other / "o.md")
    editor.settled()
    assert nested.state()["currentVaultId"] == "other" and nested.shown().active == "o.md"
    assert "o.md" not in str(nested.state("notes"))


def test_of_two_daemons_each_has_the_notes_of_its_own_vault(
    daemon: Factory, nested: Desk, kind: type[PublishingEditor]
) -> None:
    second = daemon("--workspace", "second", env={"HOME": nested.daemon.env["HOME"]}, start=False)
    second.vault = write_vault(nested.vault.parent / "other", NOTES)
    nested.daemon.start()
    second.start()
    with Desk(second, kind) as there:
        editor = nested.editor(opened=nested.vault.parent)
        editor.open(nested.vault / "a.md")
        nested.until(lambda state: shown(state).active == "a.md")
        editor.open(second.vault / "b.md")
        there.until(lambda state: shown(state).active == "b.md")
        editor.settled()
        assert "b.md" not in str(nested.events()) and "a.md" not in str(there.events())
        assert nested.shown().active in ("a.md", None), "the last note of this vault, or none: the editor's choice"
