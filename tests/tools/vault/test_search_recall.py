"""Search finds the notes that hold the words, and no other: against a slow scan, in twelve scripts, in every state
of the index."""

import random
import unicodedata
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.images import write
from support.oracle_reading import fold
from support.profiles import examples
from support.tool_fixtures import MakeVault, later_ns

from workspaced_events.ids import NoteId
from workspaced_tools.notes.note import Level
from workspaced_tools.ports.vault import Found, SearchQuery
from workspaced_tools.vault.index import partial as partial_module
from workspaced_tools.vault.index import search as search_module
from workspaced_tools.vault.vault import Vault

WORDS = {
    "English": ["link", "backlink", "crypt", "encrypted", "file-name", "Note", "C++"],
    "German": ["Notiz", "Tagesnotizen", "Straße", "Größe"],
    "French": ["note", "élève", "cœur", "aujourd'hui"],
    "Russian": ["файл", "файлы", "мой", "Ёлка"],
    "Greek": ["σημείωση", "ΑΡΧΕΙΟ", "λόγος"],
    "Korean": ["노트", "노트를", "한국어", "파일"],
    "Chinese": ["笔记", "文件", "知识库"],
    "Japanese": ["ノート", "ファイル", "が", "東京都"],
    "Arabic": ["ملف", "الملفات", "مَلَفّ", "مـلـف"],
    "Hebrew": ["כספת", "הכספת", "כַּסֶּפֶת"],
    "Thai": ["โน้ต", "ไฟล์", "ที่"],
    "Bengali": ["নোট", "নোটগুলি", "ফাইল"],
    "Hindi": ["नोट", "फ़ाइल", "हिन्दी"],
}
ALL_WORDS = [word for words in WORDS.values() for word in words]


def holding(files: dict[str, str], query: str) -> list[str]:
    """The notes that hold every word of `query`, read one after the other."""
    words = [fold(word) for word in query.split()]
    found = []
    for path, text in files.items():
        fields = [path.removesuffix(".md"), path.removesuffix(".md").rpartition("/")[2], text]
        if all(any(word in fold(field) for field in fields) for word in words):
            found.append(path)
    return sorted(found)


def found(vault: Vault, query: str, **more: Any) -> list[str]:
    """The notes that hold all the words."""
    answer = vault.searches.search(SearchQuery(query, 50, **more))
    assert answer.exact and answer.complete and answer.total == len(answer.hits)
    return sorted(hit.note.id for hit in answer.hits if hit.missing is None)


def agrees(vault: Vault, files: dict[str, str], queries: list[str]) -> None:
    for query in queries:
        assert found(vault, query) == holding(files, query), query


@st.composite
def texts(draw: st.DrawFn) -> str:
    """Words of a few scripts with others around, before and behind them, in several normal forms and cases."""
    made = []
    for word in draw(st.lists(st.sampled_from(ALL_WORDS), min_size=1, max_size=6)):
        before, behind = (
            draw(st.sampled_from(["", "", "x", "ال", "un"])),
            draw(st.sampled_from(["", "", "s", "를", "の"])),
        )
        form = draw(st.sampled_from(["NFC", "NFD", "NFKD"]))
        cased = draw(st.sampled_from([str, str.upper, str.title]))(word)
        made.append(unicodedata.normalize(form, f"{before}{cased}{behind}"))
        made.append(draw(st.sampled_from([" ", " ", "\n", ", ", "\u200b", "-"])))
    return "".join(made).rstrip(" ,") + "\n"


NAMES = st.sampled_from(["a.md", "b.md", "노트.md", "work/ملف.md", "Notiz.md"])
VAULTS = st.dictionaries(NAMES, texts(), min_size=1, max_size=5)


