"""Attacks on views: several publishers of one vault."""

from collections.abc import Sequence
from typing import Any

from support.daemon import Factory

from workspaced import SyncClient


def view(source: str, active: str | None, *tabs: str, pins: Sequence[str] = ()) -> dict[str, Any]:
    return {"source": source, "active": active, "pins": [*pins], "tabs": [{"note": each} for each in tabs]}


def rename(client: SyncClient, old: str, new: str) -> None:
    client.publish([{"type": "note_renamed", "data": {"from": old, "to": new}}])


def test_a_note_that_a_plugin_left_is_not_given_to_a_view_that_is_inferred(daemon: Factory) -> None:
    running = daemon()
    guess, plugin = running.connect("lsp"), running.connect("vscode")
    guess.call("workspaced/hello", {"client": {"name": "lsp"}, "inferred": True})
    guess.call("workspaced/snapshot", view("lsp", "a.md"))
    plugin.call("workspaced/snapshot", view("vscode", "a.md"))
    plugin.call("workspaced/snapshot", view("vscode", None))
    assert plugin.state()["activeNote"] is None


def test_a_pin_of_two_stays_when_one_unpins_a_note_whose_former_name_is_used_again(daemon: Factory) -> None:
    running = daemon()
    one, other = running.connect("one"), running.connect("other")
    one.call("workspaced/snapshot", view("one", None, pins=["Untitled.md"]))
    other.call("workspaced/snapshot", view("other", None, pins=["Untitled.md"]))
    rename(one, "Untitled.md", "Idea.md")
    one.call("workspaced/snapshot", view("one", None, "Untitled.md", pins=["Idea.md"]))
    one.call("workspaced/snapshot", view("one", None, "Untitled.md"))
    assert [each["id"] for each in one.state()["pinnedNotes"]] == ["Idea.md"]


def test_a_note_that_nobody_shows_does_not_become_active_because_its_name_was_another_notes(
    daemon: Factory,
) -> None:
    running = daemon()
    one, other = running.connect("one"), running.connect("other")
    one.call("workspaced/snapshot", view("one", "Untitled.md"))
    rename(one, "Untitled.md", "Idea.md")
    other.call("workspaced/snapshot", view("other", "Untitled.md"))
    other.call("workspaced/snapshot", view("other", None))
    assert one.state()["activeNote"] is None
