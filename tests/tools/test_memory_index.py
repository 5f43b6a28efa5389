"""The index in memory: entries by id, name and link."""

import threading
import tracemalloc
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from workspaced_events.ids import NoteId
from workspaced_tools.vault.frontmatter import split_front_matter
from workspaced_tools.vault.index import Index, IndexEntry, aliases_of, entry_of
from workspaced_tools.vault.memory_index import MemoryIndex
from workspaced_tools.vault.names import key
from workspaced_tools.vault.note import Note, StatKey
from workspaced_tools.view import LinkName

STAT = StatKey(1, 2, 3, 4, 5)


def entry(path: str, title: str, *links: str, aliases: tuple[str, ...] = (), id: str | None = None) -> IndexEntry:  # noqa: A002
    return IndexEntry(NoteId(path), title, STAT, id, aliases, tuple(LinkName(each, True) for each in links))


def ids(entries: Any) -> list[str]:
    return sorted(each.id for each in entries)


def test_a_note_is_filed_under_title_file_name_aliases_and_id() -> None:
    index: Index = MemoryIndex()
    index.upsert(entry("work/plan.md", "The Plan", aliases=("MP",), id="p-1"))
    for name in ("the plan", "Plan", "mp", "P1"):
        assert ids(index.named(key(name))) == ["work/plan.md"]
    assert index.named(key("other")) == []
    assert index.entry(NoteId("work/plan.md")) is not None
    assert index.count() == 1


def test_an_update_takes_the_place_of_the_former_entry() -> None:
    index = MemoryIndex()
    index.upsert(entry("a.md", "Old", "x"))
    index.upsert(entry("a.md", "New", "y"))
    assert index.named(key("Old")) == []
    assert ids(index.named(key("New"))) == ["a.md"]
    assert index.linking(["x"]) == []
    assert ids(index.linking(["y"])) == ["a.md"]
    assert index.count() == 1


def test_what_is_removed_is_found_nowhere_and_removing_it_again_is_nothing() -> None:
    index = MemoryIndex()
    index.upsert(entry("a.md", "Same", "x"))
    index.upsert(entry("b.md", "Same", "x"))
    index.remove(NoteId("a.md"))
    index.remove(NoteId("a.md"))
    assert ids(index.named(key("Same"))) == ["b.md"]
    assert ids(index.linking(["x"])) == ["b.md"]
    assert index.near("Same", 5) == [index.entry(NoteId("b.md"))]
    index.remove(NoteId("b.md"))
    assert (index.named(key("Same")), index.linking(["x"]), index.near("Same", 5)) == ([], [], [])


def test_links_are_filed_under_the_whole_target_and_its_last_component() -> None:
    index = MemoryIndex()
    index.upsert(entry("s.md", "S", "work/AC plan.md", "AC/DC", "AC/DC"))
    for name in ("ac plan", "AC/DC", "dc"):
        assert ids(index.linking([key(name)])) == ["s.md"]
    assert ids(index.linking([key("DC"), key("AC/DC"), "none"])) == ["s.md"]


def test_near_titles_come_best_first_and_follow_changes() -> None:
    index = MemoryIndex()
    for name in ("Weekly review", "Weekly plan", "Budget"):
        index.upsert(entry(f"{name}.md", name))
    assert [each.title for each in index.near("WEEKLY REVIEWS", 2)] == ["Weekly review", "Weekly plan"]
    index.upsert(entry("Weekly review.md", "Renamed"))
    assert [each.title for each in index.near("weekly reviews", 1)] == ["Weekly plan"]
    assert index.near("zzzz", 5) == []


def test_an_entry_holds_names_and_links_but_no_text() -> None:
    text = (
        "---\ntitle: T\nid: 42\naliases: [One, 2, ' ', null, [x]]\n---\n"
        "# H\n[[a]] [[#own]] ![[b|c]] [m](d.md) `[[no]]` [[a]]\n"
    )
    made = entry_of(Note(NoteId("n.md"), STAT, None, "0" * 64, text.encode()))
    assert (made.title, made.front_matter_id, made.aliases) == ("T", "42", ("One", "2"))
    assert [(link.target, link.wiki) for link in made.links] == [
        ("a", True),
        ("b", True),
        ("d.md", False),
        ("a", True),
    ]


def test_aliases_may_be_one_string() -> None:
    assert aliases_of(split_front_matter("---\nalias: Just one\n---\n").fields) == ("Just one",)
    assert aliases_of({}) == ()
    assert aliases_of({"aliases": {"a": 1}}) == ()


words = st.sampled_from(["a", "b", "A b", "a-b", "c", "x/b", "☃"])
changes = st.lists(
    st.tuples(st.sampled_from("pqrs"), st.none() | st.tuples(words, st.lists(words, max_size=3), st.lists(words))),
    max_size=12,
)


@settings(max_examples=150, deadline=None)
@given(changes)
def test_the_index_agrees_with_a_plain_list_of_entries(history: Any) -> None:
    index = MemoryIndex()
    plain: dict[str, IndexEntry] = {}
    for name, what in history:
        path = f"{name}.md"
        if what is None:
            plain.pop(path, None)
            index.remove(NoteId(path))
        else:
            title, aliases, links = what
            plain[path] = entry(path, title, *links, aliases=tuple(aliases))
            index.upsert(plain[path])
    assert ids(index.ids() and [plain[each] for each in index.ids()]) == sorted(plain)
    for each in {found for made in plain.values() for found in made.name_keys() | made.link_keys()} | {"other"}:
        assert ids(index.named(each)) == ids(made for made in plain.values() if each in made.name_keys())
        assert ids(index.linking([each])) == ids(made for made in plain.values() if each in made.link_keys())


def test_readers_are_never_disturbed_by_a_writer() -> None:
    index = MemoryIndex()
    stop = threading.Event()
    failures: list[BaseException] = []

    def read() -> None:
        try:
            while not stop.is_set():
                assert all(each.title == "Same" for each in index.named(key("Same")))
                index.linking(["x"])
                index.near("Same", 3)
                index.ids()
        except BaseException as failure:
            failures.append(failure)

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    for round_ in range(300):
        index.upsert(entry(f"{round_ % 20}.md", "Same", "x"))
        index.remove(NoteId(f"{(round_ + 7) % 20}.md"))
    stop.set()
    for reader in readers:
        reader.join(5)
    assert failures == []


def test_five_thousand_notes_take_a_few_megabytes() -> None:
    tracemalloc.start()
    index = MemoryIndex()
    for number in range(5_000):
        stat = StatKey(64_512, 10**6 + number, 2_048, 10**18 + number, 10**18 + number)
        links = tuple(LinkName(f"Note number {(number * k) % 5_000}", True) for k in range(1, 6))
        index.upsert(
            IndexEntry(
                NoteId(f"folder {number % 50}/Note number {number}.md"), f"Title {number}", stat, None, (), links
            )
        )
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert taken < 12 * 1024 * 1024
