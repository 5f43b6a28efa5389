"""A search's payload explains itself, and nothing that was found can leave its place in it."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
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
