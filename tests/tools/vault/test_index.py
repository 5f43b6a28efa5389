"""The index: what it keeps of a note, and of one that is withheld; readers beside a writer."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from workspaced_events.ids import NoteId
from workspaced_tools.notes.frontmatter import split_front_matter
from workspaced_tools.notes.images.names import name_hash
from workspaced_tools.notes.name_keys import key
from workspaced_tools.notes.note import Note, StatKey
from workspaced_tools.notes.properties import aliases_of, tags_of
from workspaced_tools.vault.files.ignore_rules import Policy
from workspaced_tools.vault.files.safe_open import VaultRoot
from workspaced_tools.vault.index.entries import (
    IndexedLink,
    IndexedNote,
    IndexEntry,
    Withheld,
    indexed,
    target_keys,
)
from workspaced_tools.vault.index.index import Index

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
