"""get_note_by_reference over real vaults."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from support.patience import is_indexed
from support.tool_fixtures import Call, HeldClock, MakeState, MakeVault, MakeView

from workspaced_events.projections.workspace_state import EMPTY_VAULT, VaultState
from workspaced_tools.ports.view import View
from workspaced_tools.vault.vault import Vault

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


MANY_FILES = {
    "km/x.md": "---\naliases: [Tags, Editing/Tags]\n---\n# Khmer\n",
    "en/Editing/Tags.md": "# Tags\n\n## Nested\n\nText.\n",
    "Home.md": "See [[Tags#Nested]] and [[Khmer]].\n\n## Part\n\nx\n",
    "two/Twin.md": "# Twin",
    "one/Twin.md": "# Twin",
    "C.md": "## notes\n",
    "y.md": "# C#notes\n",
}
REFERENCES: list[dict[str, Any]] = [
    {"reference": "Tags"},
    {"reference": "[[Editing/Tags]]"},
    {"reference": "[[Tags#Nested]]", "from": "Home.md"},
    {"reference": "Khmer"},
    {"reference": "Khmer", "from": "Home.md"},
    {"reference": "Twin"},
    {"reference": "Twin", "from": "Home.md"},
    {"reference": "Home"},
    {"reference": "Home", "from": "km/x.md"},
    {"reference": "en/Editing/Tags.md"},
    {"reference": "./Editing/Tags", "from": "en/x.md"},
    {"reference": "Home#Part"},
    {"reference": "C#notes"},
    {"reference": "Nothing"},
]


class Building(NamedTuple):
    """A vault, and the clock that holds its index up."""

    vault: Vault
    clock: HeldClock

    def finish(self) -> None:
        self.clock.go_on.set()
        assert is_indexed(self.vault, "state")


@pytest.fixture
def building(make_vault: Callable[..., Vault], tmp_path: Path) -> Iterator[Building]:
    """A vault whose index holds two notes of a former life, and does not know the others yet."""
    known = ("km/x.md", "two/Twin.md")
    former = make_vault({path: MANY_FILES[path] for path in known}, cache_dir=tmp_path / "cache")
    former.close()
    for path, text in MANY_FILES.items():
        if path not in known:
            (former.root.path / path).parent.mkdir(parents=True, exist_ok=True)
            (former.root.path / path).write_text(text)
    clock = HeldClock()
    vault = Vault(former.root.path, cache_dir=tmp_path / "cache", clock_ns=clock, index_wait_s=0.01)
    vault.start()
    assert clock.reached.wait(60)
    assert vault.index_state() == "building"
    yield Building(vault, clock)
    clock.go_on.set()
    vault.close()


def test_the_answer_is_the_later_one_or_says_that_the_index_is_building(
    building: Building, make_view: Callable[..., View], call: Callable[..., dict[str, Any]]
) -> None:
    view = make_view(building.vault, EMPTY_VAULT)
    answers = [call(TOOL, view, **arguments) for arguments in REFERENCES]
    building.finish()
    for early, arguments in zip(answers, REFERENCES, strict=True):
        later = call(TOOL, view, **arguments)
        assert "indexState" not in later.get("data", {})
        if early != later:
            assert early["data"]["indexState"] == "building"
            assert "index" in early.get("error", "") + early["message"] + str(early.get("warnings"))
            assert not early["success"] or early["data"]["resolvedBy"] == "path"


def test_a_note_found_too_early_is_offered_with_its_path_and_never_given(
    building: Building, make_view: Callable[..., View], call: Callable[..., dict[str, Any]]
) -> None:
    view = make_view(building.vault, EMPTY_VAULT)
    early = call(TOOL, view, reference="Tags")  # the only note so far: by its alias
    assert (early["success"], early["code"]) == (False, "INDEX_BUILDING")
    assert [each["id"] for each in early["data"]["candidates"]] == ["km/x.md"]
    assert call(TOOL, view, reference="km/x.md")["success"] is True
    for tool in ("get_related_notes", "get_note_diff"):
        assert call(tool, view, reference="Tags")["code"] == "INDEX_BUILDING"
    building.finish()
    assert call(TOOL, view, reference="Tags")["data"]["id"] == "en/Editing/Tags.md"


def test_links_say_that_the_index_is_building(
    building: Building, make_view: Callable[..., View], call: Callable[..., dict[str, Any]]
) -> None:
    view = make_view(building.vault, EMPTY_VAULT)
    early = call(TOOL, view, reference="Home.md", includeLinks=True)
    assert early["data"]["indexState"] == "building"
    assert "links may be missing" in early["warnings"][0]
    related = call("get_related_notes", view, reference="Home.md")
    assert "still being built" in related["warnings"][0]
    building.finish()
    later = call(TOOL, view, reference="Home.md", includeLinks=True)
    assert "indexState" not in later["data"] and "warnings" not in later
    assert [each.get("id") for each in later["data"]["links"]["outgoing"]] == ["en/Editing/Tags.md", "km/x.md"]
