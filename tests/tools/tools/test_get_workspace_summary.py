"""get_workspace_summary over real vaults."""

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from support.tool_fixtures import Call, MakeState, MakeVault, MakeView

from workspaced_events.ids import NoteId
from workspaced_events.projections.visits import Visit
from workspaced_events.projections.workspace_state import EMPTY_VAULT, VaultState
from workspaced_events.schema.catalogue import Sharing
from workspaced_tools.ports.questions import Read
from workspaced_tools.vault.vault import Vault

TOOL = "get_workspace_summary"
TODAY, LAST_YEAR = "2026-03-01T10:00:00.000000Z", "2025-03-01T10:00:00.000000Z"


def visit(note: str, at: str, until: str | None) -> Visit:
    return Visit(NoteId(note), 1, at, until)


@pytest.fixture
def ask(make_vault: MakeVault, make_view: MakeView, call: Call) -> Call:
    """ask(files, state, visits, sharing, **of the vault) -> the result."""

    def make(
        files: dict[str, str],
        state: VaultState = EMPTY_VAULT,
        visits: Sequence[Visit] = (),
        sharing: Sharing = "all",
        **options: Any,
    ) -> dict[str, Any]:
        view = make_view(make_vault(files, **options), state, visits)
        return call(TOOL, msgspec.structs.replace(view, sharing=sharing))

    return make


def test_of_an_empty_workspace_everything_is_there_and_empty(ask: Call) -> None:
    result = ask({})
    assert result["data"] == {
        "counts": {
            "inVault": {"notes": 0, "links": 0},
            "inWorkspace": {"pinnedCount": 0, "temporaryTabsCount": 0, "recentNotes": 0, "missingNotes": 0},
            "inPinsAndActiveNote": {"brokenLinks": 0, "ambiguousLinks": 0},
            "inHistory": {"visits": 0, "visitedNotes": 0},
        },
        "indexState": "ready",
        "activity": {"recentlyVisited": [], "recentlyChanged": [], "mostVisited": []},
        "topTags": {},
        "openQuestions": {"brokenLinks": [], "ambiguousLinks": [], "missingNotes": []},
    }
    assert result["message"] == "Notes in the vault: 0; pinned: 0; open questions: 0."


def test_the_last_visited_notes_are_distinct_and_newest_first(ask: Call) -> None:
    visits = [
        visit("a.md", LAST_YEAR, LAST_YEAR),
        visit("gone.md", "2026-03-01T09:00:00.000000Z", TODAY),
        visit("a.md", TODAY, None),
    ]
    assert ask({"a.md": "# Alpha"}, visits=visits)["data"]["activity"]["recentlyVisited"] == [
        {"id": "a.md", "title": "Alpha", "exists": True, "at": f"{TODAY[:19]}Z"},
        {"id": "gone.md", "title": "gone", "exists": False, "at": "2026-03-01T09:00:00Z"},
    ]


def test_the_most_visited_are_counted_over_the_last_30_days(ask: Call) -> None:
    visits = [
        *[visit("old.md", LAST_YEAR, LAST_YEAR)] * 5,
        visit("a.md", "2026-02-01T10:00:00.000000Z", "2026-02-01T10:00:10.000000Z"),
        visit("a.md", TODAY, "2026-03-01T10:00:30.500000Z"),
        visit("b.md", TODAY, "2026-03-01T10:00:01.000000Z"),
        visit("c.md", "2026-03-01T11:00:00.000000Z", None),
    ]
    most = ask({"a.md": "", "b.md": "", "c.md": ""}, visits=visits)["data"]["activity"]["mostVisited"]
    assert [(each["id"], each["visits"], each["dwellSeconds"]) for each in most] == [
        ("a.md", 2, 40.5),
        ("c.md", 1, 3600.0),
        ("b.md", 1, 1.0),
    ]


def test_broken_and_ambiguous_links_are_open_questions(ask: Call, make_state: MakeState) -> None:
    files = {
        "a.md": "---\nx: 1\n---\n# Alpha\n[[b]] [[nowhere]] [[twin]]\n\n[[Nowhere|again]] [md](missing.md)\n",
        "b.md": "[[nowhere]] `[[code]]` [web](https://example.org) [[#own]]",
        "tab.md": "[[not looked at]]",
        "e.md": "# twin",
        "f.md": "# twin",
    }
    data = ask(files, make_state(active="b.md", pins=("a.md", "b.md"), tabs=("tab.md",)))["data"]
    assert data["openQuestions"]["brokenLinks"] == [
        {"note": "b.md", "title": "b", "target": "nowhere", "line": 1},
        {"note": "a.md", "title": "Alpha", "target": "nowhere", "line": 5},
        {"note": "a.md", "title": "Alpha", "target": "missing.md", "line": 7},
    ]
    assert data["openQuestions"]["ambiguousLinks"] == [
        {"note": "a.md", "title": "Alpha", "target": "twin", "line": 5}
    ]
    assert (
        data["counts"]["inPinsAndActiveNote"]["brokenLinks"],
        data["counts"]["inPinsAndActiveNote"]["ambiguousLinks"],
    ) == (3, 1)


