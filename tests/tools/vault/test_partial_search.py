"""Search by a question: notes that hold some of the words, ranked by the words that tell most."""

import random
from pathlib import Path
from typing import Any

import pytest
from support.tool_fixtures import MakeVault, later_ns

from workspaced_events.ids import NoteId
from workspaced_tools.notes.note import Level
from workspaced_tools.ports.vault import Found, SearchQuery
from workspaced_tools.vault.index import partial as partial_module
from workspaced_tools.vault.vault import Vault

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