@st.composite
def queries(draw: st.DrawFn, files: dict[str, str]) -> list[str]:
    """Words of the list, and pieces of two or more characters of what the notes hold."""
    chosen = draw(st.lists(st.sampled_from(ALL_WORDS), max_size=4))
    pieces = []
    for text in files.values():
        words = [word.strip(",.-") for word in text.split()]
        word = draw(st.sampled_from([word for word in words if len(fold(word)) > 1] or ["none"]))
        start = draw(st.integers(0, len(word) - 1))
        pieces.append(word[start : start + draw(st.integers(2, 6))].strip(",.-'"))  # signs at ends are no words
    wanted = [piece for piece in pieces if len(fold(piece)) > 1]
    return [*chosen, *wanted, " ".join(chosen[:2] or ["note"])]


@settings(max_examples=examples(100))
@given(st.data())
def test_search_agrees_with_a_scan_after_building_edits_renames_and_a_crash(data: st.DataObject) -> None:
    files = data.draw(VAULTS)
    with TemporaryDirectory() as place, TemporaryDirectory() as cache:
        root = Path(place)
        write(root, files)
        vault = Vault(root, cache_dir=Path(cache), clock_ns=later_ns)
        try:
            vault.reconcile()
            agrees(vault, files, data.draw(queries(files)))
            edits = data.draw(VAULTS)
            write(root, edits)
            files |= edits
            agrees_after = data.draw(queries(files))
            vault.changed(list(edits))
            agrees(vault, files, agrees_after)
            moved = sorted(files)[0]
            (root / moved).rename(root / "moved.md")
            files["moved.md"] = files.pop(moved)
            vault.changed([moved, "moved.md"])
            agrees(vault, files, data.draw(queries(files)))
        finally:
            if data.draw(st.booleans()):
                vault.index.file.drop()  # as a crash leaves it: without its seal
            vault.close()
        again = Vault(root, cache_dir=Path(cache), clock_ns=later_ns)
        try:
            again.reconcile()
            agrees(again, files, data.draw(queries(files)))
        finally:
            again.close()


def test_every_word_of_a_script_is_found_wherever_it_stands(make_vault: MakeVault) -> None:
    files = {}
    for number, word in enumerate(ALL_WORDS):
        files[f"{number}.md"] = f"before{word}behind\n"
        files[f"alone{number}.md"] = f"{word}\n"
        files[f"nfd{number}.md"] = unicodedata.normalize("NFD", f"x {word.upper()} y\n")
    vault = make_vault(files)
    for word in ALL_WORDS:
        for query in {word, word[:2], word[-2:], word.lower(), unicodedata.normalize("NFD", word)}:
            if len(fold(query)) > 1:
                agrees(vault, files, [query])


def test_one_character_is_a_word_in_ascii_and_any_part_elsewhere(make_vault: MakeVault) -> None:
    vault = make_vault({"x.md": "plan b", "y.md": "about", "京都.md": "東京", "z.md": "京, b."})
    assert found(vault, "b") == ["x.md", "z.md"]
    assert found(vault, "京") == ["z.md", "京都.md"]
    assert found(vault, "京 b") == ["z.md"]
    assert found(vault, "京 b", names_only=True) == []
    assert found(vault, "京", names_only=True) == ["京都.md"]


def test_phrases_operators_and_what_is_text(make_vault: MakeVault) -> None:
    vault = make_vault(
        {
            "work/plan.md": "---\ntags: [project/web]\n---\nred apple pie\n",
            "home/list.md": "apple red\npie #project\n",
            "home/cli.md": "use --no-watch or -quiet, or tag:none and path:here\n",
        }
    )
    assert found(vault, '"red apple"') == ["work/plan.md"]
    assert found(vault, '"red pie"') == ["home/list.md"], "white space is one blank, also at a line's end"
    assert found(vault, "apple -list") == ["work/plan.md"]
    assert found(vault, 'red -"red apple"') == ["home/list.md"]
    assert found(vault, "tag:project") == ["home/list.md", "work/plan.md"]
    assert found(vault, "red tag:#project/web") == ["work/plan.md"]
    assert found(vault, "red -tag:project/web") == ["home/list.md"]
    assert found(vault, "path:home red") == found(vault, 'red path:"HOME/l"') == ["home/list.md"]
    assert found(vault, "red path:./home/") == ["home/list.md"]
    assert found(vault, "red path:.") == found(vault, "red path:./") == found(vault, "red")
    assert found(vault, "red -path:home") == ["work/plan.md"]
    for text in ("--no-watch", "tag:none", "use path:here", "tag:none path:here"):
        answer = vault.searches.search(SearchQuery(text, 5))
        assert [hit.note.id for hit in answer.hits] == ["home/cli.md"], text
        assert answer.as_text is not text.startswith("--"), "what is no operator at all is not tried twice"
    assert not vault.searches.search(SearchQuery("red -apple", 5)).hits, "nor is it a hit for some of the words"
    assert found(vault, "use --no-watch here") == ["home/cli.md"], "two signs are text"
    alone = vault.searches.search(SearchQuery("-quiet", 5))
    assert ([hit.note.id for hit in alone.hits], alone.as_text) == (["home/cli.md"], False), (
        "it asks for nothing else"
    )


