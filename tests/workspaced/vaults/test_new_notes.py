"""What an editor has made and shows this very moment, agents are told."""

from typing import Any


def test_a_note_that_an_editor_made_and_shows_just_now_is_the_current_one(daemon: Any) -> None:
    running = daemon(notes={"old.md": "# Old\n"})
    with running.connect("editor") as editor, running.connect("agent") as agent:
        for name in ("new.md", "deep/newer.md"):
            running.add({name: f"# {name}\n"})
            editor.publish([{"type": "active_note_set", "data": {"note": name}}])
            assert agent.tool("get_current_note")["data"]["id"] == name
        running.add({"asked.md": "# Asked\n"})
        assert agent.tool("get_note_by_reference", {"reference": "asked.md"})["data"]["title"] == "Asked"
