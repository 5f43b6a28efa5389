"""Search finds the notes that hold the words, and no other: against a slow scan, in twelve scripts, in every state
of the index."""

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
from workspaced_tools.ports.vault import SearchQuery
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
