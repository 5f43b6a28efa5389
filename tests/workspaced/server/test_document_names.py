"""Answers have the names of the design document's interfaces, in one spelling each."""

from collections.abc import Callable
from typing import Any

import pytest

NOTES = {
    "work/plan.md": "---\ntitle: The Plan\n---\n# Goals\n\nSee [[b]].\n",
    "b.md": "# Beta\n",
    "c.md": "# Gamma\n",
}


@pytest.fixture(scope="module")
def running(module_daemon: Callable[..., Any]) -> Any:
    """A daemon with an active note, a pin and a tab; the client `names` may see only names."""
    made = module_daemon(notes=NOTES)
    with made.connect("editor") as editor:
        editor.publish(
            [
                {"type": "note_pinned", "data": {"note": "b.md"}},
                {"type": "temporary_tab_opened", "data": {"note": "c.md", "source": "search"}},
                {"type": "active_note_set", "data": {"note": "work/plan.md"}},
            ]
        )
        editor.call("workspaced/share", {"client": "names", "level": "names"})
    return made


def context(running: Any, name: str = "agent", **arguments: Any) -> dict[str, Any]:
    with running.connect(name) as client:
        data: dict[str, Any] = client.tool("get_workspace_context", arguments)["data"]
    return data


def test_case_9_the_summary_counts_pins_and_tabs_and_has_the_time_of_the_last_activity(running: Any) -> None:
    data = context(running)
    with running.connect() as client:
        last = client.state()["lastUpdated"]
    assert data["summary"] == {
        "totalNotes": 3,
        "pinnedCount": 1,
        "temporaryTabsCount": 1,
        "contentLength": 0,
        "lastActivity": f"{last[:19]}Z",
    }
    assert last.endswith("Z") and "lastUpdated" not in data


def test_case_9_a_tab_has_its_own_id_and_that_of_its_note(running: Any) -> None:
    [tab] = context(running)["temporaryTabs"]
    with running.connect() as client:
        [known] = client.state()["temporaryTabs"]
    assert (tab["id"], tab["noteId"]) == (known["id"], "c.md")
    assert "tabId" not in tab


@pytest.mark.parametrize("metadata", [True, False])
def test_case_9_the_active_note_has_the_time_of_its_file(running: Any, metadata: bool) -> None:
    active = context(running, includeMetadata=metadata)["activeNote"]
    assert ("metadata" in active) == metadata
    assert active.get("metadata", active)["lastModified"].endswith("Z")
    assert "lastModified" not in context(running, "names")["activeNote"]


def test_case_9_a_pin_has_its_path(running: Any) -> None:
    assert [pin["id"] for pin in context(running)["pinnedNotes"]] == ["b.md"]


def test_case_9_the_vault_has_its_path_unless_only_names_are_shared(running: Any) -> None:
    assert context(running)["vaultInfo"]["path"] == str(running.vault)
    assert "path" not in context(running, "names")["vaultInfo"]


def test_case_9_a_heading_of_the_outline_has_a_title(running: Any) -> None:
    with running.connect("agent") as client:
        outline = client.tool("get_current_note", {"includeOutline": True})["data"]["outline"]
    assert outline == [{"level": 1, "title": "Goals", "line": 4}]
