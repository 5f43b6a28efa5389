"""The index: notes by path, name, link, tag and word, from one start to the next."""

import gc
import threading
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rapidfuzz import fuzz
from support.profiles import examples

from workspaced_events.ids import NoteId
from workspaced_tools.notes.frontmatter import split_front_matter
from workspaced_tools.notes.images.names import name_hash
from workspaced_tools.notes.name_keys import key, without_case
from workspaced_tools.notes.note import Note, StatKey
from workspaced_tools.notes.properties import aliases_of, tags_of
from workspaced_tools.notes.search_text import FIELD_END, search_form
from workspaced_tools.ports.vault import SearchQuery
from workspaced_tools.vault.files.ignore_rules import Policy
from workspaced_tools.vault.files.safe_open import VaultRoot
from workspaced_tools.vault.index.entries import (
    Field,
    IndexedLink,
    IndexedNote,
    IndexEntry,
    NamedNote,
    Withheld,
    indexed,
    target_keys,
)
from workspaced_tools.vault.index.index import NEAR_SCORE_MIN, Index, Known
from workspaced_tools.vault.index.queries import top_tags
from workspaced_tools.vault.index.search import search

STAT = StatKey(1, 2, 3, 4, 5)
HASH = "0f" * 32
MANY = 5_200
PATHS = [NoteId(path) for path in ("p.md", "q.md", "x/p.md", "x/☃.md")]
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


@pytest.fixture(scope="module")
def large() -> Iterator[Index]:
    """An index of MANY notes."""
    index = Index()
    index.open()
    index.put([numbered(number) for number in range(MANY)])
    yield index
    index.close()


def numbered(number: int) -> IndexedNote:
    return note(
        f"folder {number % 50}/Note number {number}.md",
        f"Title {number}",
        *(f"Note number {(number * factor) % MANY}" for factor in range(1, 6)),
        text="",
        stat=StatKey(64_512, 10**6 + number, 2_048, 10**18 + number, 10**18 + number),
    )


def note(
    path: str,
    title: str,
    *links: str,
    aliases: tuple[str, ...] = (),
    id: str | None = None,  # noqa: A002
    tags: tuple[str, ...] = (),
    text: str | None = None,
    stat: StatKey = STAT,
    certain: bool = True,
) -> IndexedNote:
    """What the index is given of a note; its n-th link stands on line n."""
    entry = IndexEntry(NoteId(path), title, id, aliases, stat=stat, sha256=HASH, certain=certain)
    found = tuple(
        IndexedLink(target, True, None, False, line, f"see {target}", target_keys(target))
        for line, target in enumerate(links, start=1)
    )
    body = None if text is None else text_of(title, text)
    return IndexedNote(entry, tuple(entry.name_keys()), found, tags, body)


def text_of(title: str, body: str) -> str:
    return FIELD_END.join((search_form(title), "", "", "", search_form(body), "", ""))


def withheld(path: str, why: Withheld = Withheld.PRIVATE) -> IndexedNote:
    return IndexedNote(IndexEntry(NoteId(path), "", stat=STAT, sha256=HASH, withheld=why))


def ids(entries: Iterable[NamedNote]) -> list[str]:
    return sorted(each.id for each in entries)


def sources(index: Index, *names: str) -> list[tuple[str, int]]:
    """(source, line) of each link that could mean one of the names."""
    return [
        (row.source, row.line) for row in index.linking([each for name in names for each in target_keys(name)])
    ]


def with_word(index: Index, word: str) -> list[str]:
    return sorted(hit.note for hit in search([index], SearchQuery(word, 100)).hits)


# -- by name and link --


def test_a_note_is_filed_under_title_file_name_aliases_and_id(make_index: MakeIndex) -> None:
    index = make_index(note("work/plan.md", "The Plan", aliases=("MP",), id="p-1"))
    for name in ("the plan", "Plan", "mp", "P-1"):
        assert ids(index.named(key(name))) == ["work/plan.md"]
    assert index.named(key("other")) == []
    entry = index.entry(NoteId("work/plan.md"))
    assert entry is not None
    assert (entry.aliases, entry.front_matter_id) == (("MP",), "p-1")
    assert index.count() == 1


