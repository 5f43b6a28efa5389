"""What references mean, and where links lead."""

import unicodedata
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.profiles import examples
from support.tool_fixtures import MakeState

from workspaced_events.ids import NoteId
from workspaced_events.projections.workspace_state import EMPTY_VAULT, VaultState
from workspaced_tools.errors import ArgumentInvalid, ReferenceOutsideVault
from workspaced_tools.notes.name_keys import key, stem, without_case
from workspaced_tools.notes.note import StatKey
from workspaced_tools.vault.index.entries import IndexedNote, IndexEntry, target_keys
from workspaced_tools.vault.index.index import Index
from workspaced_tools.vault.links.link_targets import LinkResolver
from workspaced_tools.vault.links.resolver import STAGES, IndexLookup, readings, resolve

STAT = StatKey(1, 2, 3, 4, 5)
HASH = "0" * 64
INDEX = Index()


def note(path: str, title: str | None = None, *aliases: str, id: str | None = None) -> IndexEntry:  # noqa: A002
    name = stem(path) if title is None else title
    return IndexEntry(NoteId(path), name, id, aliases, stat=STAT, sha256=HASH)


@pytest.fixture(scope="module", autouse=True)
def opened() -> Iterator[None]:
    """One index for all tests, since making its file takes longer than most of them."""
    INDEX.open()
    yield
    INDEX.close()


def lookup_of(*notes: IndexEntry) -> IndexLookup:
    """Over an index that holds just these, until the next call."""
    INDEX.put([IndexedNote(each, tuple(each.name_keys())) for each in notes], INDEX.ids())
    return IndexLookup(INDEX)


def found(reference: str, *notes: IndexEntry, state: VaultState = EMPTY_VAULT) -> tuple[str, str] | None:
    resolution = resolve(reference, lookup_of(*notes), state)
    if resolution.note is None:
        return None
    assert resolution.resolved_by in STAGES
    return resolution.note.id, str(resolution.resolved_by)


PLAN = note("work/plan.md", "The Great Plan", "masterplan", "MP", id="p-1")
CAFE = note("food/cafes.md", "Café Crème")


@pytest.mark.parametrize(
    ("reference", "stage"),
    [
        ("work/plan.md", "path"),
        ("work/plan", "path"),
        ("./work/plan.md", "path"),
        ("p-1", "id"),
        ("The Great Plan", "title"),
        ("MP", "alias"),
        ("the great PLAN", "foldedTitle"),
        ("plan", "filename"),
        ("PLAN.md", "filename"),
        ("Work/Plan", "pathSuffix"),
        ("mp", "foldedAlias"),
        ("the-great-plan", None),
        ("The Great  Plan", None),
        ("master-plan", None),
        ("planning", None),
    ],
)
def test_each_stage_finds_what_it_is_named_after(reference: str, stage: str | None) -> None:
    assert found(reference, PLAN, CAFE) == (("work/plan.md", stage) if stage else None)


def test_names_are_equal_up_to_case_and_normal_form_and_nothing_else() -> None:
    assert found("CAFE\u0301 CRE\u0300ME", PLAN, CAFE) == ("food/cafes.md", "foldedTitle")
    assert found("cafe creme", PLAN, CAFE) is None
    for name, other in (("C++", "C"), (".NET", "Net"), ("Über", "Uber"), ("50%", "50"), ("{{title}}", "title")):
        assert found(name, note(f"{other}.md", other)) is None
        assert found(name, note(f"{other}.md", other), note("x.md", name)) == ("x.md", "title")


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        (note("x.md"), note("a.md", id="x")),
        (note("b.md", id="x"), note("a/x.md", "other")),
        (note("b/sub/x.md", "other"), note("a.md", "x")),
        (note("b.md", "x"), note("a/X.md", "other")),
        (note("b/X.md", "other"), note("a.md", "A", "x")),
        (note("b.md", "B", "x"), note("a.md", "X")),
        (note("b.md", "X"), note("a.md", "X!")),
    ],
)
def test_an_earlier_stage_wins(earlier: IndexEntry, later: IndexEntry) -> None:
    resolution = resolve("x", lookup_of(later, earlier), EMPTY_VAULT)
    assert resolution.note is not None
    assert resolution.note.id == earlier.id