def test_names_come_before_headings_before_text_and_whole_words_before_parts(make_vault: MakeVault) -> None:
    filler = "word " * 20
    vault = make_vault(
        {
            "crypt.md": filler,
            "crypts.md": filler,
            "encrypt.md": filler,
            "1.md": f"# One\n## crypt\n{filler}",
            "2.md": f"# Two\n## crypts\n{filler}",
            "3.md": f"# Three\n## encrypt\n{filler}",
            "4.md": f"crypt {filler}",
            "5.md": f"crypts {filler}",
            "6.md": f"encrypt {filler}",
            "7.md": f"{filler}\nencrypt encrypt encrypt\n",
        }
    )
    order = [hit.note.id for hit in vault.searches.search(SearchQuery("crypt", 20)).hits]
    names, headings = ["crypt.md", "crypts.md", "encrypt.md"], ["1.md", "2.md", "3.md"]
    assert order == [*names, *headings, "4.md", "5.md", "7.md", "6.md"]


def test_of_equals_the_one_visited_last_comes_first(make_vault: MakeVault) -> None:
    vault = make_vault({f"{name}.md": "apple" for name in "abc"})
    query = SearchQuery("apple", 5)
    assert [hit.note.id for hit in vault.searches.search(query).hits] == ["a.md", "b.md", "c.md"]
    visited = {NoteId("b.md"): "2026-03-01T11:00:00Z", NoteId("c.md"): "2026-03-01T12:00:00Z"}
    assert [hit.note.id for hit in vault.searches.search(query, visited).hits] == ["c.md", "b.md", "a.md"]


def test_a_total_beyond_the_verified_is_a_bound(make_vault: MakeVault, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_module, "CANDIDATES_VERIFIED_MAX", 10)
    vault = make_vault({"0 apple.md": "first", **{f"{number:02}.md": "apple" for number in range(30)}})
    answer = vault.searches.search(SearchQuery("apple", 5))
    assert not answer.exact
    assert 10 <= answer.total <= 31
    assert answer.hits[0].note.id == "0 apple.md"
    assert vault.searches.search(SearchQuery("first", 5)).exact


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("text", "query", "total"),
    [
        pytest.param("a" + "\u1dc2\u1dc1" * 100_000, "a\u1dc2", 0, id="a note of marks"),
        pytest.param("\ufdfa " * 100_000 + " tail", "tail", 1, id="folds to eighteen times its length"),
    ],
)
def test_a_hostile_note_stops_nothing(text: str, query: str, total: int, make_vault: MakeVault) -> None:
    """Hours would pass if marks were sorted by insertion."""
    vault = make_vault({"hostile.md": text, "b.md": "needle\n"})
    assert found(vault, "needle") == ["b.md"]
    assert vault.searches.search(SearchQuery(query, 5)).total >= total


