"""get_workspace_context over real vaults."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.profiles import examples
from support.tool_fixtures import Call, MakeState, MakeVault, MakeView

from workspaced_events.ids import NoteId
from workspaced_events.projections.workspace_state import Selection, VaultState
from workspaced_tools.vault.vault import Vault

TOOL = "get_workspace_context"


@pytest.fixture
def ask(make_vault: MakeVault, make_view: MakeView, call: Call) -> Callable[..., dict[str, Any]]:
    """ask(files, state, **arguments) -> the result."""

    def make(files: dict[str, str], state: VaultState, **arguments: Any) -> dict[str, Any]:
        return call(TOOL, make_view(make_vault(files), state), **arguments)

    return make


FILES = {
    "work/plan.md": "---\ntitle: The Plan\ntags: [a, '#b']\nstatus: draft\n---\nBody of the plan. #inline\n",
    "b.md": "# Beta\n\nText of beta.\n",
    "c.md": "Text of gamma.\n",
}


def test_active_pins_tabs_and_recents_are_shown_by_name(ask: Call, make_state: MakeState) -> None:
    state = make_state(active="work/plan.md", pins=("b.md",), tabs=("c.md",), recents=("c.md", "work/plan.md"))
    data = ask(FILES, state)["data"]
    active = data["activeNote"]
    assert (active["id"], active["title"]) == ("work/plan.md", "The Plan")
    assert (active["type"], active["exists"], active["archived"]) == ("note", True, False)
    assert active["since"].endswith("Z")
    assert [(note["title"], note["pinnedAt"]) for note in data["pinnedNotes"]] == [
        ("Beta", f"{state.pins['b.md'].pinned_at[:19]}Z")
    ]
    assert [(tab["title"], tab["id"], tab["source"]) for tab in data["temporaryTabs"]] == [
        ("c", "tab-1", "search")
    ]
    assert [note["id"] for note in data["recentNotes"]] == ["work/plan.md", "c.md"]
    assert data["summary"] == {
        "totalNotes": 3,
        "pinnedCount": 1,
        "temporaryTabsCount": 1,
        "contentLength": 0,
        "lastActivity": f"{state.active.since[:19]}Z",
    }
    assert "activeTabId" not in data
    assert "lastUpdated" not in data


def test_who_is_shown_names_learns_no_time_and_no_place(make_world: Callable[..., Any], call: Call) -> None:
    data = call(TOOL, make_world(FILES, level="names", active="b.md").view())["data"]
    assert "lastModified" not in data["activeNote"] and "path" not in data["vaultInfo"]


def test_metadata_is_told_or_left_out(ask: Call, make_state: MakeState) -> None:
    state = make_state(active="work/plan.md", pins=("work/plan.md",))
    metadata = ask(FILES, state)["data"]["activeNote"]["metadata"]
    metadata.pop("created", None)
    assert metadata == {
        "tags": ["a", "b", "inline"],
        "customFields": {"status": "draft"},
        "lastModified": "2023-11-14T22:13:20Z",
        "wordCount": 5,
        "characterCount": 26,
    }
    data = ask(FILES, state, includeMetadata=False)["data"]
    assert "metadata" not in data["activeNote"] and data["activeNote"]["lastModified"].endswith("Z")
    assert "metadata" not in data["pinnedNotes"][0]


def test_content_stands_once_and_is_referred_to_elsewhere(ask: Call, make_state: MakeState) -> None:
    state = make_state(active="b.md", pins=("b.md", "c.md"), tabs=("c.md",))
    data = ask(FILES, state, includeContent=True)["data"]
    assert data["activeNote"]["content"] == FILES["b.md"]
    assert data["pinnedNotes"][0]["contentRef"] == "activeNote"
    assert "content" not in data["pinnedNotes"][0]
    assert data["pinnedNotes"][1]["content"] == FILES["c.md"]
    assert data["temporaryTabs"][0]["contentRef"] == "pinnedNotes"
    assert data["summary"]["totalNotes"] == 2


def test_the_total_bounds_all_content_and_what_is_left_out_is_listed(ask: Call, make_state: MakeState) -> None:
    files = {f"{n}.md": f"{n} " + "words and words. " * 60 for n in range(6)} | {"tiny.md": "tiny"}
    state = make_state(active="0.md", pins=tuple(f"{n}.md" for n in range(1, 6)), tabs=("tiny.md",))
    data = ask(files, state, includeContent=True, maxContentLength=1000, maxTotalLength=2500)["data"]
    shown = [data["activeNote"], *data["pinnedNotes"], *data["temporaryTabs"]]
    total = sum(len(note.get("content", "")) for note in shown)
    assert data["summary"]["contentLength"] == total <= 2500
    assert [len(note.get("content", "")) > 0 for note in shown] == [True, True, True, False, False, False, True]
    assert [(gone["id"], gone["part"]) for gone in data["omitted"]] == [(f"{n}.md", "content") for n in (3, 4, 5)]
    assert data["omittedTotal"] == 3
    assert all(gone["reason"] for gone in data["omitted"])


def test_a_note_that_is_gone_stays_listed_and_the_call_succeeds(ask: Call, make_state: MakeState) -> None:
    state = make_state(active="gone/away.md", pins=("b.md",), recents=("gone/away.md",))
    result = ask(FILES, state, includeContent=True)
    active = result["data"]["activeNote"]
    assert result["success"] is True
    assert (active["exists"], active["title"]) == (False, "away")
    assert "metadata" not in active
    assert result["data"]["recentNotes"][0]["exists"] is False
    assert any("gone/away.md" in warning for warning in result["warnings"])
    assert result["data"]["pinnedNotes"][0]["content"] == FILES["b.md"]


def test_tabs_not_accessed_for_a_day_are_hidden(ask: Call, make_state: MakeState) -> None:
    state = make_state(active="c.md", tabs=("b.md", "c.md"), tab_accessed="2026-02-28T12:00:00.000000Z")
    data = ask(FILES, state)["data"]
    assert (data["temporaryTabs"], data["summary"]["totalNotes"]) == ([], 1) and "activeTabId" not in data
    state = make_state(active="c.md", tabs=("b.md", "c.md"), tab_accessed="2026-02-28T12:00:01.000000Z")
    data = ask(FILES, state)["data"]
    assert (len(data["temporaryTabs"]), data["activeTabId"]) == (2, "tab-2")


def test_the_selection_is_shown(ask: Call, make_state: MakeState) -> None:
    selection = Selection(NoteId("b.md"), 1, 3, "2026-03-01T11:30:00.000000Z", text="Text of")
    data = ask(FILES, make_state(active="b.md", selection=selection))["data"]
    assert data["selection"] == {
        "note": "b.md",
        "startLine": 1,
        "endLine": 3,
        "at": "2026-03-01T11:30:00Z",
        "text": "Text of",
    }


def test_of_tabs_metadata_and_times_come_with_details(ask: Call, make_state: MakeState) -> None:
    state = make_state(tabs=("b.md",))
    [tab] = ask(FILES, state)["data"]["temporaryTabs"]
    assert not {"metadata", "openedAt", "lastAccessed"} & tab.keys()
    [tab] = ask(FILES, state, includeDetails=True)["data"]["temporaryTabs"]
    assert {"metadata", "openedAt", "lastAccessed"} <= tab.keys()


@pytest.mark.thorough
def test_no_answer_without_content_is_larger_than_50000_characters(ask: Call, make_state: MakeState) -> None:
    wide = "---\n" + "".join(f"field{n}: {'v' * 50}\n" for n in range(60)) + "---\n" + "#tag" + "x" * 150 + "\n"
    many = " ".join(f"#tag{n}{'y' * 50}" for n in range(300))
    files = {f"{'long name ' * 15}/{n}.md": wide + f"# {'Title ' * 60}\n{many}" for n in range(120)}
    state = make_state(active=next(iter(files)), pins=tuple(files), recents=tuple(files))
    for content in (False, True):
        result = ask(files, state, includeContent=content)
        assert len(msgspec.json.encode(result).decode()) < 50_000
        data = result["data"]
        assert data["summary"]["totalNotes"] == 120
        assert data["omittedTotal"] >= len(data["omitted"]) > 0
        assert any("left out" in warning for warning in result["warnings"])


ids = st.sampled_from(["b.md", "c.md", "work/plan.md", "gone.md"])


@settings(max_examples=examples(60))
@given(
    st.none() | ids,
    st.lists(ids, unique=True),
    st.lists(ids, unique=True),
    st.lists(ids, unique=True),
    st.booleans(),
    st.booleans(),
    st.integers(100, 400),
)
def test_every_state_gives_a_result_that_fits_its_schema(
    make_vault: MakeVault,
    make_state: MakeState,
    make_view: MakeView,
    call: Call,
    active: str | None,
    pins: list[str],
    tabs: list[str],
    recents: list[str],
    content: bool,
    metadata: bool,
    total: int,
) -> None:
    state = make_state(active=active, pins=pins, tabs=tabs, recents=recents)
    view = make_view(_shared(make_vault), state)
    result = call(TOOL, view, includeContent=content, includeMetadata=metadata, maxTotalLength=total)
    data = result["data"]
    assert result["success"] is True
    entries = [*([data["activeNote"]] if active else []), *data["pinnedNotes"], *data["temporaryTabs"]]
    assert sum(len(note.get("content", "")) for note in entries) <= total
    readable = [note for note in entries if note["exists"]]
    omitted = {gone["id"] for gone in data["omitted"]}
    if content:
        for note in readable:
            told = ("content" in note) + ("contentRef" in note) + (note["id"] in omitted)
            assert told == 1


_made: dict[int, Vault] = {}


def _shared(make_vault: MakeVault) -> Vault:
    """One vault for all examples of a test."""
    if id(make_vault) not in _made:
        _made[id(make_vault)] = make_vault(FILES)
    return _made[id(make_vault)]
