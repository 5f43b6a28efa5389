"""The index: what it keeps of a note, and of one that is withheld; readers beside a writer; renames."""

import os
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest
from support.tool_fixtures import MakeVault

from workspaced_events.ids import NoteId
from workspaced_tools.notes.frontmatter import split_front_matter
from workspaced_tools.notes.images.names import name_hash
from workspaced_tools.notes.name_keys import key
from workspaced_tools.notes.note import Note, StatKey
from workspaced_tools.notes.properties import aliases_of, tags_of
from workspaced_tools.vault.files.ignore_rules import Policy
from workspaced_tools.vault.files.safe_open import VaultRoot
from workspaced_tools.vault.index.changes import Changes, renames
from workspaced_tools.vault.index.entries import (
    IndexedLink,
    IndexedNote,
    IndexEntry,
    Withheld,
    indexed,
    target_keys,
)
from workspaced_tools.vault.index.index import Index
from workspaced_tools.vault.vault import Vault

STAT = StatKey(1, 2, 3, 4, 5)
HASH = "0f" * 32
MakeIndex = Callable[..., Index]


@pytest.fixture
def make_index() -> Iterator[MakeIndex]:
    """make_index(*notes) -> an open Index that holds them; its file is temporary."""
    made: list[Index] = []

    def make(*notes: IndexedNote, directory: Path | None = None) -> Index:
        index = Index(directory, "/vault")
        made.append(index)
        index.open()
        index.put(notes)
        return index

    yield make
    for index in made:
        index.close()


def note(path: str, title: str, *links: str) -> IndexedNote:
    """What the index is given of a note; its n-th link stands on line n."""
    entry = IndexEntry(NoteId(path), title, None, (), stat=STAT, sha256=HASH, certain=True)
    found = tuple(
        IndexedLink(target, None, line, f"see {target}", target_keys(target))
        for line, target in enumerate(links, start=1)
    )
    return IndexedNote(entry, tuple(entry.name_keys()), found, (), None)


def withheld(path: str, why: Withheld = Withheld.PRIVATE) -> IndexedNote:
    return IndexedNote(IndexEntry(NoteId(path), "", stat=STAT, sha256=HASH, withheld=why))


def test_of_a_withheld_note_nothing_is_kept_but_path_identity_and_hashes_of_its_images(tmp_path: Path) -> None:
    text = b"---\nworkspaced: private\ntitle: Secret\ntags: [hush]\n---\n[[link]] canary ![[x/Nude.PNG]]\n"
    policy = Policy(VaultRoot(tmp_path), ["denied/"])
    for path, says, why in (
        ("n.md", text, Withheld.PRIVATE),
        ("denied/n.md", b"# Secret\n[[link]] canary #hush ![](../y/nude.png)\n", Withheld.BY_RULE),
    ):
        made = indexed(Note(NoteId(path), STAT, None, HASH, says), policy, certain=True)
        assert made == msgspec.structs.replace(withheld(path, why), images=made.images)
        assert made.images is not None and name_hash("nude.png") in made.images


def test_tags_and_aliases_may_be_a_list_or_one_string_and_tags_are_those_of_the_text_too() -> None:
    assert tags_of({"tags": ["#a", 2, " b ", None, ["x"], "", "#"]}, ("c", "a")) == ("a", "2", "b", "c")
    assert tags_of({"tags": "a, b c"}, ()) == ("a", "b", "c")
    assert tags_of({"Tags": ["A", True, "2.50"]}, ("a", "TRUE", "b")) == ("A", "true", "2.50", "b")
    assert tags_of({"tag": "one"}, ()) == ("one",)
    assert tags_of({"tags": {"a": 1}}, ("c",)) == ("c",)
    assert aliases_of(split_front_matter("---\nalias: Just one\n---\n").fields) == ("Just one",)
    assert aliases_of({}) == aliases_of({"aliases": {"a": 1}}) == ()


def test_a_private_note_is_remembered_as_such_when_it_is_gone(make_index: MakeIndex, tmp_path: Path) -> None:
    index = make_index(withheld("a.md"), withheld("b.md", Withheld.BY_RULE), directory=tmp_path)
    index.put([], [NoteId("a.md"), NoteId("b.md")])
    index.close()
    again = make_index(directory=tmp_path)
    assert set(again.private) == {"a.md"}
    again.put([withheld("a.md", Withheld.HELD)])
    assert set(again.private) == {"a.md"}, "it may still be being written"
    again.put([note("a.md", "Open now")])
    assert not again.private


def test_readers_are_never_disturbed_by_a_writer(make_index: MakeIndex) -> None:
    index = make_index()
    stop = threading.Event()
    failures: list[BaseException] = []
    seen = [0] * 3

    def read(reader: int) -> None:
        try:
            while not stop.is_set():
                assert all(each.title == "Same" for each in index.named(key("Same")))
                found = [row.source for row in index.linking(["x"])]
                # Two notes are put in one step, so no reader ever meets one without the other.
                assert all(f"{name[0]}{'12'[name[1] == '1']}.md" in found for name in found)
                index.near("Same", 3)
                index.ids()
                seen[reader] += 1
        except BaseException as failure:
            failures.append(failure)

    readers = [threading.Thread(target=read, args=(number,)) for number in range(len(seen))]
    for reader in readers:
        reader.start()
    for round_ in range(300):
        put, gone = "abcdefg"[round_ % 7], "abcdefg"[(round_ + 3) % 7]
        index.put(
            [note(f"{put}{half}.md", "Same", "x") for half in "12"], [NoteId(f"{gone}{half}.md") for half in "12"]
        )
    stop.set()
    for reader in readers:
        reader.join(60)
    assert failures == []
    assert all(seen)


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