DEMO = Path(__file__).parents[3] / "workspaced/workspaced/demo/vault"
ANSWERED = {
    "which removal company is cheapest": "Movers compared",
    "how much may the new kitchen cost at most": "Kitchen budget",
    "who does the electrical work": "2026-04-09 Kitchen and electrician",
    "whom must I tell about the new apartment address": "Address changes",
    "when are the keys handed over": "🔑 Handover",
    "feeding the leaven": "Sourdough starter",
    "oven temperature problems": "Oven notes",
    "books I want to read": "Reading list",
    "unpaid bills": "Invoices 2026",
    "sweet cardamom buns": "Kardemummabullar",
}
FILES = {
    "kitchen.md": "# Kitchen\n\nOak.\n\n## Budget\n\nThe kitchen may cost 9,000 at most.\n\n## Walls\n\nGreen.\n",
    "bath.md": "# Bath\n\nThe bath has tiles and may stay.\n",
    "garden.md": "# Garden\n\nThe garden may have roses.\n",
    **{f"n{number}.md": f"# N{number}\n\nThe text may be the {number}th.\n" for number in range(20)},
}


def search(vault: Vault, words: str, limit: int = 10, **more: Any) -> Found:
    return vault.searches.search(SearchQuery(words, limit, **more))


def ids(found: Found) -> list[str]:
    return [hit.note.id for hit in found.hits]


@pytest.fixture(scope="module")
def demo() -> Any:
    vault = Vault(DEMO, clock_ns=later_ns)
    vault.reconcile()
    yield vault
    vault.close()


@pytest.mark.parametrize("question", ANSWERED)
def test_a_question_in_words_finds_its_note_among_the_first_five(demo: Vault, question: str) -> None:
    assert ANSWERED[question] in [Path(path).stem for path in ids(search(demo, question, 5))]


def test_a_hit_for_some_words_names_the_section_and_what_is_missing(make_vault: MakeVault) -> None:
    found = search(make_vault(FILES), "how much may the kitchens cost here")
    first = found.hits[0]
    assert (first.note.id, first.heading, first.line) == ("kitchen.md", "Budget", 7)
    assert first.snippet == "The kitchen may cost 9,000 at most."
    assert first.missing == ("how", "much", "here"), "another form is not missing, nor is what most notes hold"
    assert found.total == len(found.hits) and found.exact


def test_those_that_hold_all_come_first_and_others_follow_where_they_are_few(make_vault: MakeVault) -> None:
    found = search(make_vault({"a.md": "oak table", "b.md": "table of stone", **FILES}), "table oak")
    assert [(hit.note.id, hit.missing) for hit in found.hits] == [("a.md", None), ("b.md", ("oak",))]
    assert found.hits[0].score > found.hits[1].score
    texts = {f"{number}.md": "oak table" for number in range(3)}
    assert len(search(make_vault({**texts, "x.md": "oak chair"}), "oak table").hits) == 3


def test_an_operator_holds_for_every_hit_and_what_is_quoted_comes_first(make_vault: MakeVault) -> None:
    vault = make_vault(
        {"a/one.md": "roses and oak #wood", "a/two.md": "oak and stone", "b/three.md": "oak, roses, thorns #wood"}
    )
    assert set(ids(search(vault, "oak roses pebbles moss"))) == {"a/one.md", "a/two.md", "b/three.md"}
    quoted = {str(hit.note.id): hit.missing for hit in search(vault, 'oak "roses" pebbles moss').hits}
    assert list(quoted)[2] == "a/two.md" and quoted["a/two.md"] == ('"roses"', "pebbles", "moss")
    assert quoted["a/one.md"] == quoted["b/three.md"] == ("pebbles", "moss")
    assert ids(search(vault, 'oak "roses" pebbles moss -thorns path:b')) == []
    assert ids(search(vault, "oak roses pebbles moss -thorns -stone")) == ["a/one.md"]
    assert set(ids(search(vault, "oak roses pebbles moss path:a/"))) == {"a/one.md", "a/two.md"}
    assert set(ids(search(vault, "oak roses pebbles moss tag:wood"))) == {"a/one.md", "b/three.md"}
    assert ids(search(vault, "oak roses pebbles moss -tag:wood")) == ["a/two.md"]
    assert ids(search(vault, "oak roses pebbles moss", folder="b")) == ["b/three.md"]
    assert ids(search(vault, "oak roses pebbles", among=(NoteId("a/two.md"),))) == ["a/two.md"]
    assert search(vault, '"oak pebbles" "moss"').hits == ()


