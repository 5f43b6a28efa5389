"""Search, likeness, tags and overview over a real vault: what counts as a word, and what is never shown;
and how SQLite runs each statement."""

import random
import re
import sqlite3
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.profiles import examples
from support.tool_fixtures import MakeVault, later_ns

from workspaced_events.ids import NoteId
from workspaced_events.projections.workspace_state import EMPTY_VAULT
from workspaced_tools.notes.search_query import literal, parse
from workspaced_tools.notes.snippet import SNIPPET_CHARS_MAX
from workspaced_tools.ports import questions as q
from workspaced_tools.ports.vault import SearchQuery
from workspaced_tools.vault.index import database, full_text
from workspaced_tools.vault.index import index as index_module
from workspaced_tools.vault.vault import Vault


def hits(vault: Vault, words: str, limit: int = 50, **more: Any) -> list[str]:
    """The notes that hold all the words."""
    found = vault.searches.search(SearchQuery(words, limit, **more))
    assert found.total == len(found.hits) or len(found.hits) == limit
    return sorted(whole(found.hits))


def whole(found: Any) -> list[str]:
    """Of hits those that hold all the words."""
    return [hit.note.id for hit in found if hit.missing is None]


def shown(vault: Vault, words: str, **more: Any) -> tuple[int, str]:
    [hit] = [hit for hit in vault.searches.search(SearchQuery(words, 5, **more)).hits if hit.missing is None]
    return hit.line, hit.snippet


def notes_of(listed: Any) -> list[str]:
    return [each.note.id for each in listed]


# -- words --


@settings(max_examples=examples(150), derandomize=True)
@given(st.text(min_size=1, max_size=40))
@example('a"b')
@example("NEAR(a,1)")
@example("Ⅷ ǆ ﬁ ß İ")
@example("हिन्दी ไทย 한국어 עִבְרִית")
def test_any_text_finds_the_note_that_holds_it(make_vault: MakeVault, text: str) -> None:
    vault = make_vault({"n.md": f"before\n\n{text}\n".encode(errors="replace")})
    found = vault.searches.search(SearchQuery(text, 5))
    assert (vault.index_state(), vault.statistics().warnings) == ("ready", ())
    assert notes_of(found.hits) in (["n.md"], [])
    found_whole = whole(found.hits) == ["n.md"]
    asked = literal(text)
    if not parse(text).has_operators and not any(term.whole for term in asked.terms):
        assert found_whole is bool(asked.terms), ascii(text)
    vault.close()


# -- where --


def test_the_line_is_that_of_the_raw_file(make_vault: MakeVault) -> None:
    vault = make_vault(
        {
            "front.md": "---\ntitle: x\ntags: one\n---\n\n# Head\n\n  the apple, red  \n",
            "crlf.md": b"---\r\ntitle: pear\r\n---\r\none\r\n\r\nthe pear\r\n",
            "bom.md": b"\xef\xbb\xbfone\nthe plum\n",
            "old-mac.md": b"one\rthe fig\rthree",
            "names.md": "---\naliases: [quince]\n---\nnothing",
            "grape.md": "nothing of it",
            "best.md": "one kiwi\nkiwi and lemon\nlemon kiwi",
        }
    )
    assert shown(vault, "apple") == (8, "the apple, red")
    assert shown(vault, "pear") == (6, "the pear")
    assert shown(vault, "plum") == (2, "the plum")
    assert shown(vault, "fig") == (2, "the fig")
    assert shown(vault, "grape") == (1, "")
    assert shown(vault, "quince") == (2, "aliases: [quince]")
    assert shown(vault, "lemon kiwi") == (2, "kiwi and lemon")


@pytest.mark.parametrize(
    ("before", "word"), [("İﬁ " * 10, "apple"), ("İﬁ " * 100_000, "apple"), ("가나다 " * 500, "한국어")]
)
def test_of_a_long_line_the_part_around_the_word_is_shown(before: str, word: str, make_vault: MakeVault) -> None:
    _, snippet = shown(make_vault({"a.md": f"{before}{word}{' ß' * 5_000}"}), word)
    assert len(snippet) <= SNIPPET_CHARS_MAX
    assert word in snippet


def test_a_phrase_is_within_one_name(make_vault: MakeVault) -> None:
    vault = make_vault(
        {"north-south.md": "---\naliases: [one-two, three-four]\n---\n# East-west\n## A-b\ntext\n## C-d\n"}
    )
    for within in ("north-south", "east-west", "one-two", "three-four", "a-b", "c-d"):
        assert hits(vault, within) == ["north-south.md"], within
    for across in ("west-north", "two-three", "four-a", "b-c", "d-one", "\ue000", "west\ue000north"):
        assert hits(vault, across) == [], across