def test_what_is_put_takes_the_place_of_the_former_version(make_index: MakeIndex) -> None:
    index = make_index(note("a.md", "Old", "x", tags=("t",), text="former words"))
    index.put([note("a.md", "New", "y", text="present words")])
    assert index.named(key("Old")) == []
    assert ids(index.named(key("New"))) == ["a.md"]
    assert (sources(index, "x"), sources(index, "y")) == ([], [("a.md", 1)])
    assert (with_word(index, "former"), with_word(index, "present")) == ([], ["a.md"])
    assert top_tags(index, 5) == []
    assert (index.count(), index.link_count()) == (1, 1)


def test_what_is_gone_is_found_nowhere_and_removing_it_again_is_nothing(make_index: MakeIndex) -> None:
    index = make_index(*(note(each, "Same", "x", tags=("t",), text="word") for each in ("a.md", "b.md")))
    index.put([], [NoteId("a.md")])
    index.put([], [NoteId("a.md")])
    assert ids(index.named(key("Same"))) == ["b.md"]
    assert sources(index, "x") == [("b.md", 1)]
    assert index.near("Same", 5) == [index.entry(NoteId("b.md"))]
    assert (with_word(index, "word"), top_tags(index, 5)) == (["b.md"], [("t", 1)])
    index.put([], [NoteId("b.md")])
    assert (index.named(key("Same")), sources(index, "x"), index.near("Same", 5)) == ([], [], [])
    assert (with_word(index, "word"), top_tags(index, 5)) == ([], [])
    assert (index.count(), index.link_count(), index.ids(), index.known()) == (0, 0, [], {})


def test_links_are_filed_under_the_whole_target_and_its_last_component(make_index: MakeIndex) -> None:
    index = make_index(note("s.md", "S", "work/AC plan.md", "AC/DC", "AC/DC"))
    for name, lines in (("ac plan", [1]), ("AC/DC", [2, 3]), ("dc", [2, 3])):
        assert [row.line for row in index.linking([key(name)])] == lines
    each_once = [("s.md", line) for line in (2, 3)]
    assert [(row.source, row.line) for row in index.linking([key("DC"), key("AC/DC"), "none"])] == each_once
    [row] = index.linking([key("ac plan")])
    assert (row.title, row.target, row.wiki, row.context) == ("S", "work/AC plan.md", True, "see work/AC plan.md")


def test_links_come_by_source_then_in_the_order_of_the_text(make_index: MakeIndex) -> None:
    index = make_index(note("b.md", "B", "x", "y", "x"), note("a.md", "A", "y"), note("a/c.md", "C", "x"))
    assert sources(index, "x", "y") == [("a.md", 1), ("a/c.md", 1), ("b.md", 1), ("b.md", 2), ("b.md", 3)]


def test_near_titles_come_best_first_and_follow_changes(make_index: MakeIndex) -> None:
    index = make_index(*(note(f"{name}.md", name) for name in ("Weekly review", "Weekly plan", "Budget")))
    assert [each.title for each in index.near("WEEKLY REVIEWS", 2)] == ["Weekly review", "Weekly plan"]
    index.put([note("Weekly review.md", "Renamed")])
    assert [each.title for each in index.near("weekly reviews", 1)] == ["Weekly plan"]
    assert index.near("zzzz", 5) == []