def test_a_short_note_is_compared_beside_long_ones_that_may_hold_more(make_vault: MakeVault) -> None:
    """Long pages have the trigrams of each word somewhere, and so weigh more before their texts are read."""
    chance = random.Random(2)
    parts = ["lighthouse", "wheat", "heather", "how", "do", "we", "the"]
    pages = {f"{n}.md": " ".join(chance.choice(parts) for _ in range(3_000)) for n in range(120)}
    vault = make_vault({**pages, "h.md": "# Heating\n\nWe heat the house with gas.\n"})
    assert ids(search(vault, "how do we heat the house"))[0] == "h.md"


def test_a_heading_that_repeats_is_named_with_those_above(make_vault: MakeVault) -> None:
    days = "".join(
        f"## May {day}\n\n### Decisions\n\n{text}\n\n" for day, text in ((4, "Keep it."), (5, "Drop Windows."))
    )
    vault = make_vault({**FILES, "s.md": f"# Standups\n\n{days}"})
    for words in ("why did we drop the windows build", "drop windows"):
        [first, *_] = search(vault, words).hits
        assert (first.note.id, first.heading, first.line) == ("s.md", "May 5#Decisions", 13)


def test_who_sees_names_learns_nothing_of_the_text_from_the_order(make_vault: MakeVault) -> None:
    names = ("Alpha plan.md", "Beta alpha.md")
    answers = []
    for texts in (("x", "x"), ("x", "alpha " * 60), ("long " * 2_000, "x")):
        vault = make_vault(dict(zip(names, texts, strict=True)))
        answers.append([(hit.note.id, hit.score) for hit in search(vault, "alpha", names_only=True).hits])
        assert not search(vault, "alpha plan budget", names_only=True).hits, "nor a hit for some of the words"
    assert answers[0] == answers[1] == answers[2]


def test_both_indexes_are_ranked_as_one(make_vault: MakeVault) -> None:
    """Notes for explicit requests count in how rare a word is for whom may see them, and for nobody else."""
    asked = "---\nworkspaced: on-request\n---\nroses and thorns\n"
    plain = {f"{number}.md": "oak and moss" for number in range(6)}
    both = make_vault({**plain, "a.md": "roses and moss", "s.md": asked})
    query = SearchQuery("which roses have many thorns", 9)
    seen = both.searches.search(query, least=Level.ON_REQUEST)
    assert ids(seen)[0] == "s.md" and "a.md" in ids(seen)
    without = make_vault({**plain, "a.md": "roses and moss"})
    assert both.searches.search(query) == without.searches.search(query)


def test_what_is_not_compared_is_said(make_vault: MakeVault, monkeypatch: pytest.MonkeyPatch) -> None:
    vault = make_vault({f"{number}.md": f"oak {number} " + "x " * 200 for number in range(5)})
    assert search(vault, "oak of pebbles moss").exact
    monkeypatch.setattr(partial_module, "PARTIAL_CHARS_COMPARED_MAX", 1_000)
    assert not search(vault, "oak of pebbles moss").exact


@pytest.mark.parametrize(
    "text", ["roses and tiles cost", f"most {'it goes on ' * 2_000}"], ids=["hit", "compared"]
)
def test_a_note_that_turned_private_a_moment_ago_changes_nothing(text: str, make_vault: MakeVault) -> None:
    query, vault, without = "what may roses and tiles cost", make_vault({**FILES, "s.md": text}), make_vault(FILES)
    (vault.root.path / "s.md").write_text(f"---\nworkspaced: private\n---\n{text}\n")
    assert len(ids(search(without, query))) > 1, "a score is a share of the best"
    assert search(vault, query) == search(without, query)