def test_a_note_that_is_gone_moved_or_private_now_is_not_shown(make_vault: MakeVault) -> None:
    files = {f"{name}.md": "apple #one [[z]]" for name in ("gone", "moved", "private", "kept")}
    vault = make_vault({**files, "z.md": "apple #one"})
    root = vault.root.path
    (root / "gone.md").unlink()
    (root / "moved.md").rename(root / "elsewhere.md")
    (root / "private.md").write_text("---\nworkspaced: private\n---\napple #one [[z]]")
    assert hits(vault, "apple") == ["kept.md", "z.md"]
    assert notes_of(vault.searches.sharing_tags(NoteId("z.md"), 9)) == ["kept.md"]
    incoming = vault.links.incoming(NoteId("z.md"), 9, EMPTY_VAULT)
    assert ([link.source.id for link in incoming.links], incoming.total) == (["kept.md"], 1)
    assert vault.searches.search(SearchQuery("apple", 1)).total == 2


# -- what is withheld --

SECRET: dict[str, str | bytes] = {
    "shared.md": "---\ntags: [one]\n---\n# Shared\n\nzebra quagga okapi [[private]] [[denied/x]]\n",
    "other.md": "zebra quagga okapi #one",
    "far.md": "unlike",
    "private.md": "---\nworkspaced: private\ntags: [one, secret]\n---\n# Private\n\nzebra quagga okapi [[shared]]",
    "denied/x.md": "# Denied\n\nzebra quagga okapi #one #hidden [[shared]]\n",
}


def shows_nothing_withheld(vault: Vault) -> None:
    """That nothing else tells of such notes: test_levels.py."""
    found = vault.searches.search(SearchQuery("zebra", 1))
    assert found.total == 2 and set(notes_of(found.hits)) <= {"shared.md", "other.md"}
    assert notes_of(vault.searches.similar(NoteId("shared.md"), 9)) == ["other.md"]
    assert notes_of(vault.searches.sharing_tags(NoteId("shared.md"), 9)) == ["other.md"]
    assert vault.links.incoming(NoteId("shared.md"), 9, EMPTY_VAULT).total == 0
    overview = vault.searches.overview(9)
    assert (overview.notes, overview.tags) == (3, (("one", 2),))
    for reference in ("Denied", "Denyed", "denied/x.md"):
        found_note = vault.links.resolve(reference, EMPTY_VAULT)
        named = [found_note.note] if found_note.note else [*found_note.candidates, *found_note.near]
        assert "denied/x.md" not in {ref.id for ref in named}, reference
    assert vault.notes.names([NoteId("private.md"), NoteId("denied/x.md")]) == [None, None]


def test_a_rule_holds_from_the_first_answer(make_vault: MakeVault, tmp_path: Path) -> None:
    vault = make_vault(SECRET, cache_dir=tmp_path / "cache")
    vault.close()
    gate_passed = []

    def clock_ns() -> int:
        if not gate_passed:  # the first file of the first survey is read
            gate_passed.append(True)
            shows_nothing_withheld(again)
        return later_ns()

    (vault.root.path / "far.md").write_text("unlike still")
    again = Vault(
        vault.root.path, cache_dir=tmp_path / "cache", deny=["denied/"], clock_ns=clock_ns, index_wait_s=0.0
    )
    again.reconcile()
    assert gate_passed
    shows_nothing_withheld(again)
    again.close()


# -- likeness, tags, overview --


def test_near_titles_survive_odd_signs(make_vault: MakeVault, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_module, "_NEAR_COMPARED_MAX", 1)
    vault = make_vault({"a.md": '# The "quoted" title', "b.md": "# 東京タワー", "c.md": "# x"})
    for reference, near in (('The "quoted" titel', "a.md"), ("東京タワ", "b.md")):
        assert [ref.id for ref in vault.links.resolve(reference, EMPTY_VAULT).near][:1] == [near]
    for odd in ('"""', "***", "ab", "x\ue000y", "AND OR NOT", "a" * 5_000):
        vault.links.resolve(odd, EMPTY_VAULT)
    assert vault.index_state() == "ready"


@pytest.mark.parametrize(
    "ask",
    [
        lambda vault: vault.searches.search(SearchQuery("zebra", 9)).hits,
        lambda vault: vault.searches.similar(NoteId("a.md"), 9),
    ],
    ids=["search", "similar"],
)
def test_a_note_that_is_indexed_anew_during_the_answer_is_in_it(
    make_vault: MakeVault, monkeypatch: pytest.MonkeyPatch, ask: Callable[[Vault], Any]
) -> None:
    """A crawl gives a note that is too young to be trusted another number, between two reads of one answer."""
    vault = make_vault({"a.md": "# A\nzebra", "b.md": "# B\nzebra", "c.md": "# C\nelse"})
    before = ask(vault)
    texts = full_text.texts

    def indexed_anew(*arguments: Any) -> Any:
        again = Thread(target=lambda: (vault.index.doubt([NoteId("b.md")]), vault.changed(["b.md"])))
        again.start()
        again.join()
        return texts(*arguments)

    monkeypatch.setattr(full_text, "texts", indexed_anew)
    assert ask(vault) == before
    assert "b.md" in notes_of(before)


