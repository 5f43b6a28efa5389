"""get_note_by_reference over real vaults."""

from typing import Any

import pytest
from support.tool_fixtures import Call, MakeState, MakeVault, MakeView

from workspaced_events.projections.workspace_state import EMPTY_VAULT, VaultState

TOOL = "get_note_by_reference"

FILES = {
    "work/plan.md": (
        "---\ntitle: The Plan\nid: p-1\naliases: [MP]\n---\nIntro.\n\n## Goals & Risks\n\nA goal. ^g1\n\n"
        "```\n## Code\n```\nSetext\n---\n"
    ),
    "a/log.md": "# Log\n",
    "b/log.md": "# Log\n",
}


@pytest.fixture
def ask(make_vault: MakeVault, make_view: MakeView, call: Call) -> Call:
    """ask(reference, files, state, **arguments) -> the result."""

    def make(
        reference: str, files: dict[str, str] = FILES, state: VaultState = EMPTY_VAULT, **arguments: Any
    ) -> dict[str, Any]:
        return call(TOOL, make_view(make_vault(files), state), reference=reference, **arguments)

    return make


def test_a_renamed_note_is_found_by_its_former_path(ask: Call, make_state: MakeState) -> None:
    result = ask("old place/plan", state=make_state(former={"old place/plan.md": "work/plan.md"}))
    assert result["data"]["resolvedBy"] in ("formerPath", "filename")
    result = ask("old", state=make_state(former={"old.md": "work/plan.md"}))
    assert (result["data"]["id"], result["data"]["resolvedBy"]) == ("work/plan.md", "formerPath")


def test_an_ambiguous_name_gives_candidates_with_workspace_members_first(ask: Call, make_state: MakeState) -> None:
    result = ask("Log", state=make_state(pins=("b/log.md",)))
    assert (result["success"], result["code"]) == (False, "AMBIGUOUS_REFERENCE")
    assert result["data"] == {
        "candidates": [{"id": "b/log.md", "title": "Log"}, {"id": "a/log.md", "title": "Log"}]
    }
    assert "path" in result["message"]


def test_archived_notes_give_way(ask: Call, make_state: MakeState) -> None:
    data = ask("Log", state=make_state(archived=("a/log.md",)))["data"]
    assert (data["id"], data["archived"]) == ("b/log.md", False)
    assert ask("a/log", state=make_state(archived=("a/log.md",)))["data"]["archived"] is True


def test_an_unknown_name_gives_near_titles(ask: Call) -> None:
    result = ask("The Pan")
    assert (result["success"], result["code"]) == (False, "NOTE_NOT_FOUND")
    assert [near["title"] for near in result["data"]["near"]] == ["The Plan"]
    assert "'The Pan'" in result["error"]


@pytest.mark.parametrize(
    ("link", "to", "names"),
    [
        ("link.md", "/etc/passwd", None),
        ("link.md", "work/plan.md", "work/plan.md"),
        ("work/link.md", "plan.md", "work/plan.md"),
        ("work/link.md", "../private.md", None),
        ("link.md", "denied/a.md", None),
        ("link.md", "nothing.md", None),
        ("link.md", "../../../etc/passwd", None),
        ("link.md", "link.md", None),
    ],
)
def test_a_symlink_is_named_and_where_it_leads_only_if_that_may_be_shown(
    make_vault: MakeVault, make_view: MakeView, call: Call, link: str, to: str, names: str | None
) -> None:
    private = {"private.md": "---\nworkspaced: private\n---\n", "denied/a.md": "x"}
    vault = make_vault({**FILES, **private}, deny=["denied/"])
    (vault.root.path / link).symlink_to(to)
    for reference in (link, link.removesuffix(".md"), f"[[{link}]]"):
        result = call(TOOL, make_view(vault, EMPTY_VAULT), reference=reference)
        assert result["code"] == "SYMLINK" and "symlink" in result["error"] and link in result["error"]
        assert ("leads to" in result["message"]) == (names is not None)
        assert names is None or names in result["message"]


@pytest.mark.parametrize("reference", [" ", "[[]]", "\ud800"])
def test_what_names_nothing_is_an_invalid_argument(ask: Call, reference: str) -> None:
    assert ask(reference)["code"] == "INVALID_ARGUMENT"