def test_among_thousands_of_titles_the_near_ones_are_found_too(large: Index) -> None:
    index = large
    index.put([note("Weekly review.md", "Weekly review", text=""), note("quotes.md", 'The "weekly" one', text="")])
    assert [each.title for each in index.near("WEKLY REVIEWS", 1)] == ["Weekly review"]
    assert [each.title for each in index.near('"weekly" one', 1)] == ['The "weekly" one']
    assert index.near("Title 4321", 1)[0].title == "Title 4321"
    assert index.near("zzzz", 5) == []
    assert index.near("", 5) == []
    index.put([], [NoteId("Weekly review.md")])
    assert "Weekly review" not in [each.title for each in index.near("weekly reviews", 5)]


def test_names_may_hold_any_sign(make_index: MakeIndex) -> None:
    odd = 'a"b\\c\0d%_*é漢\U0001f600\n'
    path = NoteId(odd.replace("\0", "") + ".md")  # no file's name holds NUL
    index = make_index(note(path, odd, odd, aliases=(odd,), tags=(odd,), text=odd))
    entry = index.entry(path)
    assert entry is not None
    assert (entry.title, entry.aliases) == (odd, (odd,))
    assert index.entries([path]) == {path: entry}
    assert [each.aliases for each in index.named(key(odd))] == [(odd,)]
    assert sources(index, odd) == [(path, 1)]
    assert index.near(odd, 1) == [entry]
    index.put([], [path])
    assert index.count() == len(index.ids()) == 0


# -- what is kept of a note --


def test_an_entry_is_made_of_names_links_and_tags_and_the_text_is_kept_apart(tmp_path: Path) -> None:
    text = (
        "---\ntitle: T\nid: 42\naliases: [One, 2, ' ', null, [x]]\ntags: [Top, inline]\n---\n"
        "# H\n[[a]] [[#own]] ![[b#h|c]] [m](d.md) `[[no]]` [[a]] #inline\n"
    )
    made = indexed(
        Note(NoteId("n.md"), STAT, None, HASH, text.encode()), Policy(VaultRoot(tmp_path)), certain=False
    )
    entry = made.entry
    assert (entry.title, entry.front_matter_id, entry.aliases) == ("T", "42", ("One", "2"))
    assert (entry.stat, entry.sha256, entry.certain, entry.withheld) == (STAT, HASH, False, Withheld.NO)
    assert set(made.keys) == entry.name_keys()
    assert [(link.target, link.wiki, link.heading, link.embed, link.line) for link in made.links] == [
        ("a", True, None, False, 8),
        ("b", True, "h", True, 8),
        ("d.md", False, None, False, 8),
        ("a", True, None, False, 8),
    ]
    assert {link.context for link in made.links} == {text.splitlines()[7]}
    assert made.tags == ("Top", "inline")
    assert made.text is not None
    assert made.text.split(FIELD_END)[Field.BODY] == " ".join(text.split("---\n")[2].lower().split())
    assert "[[a]]" not in msgspec.json.encode(entry).decode()


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


def test_aliases_may_be_one_string() -> None:
    assert aliases_of(split_front_matter("---\nalias: Just one\n---\n").fields) == ("Just one",)
    assert aliases_of({}) == ()
    assert aliases_of({"aliases": {"a": 1}}) == ()


def test_tags_are_those_of_front_matter_and_text_each_once() -> None:
    assert tags_of({"tags": ["#a", 2, " b ", None, ["x"], "", "#"]}, ("c", "a")) == ("a", "2", "b", "c")
    assert tags_of({"tags": "a, b c"}, ()) == ("a", "b", "c")
    assert tags_of({"Tags": ["A", True, "2.50"]}, ("a", "TRUE", "b")) == ("A", "true", "2.50", "b")
    assert tags_of({"tag": "one"}, ()) == ("one",)
    assert tags_of({"tags": {"a": 1}}, ("c",)) == ("c",)