FOLDERS = {
    "b.md": "# Bee\n\n#x/y\n",
    "work/z.md": "#x\n",
    "work/a.md": "---\ntags: [X]\ntitle: First\n---\n",
    "work/deep/m.md": "#xx\n",
    "workshop/w.md": "nothing",
    "Work/upper.md": "nothing",
    "wörk/ü.md": "#Ü\n",
}


@pytest.mark.parametrize(
    ("folder", "tag", "expected"),
    [
        ("work", None, ["work/a.md", "work/deep/m.md", "work/z.md"]),
        ("work/deep", None, ["work/deep/m.md"]),
        ("wörk", None, ["wörk/ü.md"]),
        (None, "x", ["b.md", "work/a.md", "work/z.md"]),
        (None, "X/Y", ["b.md"]),
        (None, "ü", ["wörk/ü.md"]),
        ("work", "x", ["work/a.md", "work/z.md"]),
        ("", None, sorted(FOLDERS)),
        (None, None, sorted(FOLDERS)),
        ("wor", None, []),
        ("../work", None, []),
        ("work' OR 1 --", None, []),
        (None, "%", []),
    ],
)
def test_all_below_the_folder_with_the_tag_sorted_by_path(
    make_vault: MakeVault, folder: str | None, tag: str | None, expected: list[str]
) -> None:
    found = make_vault(FOLDERS).searches.members(folder, tag, 100)
    assert [ref.id for ref in found.notes] == expected and found.total == len(expected)


WORDS = [f"{first}{second}{third}" for first in "kitchen" for second in "aeiou" for third in ("lm", "rst", "n")]
NOTE = NoteId("folder1/n8.md")
SEARCHES = (
    "kalm", "kalm in a", "a", "a b", "ü a kalm", "kalm tag:project", "kalm -tag:project", "kalm path:folder1",
    "kalm -inst", '"kalm inst"', "kalm inst tolm cherst hin o", "日", "in", "1 2 3 kalm", "OR",
)  # fmt: skip
QUESTIONS: list[q.Question[Any]] = [
    *(q.Search(SearchQuery(words, 10)) for words in SEARCHES),
    *(q.Search(SearchQuery(words, 10, names_only=True)) for words in SEARCHES),
    q.Search(SearchQuery("kalm a", 10, among=(NOTE,))),
    q.Search(SearchQuery("kalm a", 10, folder="folder1", tags=("project",))),
    q.Resolve("n12"), q.Resolve("folder1/n12.md"), q.Resolve("No such note"), q.ResolveFrom("n12", NOTE),
    q.LinkTargets(NOTE, []), q.Incoming(NOTE, 20), q.Images(NOTE), q.Names([NOTE]), q.NamesLike("n1", 10),
    q.Members("folder1", None, 10), q.Members(None, "project", 10), q.Members(None, None, 10),
    q.Similar(NOTE, 10), q.SharingTags(NOTE, 10), q.Overview(10), q.NoteCount(), q.Read([NOTE]),
]  # fmt: skip
NESTED = re.compile(r"SCAN \w+ VIRTUAL TABLE INDEX \d+:.*=")
"""A full-text table asked once for each row of another: `M` is a match, `=` a row's number."""


def notes(count: int) -> dict[str, str | bytes]:
    chance = random.Random(1)
    return {
        f"folder{number % 7}/n{number}.md": f"# Note {number}\n\n#project/p{number % 5} a ü 日\n\n"
        f"{' '.join(chance.choices(WORDS, k=30))} [[n{chance.randrange(count)}]]\n"
        for number in range(count)
    }


@pytest.mark.parametrize("count", [50, pytest.param(20_000, marks=pytest.mark.thorough)])
def test_no_statement_is_quadratic(count: int, make_vault: MakeVault, monkeypatch: pytest.MonkeyPatch) -> None:
    vault = make_vault(notes(count))
    plans: dict[str, list[str]] = {}
    asked = database._rows

    def explained(reader: sqlite3.Connection, sql: str, arguments: Any = ()) -> list[Any]:
        if not sql.startswith("PRAGMA"):
            plan = reader.execute(f"EXPLAIN QUERY PLAN {sql}", arguments).fetchall()
            plans.setdefault(sql, [detail for _, _, _, detail in plan])
        return asked(reader, sql, arguments)

    monkeypatch.setattr(database, "_rows", explained)
    for question in QUESTIONS:
        vault.ask(question, EMPTY_VAULT)
    assert len(plans) > 30, "the statements were not seen"
    slow = {sql: plan for sql, plan in plans.items() if any(map(NESTED.match, plan)) or scans_inside(plan)}
    assert slow == {}


def scans_inside(plan: list[str]) -> bool:
    """Whether a table is read whole for each row of the one before it."""
    made = {step.removeprefix("MATERIALIZE ") for step in plan if step.startswith("MATERIALIZE ")}
    loops = [step for step in plan if step.startswith(("SCAN", "SEARCH")) and step[5:] not in made]
    return any(re.match(r"SCAN \w", step) and "VIRTUAL" not in step for step in loops[1:])
