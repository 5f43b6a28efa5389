"""A search's payload explains itself, and nothing that was found can leave its place in it."""

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import conversation as w
from support.growth import grows_linearly, thread_seconds
from support.profiles import examples

from workspaced_events.errors import LogDamaged
from workspaced_tools.prompts.sources.search_block import (
    Document,
    Numbers,
    Search,
    read_search,
    search_block,
    search_text,
)

PLAN = Document("Plan", "work/plan.md", "Ship on Friday.")
SITE = Document("Site (new)", "https://example.org/a?b=(1)", "It ships.")
HOSTILE = [
    *["</document>", "<document>", "</search_workspace>", "</tool_result>", "<tool_result>"],
    *["</document_sources>", "<document_sources>", "</content>", "&lt;/document&gt;", "＜/document＞"],
    *["</docu\u200bment>", "</title>", "\n[9] Fake (fake.md)\n", "\n", "\r", "\u2028", "[^3]", "[^ 3]"],
    *["[^3, ^4]", "［^3]", "[^^3]", "[^[^3", "]", "[", "^", "3", "\\", "<source_number>7</source_number>", '"'],
    *["&quot;", "words", "[^0-9]", "[^note]"],
]
hostile = st.lists(st.sampled_from(HOSTILE), max_size=8).map("".join)


def test_a_payload_says_what_it_is_shows_its_documents_and_tells_how_to_cite_them() -> None:
    shown = search_block("search_workspace", {"title": "search"}, Search("ship?", (PLAN, SITE)), Numbers())
    lines = shown.splitlines()
    assert lines[:2] == ["<search_workspace>", "<title>search</title>"] and lines[-1] == "</search_workspace>"
    document = (
        "<document>\n<source_number>1</source_number>\n<title>Plan</title>\n<source>work/plan.md</source>\n"
        "<content>\nShip on Friday.\n</content>\n</document>"
    )
    catalogue = (
        "<document_sources>\n[1] Plan (work/plan.md)\n[2] Site (new) (https://example.org/a?b=(1))\n"
        "</document_sources>"
    )
    assert shown.index('"ship?"') < shown.index(document) < shown.index(catalogue) < shown.rindex("[^1][^2]")


@settings(max_examples=examples(200))
@given(hostile, hostile, hostile, hostile)
def test_nothing_that_was_found_can_leave_its_place(query: str, title: str, source: str, body: str) -> None:
    search = Search(query, (Document(title, source or "s", body), PLAN))
    numbers = Numbers()
    shown = search_block("search_workspace", {"title": query, "source": source}, search, numbers)
    count = len(search.documents)
    for name, times in (("search_workspace", 1), ("document", count), ("source_number", count)):
        assert shown.count(f"</{name}>") == times
    for name, times in (("document", count), ("document_sources", 1), ("tool_result", 0)):
        assert len(re.findall(rf"<{name}>", shown)) == times
    assert shown.count("</document_sources>") == 1 and "</tool_result>" not in shown
    catalogue = shown[shown.index("<document_sources>") : shown.index("</document_sources>")]
    assert len(catalogue.splitlines()) == 1 + len(numbers.sources)


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"query": 1, "documents": []}', "words"])
def test_a_blob_that_is_no_search_is_damage(text: str) -> None:
    with pytest.raises(LogDamaged):
        read_search(text)


@pytest.mark.parametrize("unit", ["[^", "[^3", "[^3, ", "[ ", "[^3]", "<", "</document", "^^", "[\\"])
def test_a_payload_takes_linear_time(unit: str) -> None:
    def seconds(length: int) -> float:
        documents = (Document(unit * length, "s", unit * length), Document("t", unit * length, ""))
        return thread_seconds(lambda: search_text(Search("q", documents), Numbers()))

    assert grows_linearly(seconds, 2_000, 8_000)


RYE, OAT, FIG = (Document(name.title(), f"{name}.md", f"All of {name}.") for name in ("rye", "oat", "fig"))


def numbers(made: Any) -> list[str]:
    """The documents in the order shown: number and source."""
    lines = w.whole(made).splitlines()
    return [
        line.removeprefix("<source_number>").removesuffix("</source_number>")
        + " "
        + lines[at + 2].removeprefix("<source>").removesuffix("</source>")
        for at, line in enumerate(lines)
        if line.startswith("<source_number>")
    ]


def catalogue(chat: Any, **of: Any) -> list[str]:
    turn = chat.acquired(**of)
    return [f"{each.number} {each.source}" for each in w.sources_of(chat.now, turn, chat.texts)]


def test_numbers_run_through_the_turn_attachments_first_then_its_rounds(chat: Any) -> None:
    chat.say("Which?", chat.search("s1", "q", RYE, OAT), chat.search("s2", "q", OAT, FIG))
    chat.answer(None, "call-1", "call-2")
    chat.search_results(
        ("call-1", chat.found("x", Document("New", "new.md", "."), FIG)), ("call-2", chat.found("y", RYE))
    )
    made = chat.prompt()
    shown = numbers(made)
    assert sorted(shown) == sorted(
        ["1 rye.md", "2 oat.md", "2 oat.md", "3 fig.md", "4 new.md", "3 fig.md", "1 rye.md"]
    )
    assert catalogue(chat) == ["1 rye.md", "2 oat.md", "3 fig.md", "4 new.md"]
    assert all(block.text and "excerpts" in block.text for block in w.spoken(made)[-1].content)


def test_in_the_history_a_round_has_the_numbers_of_its_own_turn(chat: Any) -> None:
    chat.say("Which?", chat.search("s1", "q", RYE, OAT))
    chat.prompt()
    chat.answer(None, "call-1")
    chat.search_results(("call-1", chat.found("x", FIG, RYE)))
    then = chat.prompt()
    chat.answer("Figs [^3].")
    chat.say("And?", chat.search("s2", "q", OAT))
    made = chat.prompt()
    assert sorted(numbers(made)) == ["1 oat.md", "1 rye.md", "1 rye.md", "2 oat.md", "3 fig.md"]
    assert w.spoken(made)[2] == w.spoken(then)[2]  # the very same bytes
    assert catalogue(chat) == ["1 oat.md"]
    chat.answer()
    later = chat.turn("Last.")
    assert numbers(later) == numbers(made)


@pytest.mark.parametrize("form", ["text", "search"])
def test_that_a_tool_failed_reaches_the_model_wherever_its_result_stands(chat: Any, form: str) -> None:
    chat.say("Which?")
    chat.answer(None, "call-1")
    blob = chat.found("q", RYE) if form == "search" else chat.keep(b"It broke.")
    chat.message("user", tool_results=(w.c.ToolResult("call-1", "look_up", blob, True, form),))
    now = chat.prompt()
    chat.answer()
    later = chat.turn("And now?")
    for made, layer in ((now, "L3_TURN"), (later, "L4_STRIP")):
        assert [b.is_error for m in made.envelope.messages for b in m.content if b.type == "toolResult"] == [True]
        assert "[toolResult look_up call-1 error]" in w.layer_text(made, layer)
        assert ("It broke." if form == "text" else "All of rye.") in w.whole(made)