def test_a_withheld_note_is_counted_apart_and_found_by_nothing_but_its_path(make_index: MakeIndex) -> None:
    index = make_index(note("a.md", "Secret", "x", tags=("t",), text="canary"), note("b.md", "Open"))
    index.put([withheld("a.md")])
    assert (index.named(key("Secret")), index.named(key("a")), sources(index, "x")) == ([], [], [])
    assert (index.near("Secret", 5), with_word(index, "canary"), top_tags(index, 5)) == ([], [], [])
    assert (index.ids(), index.count(), index.withheld_count(), index.link_count()) == (["b.md"], 1, 1, 0)
    assert index.entries([NoteId("a.md")]) == {"a.md": withheld("a.md").entry}
    assert index.known()[NoteId("a.md")] == Known(STAT, True, Withheld.PRIVATE, False)
    index.put([note("a.md", "Secret")])
    assert (index.count(), index.withheld_count(), ids(index.named("secret"))) == (2, 0, ["a.md"])


def test_a_private_note_is_remembered_as_such_when_it_is_gone(make_index: MakeIndex, tmp_path: Path) -> None:
    index = make_index(withheld("a.md"), withheld("b.md", Withheld.BY_RULE), directory=tmp_path)
    index.put([], [NoteId("a.md"), NoteId("b.md")])
    index.close()
    again = make_index(directory=tmp_path)
    assert set(again.private) == {"a.md"}
    again.put([withheld("a.md", Withheld.HELD)])
    assert set(again.private) == {"a.md"}, "it may still be being written"
    again.put([withheld("a.md", Withheld.BY_RULE)])
    assert set(again.private) == {"a.md"}, "a denied note is not read"
    again.put([note("a.md", "Open now")])
    assert not again.private


# -- text that follows later --


def test_text_may_follow_but_only_that_of_the_version_at_hand(make_index: MakeIndex) -> None:
    index = make_index(note("a.md", "A"), note("b.md", "B", text="first"), withheld("c.md"))
    other = StatKey(1, 2, 4, 4, 5)
    late = text_of("", "late")
    index.put_texts([(NoteId("a.md"), other, late), (NoteId("none.md"), STAT, late), (NoteId("c.md"), STAT, late)])
    assert with_word(index, "late") == []
    index.put_texts([(NoteId("a.md"), STAT, late), (NoteId("b.md"), STAT, late)])
    assert (with_word(index, "late"), with_word(index, "first")) == (["a.md"], ["b.md"])
    assert {path: known.has_text for path, known in index.known().items()} == {
        "a.md": True,
        "b.md": True,
        "c.md": False,
    }
    index.put([], [NoteId("a.md")])
    assert with_word(index, "late") == []


# -- against a model --

words = st.sampled_from(["a", "b", "A b", "a-b", "c", "x/b", "☃", 'q"uo\\te', "é", "x/☃\0"])
tags = st.sampled_from(["t", "T", "t/u", "Ä"])
notes = st.tuples(
    words,
    st.fixed_dictionaries(
        {
            "aliases": st.lists(words, max_size=3).map(tuple),
            "id": st.none() | words,
            "tags": st.lists(tags, max_size=3).map(tuple),
            "text": st.none() | st.sampled_from(["alpha", "beta", "alpha beta"]),
            "certain": st.booleans(),
        }
    ),
    st.lists(words, max_size=4),
)
versions = st.none() | st.sampled_from([*Withheld][1:]) | notes
steps = st.lists(st.dictionaries(st.sampled_from(PATHS), versions, max_size=4) | st.just("restart"), max_size=8)