def test_notes_that_are_listed_and_gone_are_open_questions(ask: Call, make_state: MakeState) -> None:
    state = make_state(active="w/gone.md", pins=("w/gone.md", "a.md"), tabs=("lost.md",), recents=("old.md",))
    result = ask({"a.md": ""}, state)
    assert result["data"]["openQuestions"]["missingNotes"] == [
        {"note": "w/gone.md", "title": "gone", "listedIn": ["activeNote", "pinnedNotes"]},
        {"note": "lost.md", "title": "lost", "listedIn": ["temporaryTabs"]},
    ]
    assert result["message"] == "Notes in the vault: 1; pinned: 2; open questions: 2."


def test_a_note_that_goes_meanwhile_is_passed_over(
    ask: Call, make_state: MakeState, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = Vault.ask

    def after_it_went(vault: Vault, question: Any, *more: Any) -> Any:
        if isinstance(question, Read):
            (vault.root.path / "gone.md").unlink()
        return asked(vault, question, *more)

    monkeypatch.setattr(Vault, "ask", after_it_went)
    data = ask({"gone.md": "", "a.md": "[[nowhere]]"}, make_state(pins=("gone.md", "a.md")))["data"]
    assert data["counts"]["inPinsAndActiveNote"]["brokenLinks"] == 1


def test_while_the_index_is_built_no_link_is_called_broken(ask: Call, make_state: MakeState) -> None:
    result = ask({"a.md": "[[nowhere]]"}, make_state(pins=("a.md",)), indexed=False, index_wait_s=0.01)
    assert result["data"]["indexState"] == "building"
    assert not result["data"]["openQuestions"]["brokenLinks"]
    assert "inPinsAndActiveNote" not in result["data"]["counts"]
    assert any("still being built" in warning for warning in result["warnings"])


def test_who_is_shown_names_gets_nothing_out_of_a_note(ask: Call, make_state: MakeState) -> None:
    state = make_state(active="a.md", pins=("a.md", "gone.md"))
    result = ask({"a.md": "# Alpha\n[[nowhere]] [[twin]] #tag"}, state, [visit("a.md", TODAY, None)], "names")
    data = result["data"]
    assert set(data) == {"counts", "indexState", "activity", "openQuestions", "topTags"}
    assert not data["topTags"] and not data["openQuestions"]["brokenLinks"]
    assert "inPinsAndActiveNote" not in data["counts"] and list(data["counts"]["inVault"]) == ["notes"]
    assert data["activity"]["recentlyChanged"] == [{"id": "a.md", "title": "Alpha", "exists": True}]
    text = msgspec.json.encode(result).decode()
    assert not any(word in text for word in ("nowhere", "twin", "tag"))


def test_lists_are_cut_and_counts_are_whole(ask: Call, make_state: MakeState) -> None:
    pins = tuple(f"p{n}.md" for n in range(60))
    files = dict.fromkeys(pins, "[[x]] [[y]]")
    visits = [visit(pin, TODAY, None) for pin in pins]
    result = ask(files, make_state(pins=pins), visits)
    data = result["data"]
    assert all(len(notes) == 10 for notes in data["activity"].values())
    assert len(data["openQuestions"]["brokenLinks"]) == 20
    assert (data["counts"]["inPinsAndActiveNote"]["brokenLinks"], data["counts"]["inHistory"]["visitedNotes"]) == (
        100,
        60,
    )
    assert result["warnings"] == ["Links were looked at in 50 of 60 notes."]
    gone = ask({}, make_state(pins=pins))["data"]
    assert (len(gone["openQuestions"]["missingNotes"]), gone["counts"]["inWorkspace"]["missingNotes"]) == (20, 60)


def test_of_a_note_full_of_links_the_first_are_looked_at(ask: Call, make_state: MakeState) -> None:
    text = "".join(f"[[link {n}]]\n" for n in range(2_100))
    result = ask({"a.md": text}, make_state(pins=("a.md",)))
    assert result["data"]["counts"]["inPinsAndActiveNote"]["brokenLinks"] == 2_000
    assert any("2000 of 2100 links" in warning for warning in result["warnings"])
