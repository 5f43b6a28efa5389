"""Which notes that are gone are the ones that are new: the evidence, and what a vault tells."""

import os
import shutil
from collections.abc import Callable

import pytest
from support.tool_fixtures import MakeVault

from workspaced_events.ids import NoteId
from workspaced_tools.notes.note import StatKey
from workspaced_tools.vault.index.changes import Changes, renames
from workspaced_tools.vault.index.entries import IndexEntry, Withheld
from workspaced_tools.vault.vault import Vault

EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def entry(
    path: str,
    *,
    inode: int = 1,
    text: str = "one",
    title: str | None = None,
    named: str | None = None,
    mtime_ns: int = 5,
    size: int = 3,
    device: int = 9,
    withheld: Withheld = Withheld.NO,
) -> IndexEntry:
    return IndexEntry(
        id=NoteId(path),
        title=path.rpartition("/")[2].removesuffix(".md") if title is None else title,
        front_matter_id=named,
        stat=StatKey(device, inode, size, mtime_ns, 7),
        sha256=text.encode().hex().ljust(64, "0") if text else EMPTY,
        withheld=withheld,
    )


OLD = entry("a.md", title="Title", named="n-1")
ONE_TO_ONE = {
    "the file, unwritten": (entry("b.md"), True),
    "the file, unwritten, though its bytes were never the same": (entry("b.md", text="two"), True),
    "the file, edited, with its title": (entry("b.md", text="two", mtime_ns=6, title="Title"), True),
    "the file, edited, with its id": (entry("b.md", text="two", mtime_ns=6, named="n-1"), True),
    "the bytes": (entry("b.md", inode=2, device=8, mtime_ns=6), True),
    "a number used again": (entry("b.md", text="two", mtime_ns=6), False),
    "a number used again by a file as large": (entry("b.md", text="two", mtime_ns=6, size=3), False),
    "the number on another disk": (entry("b.md", text="two", device=8, title="Title"), False),
    "a title alone": (entry("b.md", inode=2, text="two", title="Title"), False),
    "an id alone": (entry("b.md", inode=2, text="two", named="n-1"), False),
    "a title of a withheld note": (
        entry("b.md", text="two", mtime_ns=6, title="", withheld=Withheld.BY_RULE),
        False,
    ),
    "nothing": (entry("b.md", inode=2, text="two", mtime_ns=6), False),
}


@pytest.mark.parametrize("evidence", ONE_TO_ONE)
def test_evidence_decides_and_an_inode_alone_is_none(evidence: str) -> None:
    new, is_rename = ONE_TO_ONE[evidence]
    assert renames([OLD], [new]) == ([("a.md", "b.md")] if is_rename else [])


def test_the_name_of_a_file_a_withheld_title_and_no_bytes_are_no_evidence() -> None:
    assert renames([entry("a.md")], [entry("b.md", text="two", mtime_ns=6, title="a")]) == []
    old = entry("a.md", title="", withheld=Withheld.PRIVATE)
    new = entry("b.md", title="", withheld=Withheld.PRIVATE, text="two", mtime_ns=6)
    assert renames([old], [new]) == []
    assert renames([entry("a.md", text="", size=0)], [entry("x/a.md", text="", size=0, inode=2)]) == []


def test_of_several_equal_notes_the_file_name_tells_which_and_without_it_none_is_guessed() -> None:
    gone = [entry(f"old/{name}.md", inode=number) for number, name in enumerate("abc")]
    moved = [entry(f"new/{name}.md", inode=number) for number, name in enumerate("abd", start=10)]
    assert renames(gone, moved) == [("old/a.md", "new/a.md"), ("old/b.md", "new/b.md")]
    others = [entry(f"new/{name}.md", inode=number) for number, name in enumerate("xyz", start=10)]
    assert renames(gone, others) == []
    assert renames(gone[:1], others) == []
    assert renames(gone, others[:1]) == []


def test_stronger_evidence_comes_first_and_no_note_is_in_two_pairs() -> None:
    gone = [entry("a.md", inode=1), entry("b.md", inode=2, text="two")]
    new = [entry("c.md", inode=1, text="two"), entry("d.md", inode=2)]
    assert renames(gone, new) == [("a.md", "c.md"), ("b.md", "d.md")]
    assert renames(gone, []) == renames([], new) == []


# -- over a real folder --


def pairs(changes: Changes) -> list[tuple[str, str]]:
    listed = {each.id for each in changes.created} | set(changes.deleted)
    assert not listed & {note for pair in changes.renamed for note in pair}
    return list(changes.renamed)


def test_a_folder_copied_and_deleted_is_known_by_bytes_and_file_names(make_vault: MakeVault) -> None:
    template = "# Day\n\n## Tasks\n"
    vault = make_vault({"old/mon.md": template, "old/tue.md": template, "old/plan.md": "plan", "old/none.md": ""})
    root = vault.root.path
    shutil.copytree(root / "old", root / "new")
    for file in (root / "new").iterdir():
        os.utime(file)
    shutil.rmtree(root / "old")
    changes = vault.reconcile()
    assert pairs(changes) == [(f"old/{name}.md", f"new/{name}.md") for name in ("mon", "plan", "tue")]
    assert ([each.id for each in changes.created], changes.deleted) == (["new/none.md"], ("old/none.md",))


def test_a_rename_that_a_question_met_first_is_told_by_the_next_reconcile(make_vault: MakeVault) -> None:
    vault = make_vault({"a.md": "# One"})
    (vault.root.path / "a.md").rename(vault.root.path / "b.md")
    assert vault.notes.names([NoteId("a.md")]) == [None]
    assert pairs(vault.reconcile()) == [("a.md", "b.md")]


# -- copies: a program that saves may first give the old file another name --

COPIES = ["a (1).md", "a copy.md", "a.sync-conflict-20240101.md", "a (conflicted copy).md", "a 1.md", "a~.md"]


@pytest.mark.parametrize("copy", COPIES)
def test_a_copy_is_no_rename_while_the_old_name_comes_back_and_else_is_told_as_one_later(
    make_vault: MakeVault, settle: Callable[[Vault], Changes], copy: str
) -> None:
    vault = make_vault({"a.md": "# One\n"})
    root = vault.root.path
    (root / "a.md").rename(root / copy)
    assert vault.changed(["a.md", copy]) == Changes()
    (root / "a.md").write_text("# Two\n")
    back = vault.changed(["a.md"])
    assert back.renamed == () and back.deleted == ()
    assert [each.id for each in back.created] == [copy] and [each.id for each in back.changed] == ["a.md"]
    (root / copy).unlink()
    vault.changed([copy])
    (root / "a.md").rename(root / copy)
    assert vault.changed(["a.md", copy]) == Changes()
    assert vault.due_s() is not None
    assert settle(vault) == Changes(renamed=(("a.md", copy),))
    assert vault.due_s() is None


@pytest.mark.parametrize("name", ["b.md", "deep/a.md", "deep/a (1).md", "x a.md"])
def test_a_rename_to_any_other_name_is_told_at_once(make_vault: MakeVault, name: str) -> None:
    vault = make_vault({"a.md": "# One\n", "deep/x.md": "x"})
    (vault.root.path / "a.md").rename(vault.root.path / name)
    assert vault.changed(["a.md", name]).renamed == (("a.md", name),)
