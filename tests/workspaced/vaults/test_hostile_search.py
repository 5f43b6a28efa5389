"""Search over hostile notes: it answers, and would take hours if marks were sorted by insertion."""

from typing import Any

import pytest

pytestmark = pytest.mark.thorough


@pytest.mark.parametrize(
    ("text", "found", "total_of"),
    [
        pytest.param("a" + "\u1dc2\u1dc1" * 100_000, {}, ("a\u1dc2", 1), id="a note of marks"),
        pytest.param(
            "\ufdfa " * 100_000 + " tail",
            {"tail": ["hostile.md"], "\u0639\u0644\u064a\u0647": ["hostile.md"]},
            ("tail", 1),
            id="a text that folds to eighteen times its length",
        ),
    ],
)
def test_a_hostile_note_stops_neither_the_index_nor_a_search(
    daemon: Any, text: str, found: dict[str, list[str]], total_of: tuple[str, int]
) -> None:
    running = daemon(notes={"hostile.md": text, "b.md": "needle\n"})
    with running.connect() as client:

        def search(query: str) -> Any:
            return client.tool("search_workspace", {"query": query})["data"]

        while not search("needle")["complete"]:
            pass
        for query, notes in {"needle": ["b.md"], **found}.items():
            assert [hit["id"] for hit in search(query)["results"]] == notes
        query, most = total_of
        assert search(query)["total"] <= most