class Model:
    """The index as plain dictionaries."""

    def __init__(self) -> None:
        self.notes: dict[NoteId, IndexedNote] = {}
        self.private: set[NoteId] = set()

    def put(self, version: IndexedNote) -> None:
        path = version.entry.id
        self.notes[path] = version
        if version.entry.withheld in (Withheld.PRIVATE, Withheld.REQUESTED):
            self.private.add(path)
        elif not version.entry.withheld:
            self.private.discard(path)

    @property
    def shared(self) -> list[IndexedNote]:
        return [each for _, each in sorted(self.notes.items()) if not each.entry.withheld]

    def named(self, name_key: str) -> list[str]:
        return [each.entry.id for each in self.shared if name_key in each.keys]

    def linking(self, keys: set[str]) -> list[tuple[str, str, int, str]]:
        return [
            (each.entry.id, link.target, link.line, link.context)
            for each in self.shared
            for link in each.links
            if keys.intersection(link.keys)
        ]

    def near(self, name: str) -> list[str]:
        scored = [
            (fuzz.ratio(without_case(name), without_case(each.entry.title)), each.entry.id) for each in self.shared
        ]
        return [
            path for score, path in sorted(scored, key=lambda hit: (-hit[0], hit[1])) if score >= NEAR_SCORE_MIN
        ]

    def tags(self) -> dict[str, int]:
        return Counter(tag for each in self.shared for tag in {without_case(tag) for tag in each.tags})

    def with_word(self, word: str) -> list[str]:
        return [each.entry.id for each in self.shared if each.text is not None and word in each.text]


@settings(max_examples=examples(120))
@given(steps)
def test_the_index_agrees_with_plain_dictionaries(history: Any) -> None:
    with TemporaryDirectory() as directory:
        assert_agrees(Path(directory), history)


def assert_agrees(directory: Path, history: Any) -> None:
    """Does all that, to the index and to the model, and compares them."""
    index, model = Index(directory, "/vault"), Model()
    index.open()
    try:
        for step in history:
            if step == "restart":
                index.close()
                index = Index(directory, "/vault")
                assert index.open()
                continue
            put = [
                withheld(path, made) if isinstance(made, Withheld) else note(path, made[0], *made[2], **made[1])
                for path, made in step.items()
                if made is not None
            ]
            gone = [path for path, made in step.items() if made is None]
            for path in gone:
                model.notes.pop(path, None)
            for each in put:
                model.put(each)
            index.put(put, gone)
        assert_equal(index, model)
    finally:
        index.close()


def assert_equal(index: Index, model: Model) -> None:
    shared = model.shared
    assert sorted(index.ids()) == [each.entry.id for each in shared]
    assert (index.count(), index.withheld_count()) == (len(shared), len(model.notes) - len(shared))
    assert index.link_count() == sum(len(each.links) for each in shared)
    assert {path for path in PATHS if path in index.private} == model.private
    entries = {path: each.entry for path, each in model.notes.items()}
    assert index.entries(PATHS) == entries
    assert [index.entry(path) for path in PATHS] == [entries.get(path) for path in PATHS]
    assert index.known() == {
        path: Known(entry.stat, entry.certain, entry.withheld, model.notes[path].text is not None)
        for path, entry in entries.items()
    }
    keys = {each for made in shared for each in (*made.keys, *(k for link in made.links for k in link.keys))}
    for each in keys | {"other"}:
        assert ids(index.named(each)) == model.named(each)
        assert rows(index, {each}) == model.linking({each})
    assert rows(index, keys) == model.linking(keys)
    for name in ("a", "A b", "a-b", "zzz"):
        assert [each.id for each in index.near(name, 10)] == model.near(name)
    assert {without_case(tag): count for tag, count in top_tags(index, 10)} == model.tags()
    for word in ("alpha", "beta", "gamma"):
        assert with_word(index, word) == model.with_word(word)
    assert index.any_below("x/") == any(path.startswith("x/") for path in model.notes)


def rows(index: Index, keys: set[str]) -> list[tuple[str, str, int, str]]:
    return [(row.source, row.target, row.line, row.context) for row in index.linking(keys)]


# -- many at once --


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


def test_thousands_of_notes_take_a_few_megabytes_of_disk_and_no_memory(large: Index) -> None:
    wal = large.file.path.with_name(f"{large.file.path.name}-wal")
    assert large.file.path.stat().st_size + wal.stat().st_size < 32 * 1024 * 1024
    tracemalloc.start()
    large.put([numbered(number) for number in range(500)])
    gc.collect()
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert taken < 500 * 100  # the entries alone would take more
