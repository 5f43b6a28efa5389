"""A list that would be too long is cut, and the answer says by how much."""

from typing import Any

import msgspec
import pytest
from support.patience import is_indexed
from support.tool_fixtures import NOW, Call, MakeState, MakeVault, MakeView

from workspaced_events.ids import NoteId
from workspaced_events.projections.visits import Visit

FOLDER = "/".join("x" * 200 for _ in range(5))
NOTES = [f"{FOLDER}/n{number}.md" for number in range(60)]
LISTS: dict[str, tuple[dict[str, Any], str, str, int]] = {
    "search_workspace": ({"query": "word", "limit": 50}, "results", "results", 50),
    "get_related_notes": ({"limit": 50}, "related", "notes", 50),
    "get_navigation_history": ({"limit": 200}, "visits", "visits", 60),
}
"""Arguments, the list's name, the word for it, and how many would be in it."""


@pytest.mark.parametrize("tool", LISTS)
def test_the_answer_is_bounded(
    make_vault: MakeVault, make_view: MakeView, make_state: MakeState, call: Call, tool: str
) -> None:
    vault = make_vault({"plan.md": " ".join(f"[[n{at}]]" for at in range(60)), **dict.fromkeys(NOTES, "word")})
    assert is_indexed(vault)
    arguments, name, word, whole = LISTS[tool]
    view = make_view(vault, make_state("plan.md"), [Visit(NoteId(note), 1, NOW, NOW) for note in NOTES])
    result = call(tool, view, **arguments)
    shown = len(result["data"][name])
    assert 5 < shown < whole and len(msgspec.json.encode(result)) < 50_000
    assert (result["data"]["total"], result["warnings"]) == (
        60,
        [f"The answer is full: {whole - shown} {word} are left out."],
    )
