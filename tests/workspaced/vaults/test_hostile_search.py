"""Search over hostile notes: it answers, and would take hours if marks were sorted by insertion."""

from typing import Any

import pytest

LONG = "\u1dc2\u1dc1" * 100_000


@pytest.mark.thorough
def test_a_note_of_marks_neither_stops_the_index_nor_a_search(daemon: Any) -> None:
    running = daemon(notes={"marks.md": f"a{LONG}", "b.md": "needle\n"})
    with running.connect() as client:
        answer = client.tool("search_workspace", {"query": "needle"})
        while not answer["data"]["complete"]:
            answer = client.tool("search_workspace", {"query": "needle"})
        assert [hit["id"] for hit in answer["data"]["results"]] == ["b.md"]
        assert client.tool("search_workspace", {"query": "a\u1dc2"})["data"]["total"] <= 1


@pytest.mark.thorough
def test_the_end_of_a_text_that_folds_to_eighteen_times_its_length_is_found(daemon: Any) -> None:
    running = daemon(notes={"long.md": "\ufdfa " * 100_000 + " tail", "b.md": "head\n"})
    with running.connect() as client:
        answer = client.tool("search_workspace", {"query": "tail"})
        while not answer["data"]["complete"]:
            answer = client.tool("search_workspace", {"query": "tail"})
        assert [hit["id"] for hit in answer["data"]["results"]] == ["long.md"]
        found = client.tool("search_workspace", {"query": "عليه"})
        assert [hit["id"] for hit in found["data"]["results"]] == ["long.md"]
