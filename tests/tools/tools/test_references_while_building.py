"""While the index is being built a reference gives the later answer, or says that the index is building."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from support.patience import is_indexed
from support.tool_fixtures import HeldClock

from workspaced_events.projections.workspace_state import EMPTY_VAULT
from workspaced_tools.ports.view import View
from workspaced_tools.vault.vault import Vault

TOOL = "get_note_by_reference"
FILES = {
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
    former = make_vault({path: FILES[path] for path in known}, cache_dir=tmp_path / "cache")
    former.close()
    for path, text in FILES.items():
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