def test_the_longest_name_that_exists_is_meant() -> None:
    notes = [note("c.md", "C"), note("cs.md", "C# notes"), note("x.md", "x^2"), note("pipe.md", "a|b")]

    def names(reference: str) -> tuple[str | None, str | None]:
        resolution = resolve(reference, lookup_of(*notes), EMPTY_VAULT)
        return (resolution.note.id if resolution.note else None), resolution.heading

    assert names("C# notes") == ("cs.md", None)
    assert names("C# notes#Setup") == ("cs.md", "Setup")
    assert names("C#Setup") == ("c.md", "Setup")
    assert names("x^2") == ("x.md", None)
    assert names("a|b") == ("pipe.md", None)


def test_many_separators_cost_a_bounded_number_of_readings() -> None:
    assert len(readings("#".join("abcdefghijklmnop" * 20))) < 12


def test_notes_that_are_not_archived_win_over_archived_ones(make_state: MakeState) -> None:
    notes = [note(f"{folder}/log.md", "Log") for folder in "abc"]
    assert found("Log", *notes, state=make_state(archived=("a/log.md", "c/log.md"))) == ("b/log.md", "title")
    assert found("Log", notes[0], state=make_state(archived=("a/log.md",))) == ("a/log.md", "title")


# -- links --


def leads(source: str, target: str, *notes: IndexEntry, state: VaultState = EMPTY_VAULT) -> Any:
    result = LinkResolver(lookup_of(*notes), state).target(NoteId(source), target)
    return "ambiguous" if result.ambiguous else (result.note.id if result.note else None)


def test_links_know_neither_case_nor_archived_notes(make_state: MakeState) -> None:
    notes = [note("a/Log.md"), note("b/log.md"), note("c/log.md")]
    assert leads("b/s.md", "LOG", *notes, state=make_state(archived=("b/log.md",))) == "b/log.md"
    assert leads("s.md", "Strasse", note("a/Straße.md"), note("a/Strasse.md")) == "a/Strasse.md"


def test_links_follow_the_general_order_where_no_file_has_the_name() -> None:
    twins = [note("a.md", "Same"), note("b.md", "Same")]
    assert leads("s.md", "masterplan", PLAN) == "work/plan.md"
    assert leads("s.md", "Same", *twins) == "ambiguous"
    assert leads("s.md", "nothing", PLAN) is None
    assert leads("s.md", "..", PLAN) is None


# -- properties --

names = st.text(
    st.one_of(st.sampled_from("abAB é.-_ #^|/é☃漢0"), st.characters(exclude_categories=["Cs", "Cc"])),
    min_size=1,
    max_size=8,
)
components = names.filter(lambda text: "/" not in text and text[0] not in "." and text == text.strip())
paths = st.lists(components, min_size=1, max_size=3).map(lambda parts: "/".join(parts) + ".md")
vaults = st.dictionaries(
    paths, st.tuples(names.map(str.strip), st.lists(names, max_size=2), st.none() | names), min_size=1, max_size=6
)


def entries(vault: dict[str, tuple[str, list[str], str | None]]) -> list[IndexEntry]:
    made = {}
    for path, (title, aliases, front_matter_id) in vault.items():
        nfc = unicodedata.normalize("NFC", path)
        made[nfc] = note(nfc, title or stem(nfc), *aliases, id=front_matter_id)
    return list(made.values())


@settings(max_examples=examples(200))
@given(vaults, st.text(max_size=12) | names)
def test_no_reference_means_a_note_that_is_not_there(vault: Any, reference: str) -> None:
    notes = entries(vault)
    known = {each.id for each in notes}
    try:
        resolution = resolve(reference, lookup_of(*notes), EMPTY_VAULT)
    except (ReferenceOutsideVault, ArgumentInvalid):
        return
    named = [*resolution.candidates, *resolution.near, *([resolution.note] if resolution.note else [])]
    assert {ref.id for ref in named} <= known
    assert [bool(resolution.note), bool(resolution.candidates), bool(resolution.near)].count(True) <= 1
    assert len(resolution.candidates) != 1


@settings(max_examples=examples(300))
@given(names, names)
def test_names_that_any_stage_takes_for_equal_have_equal_keys(one: str, other: str) -> None:
    if without_case(one) == without_case(other):
        assert key(one) == key(other)
    assert key(one) == key(one.upper()) or without_case(one) != without_case(one.upper())
    assert len(target_keys(one)) in (1, 2)
