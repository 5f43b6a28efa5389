"""`--files`: text files that are no Markdown are notes too, from what an editor shows to what an agent reads."""

from collections.abc import Callable
from typing import Any

import pytest

from workspaced.errors import RemoteError

CODE = 'def greet(name):\n    # [[Home]] #tag\n    return f"hello {name}, xyzzy"\n'
NOTES = {
    "Home.md": "# Home\n\nSee [[plan]] and [[greet.py]].\n",
    "plan.md": "# Plan\n",
    "src/greet.py": CODE,
    "src/deep/config.yaml": "---\ntitle: Not a title\nworkspaced: private\n---\n# no heading\n",
    "other/apart.py": "apart = 1\n",
}


@pytest.fixture
def running(daemon: Callable[..., Any]) -> Any:
    return daemon("--files", "src/**,docs/**", notes=NOTES)


def test_a_code_file_is_active_pinned_a_tab_and_read(running: Any) -> None:
    with running.connect("editor") as client:
        tabs = [{"note": "src/greet.py"}]
        view = {"source": "editor", "active": "src/greet.py", "pins": ["src/deep/config.yaml"], "tabs": tabs}
        client.call("workspaced/snapshot", view)
        current = client.tool("get_current_note")["data"]
        assert current["content"] == CODE
        assert current["title"] == "greet.py"
        assert current["language"] == "Python"
        assert current["metadata"]["tags"] == []
        context = client.tool("get_workspace_context")["data"]
    assert context["activeNote"]["id"] == "src/greet.py"
    assert [note["id"] for note in context["pinnedNotes"]] == ["src/deep/config.yaml"]


def test_what_looks_like_front_matter_in_a_file_that_is_no_markdown_is_text(running: Any) -> None:
    with running.connect("agent") as client:
        found = client.tool("get_note_by_reference", {"reference": "src/deep/config.yaml"})["data"]
    assert found["title"] == "config.yaml"
    assert found["content"] == NOTES["src/deep/config.yaml"]


@pytest.mark.parametrize("note", ["other/apart.py", "src", "src/.hidden.py", "src/shot.png"])
def test_a_file_that_the_globs_do_not_name_is_refused(running: Any, note: str) -> None:
    with running.connect("editor") as client:
        with pytest.raises(RemoteError) as refused:
            client.publish([{"type": "active_note_set", "data": {"note": note}}])
        assert refused.value.code == "INVALID_ARGUMENT"
        assert client.tool("get_note_by_reference", {"reference": note})["code"] == "NOTE_NOT_FOUND"


def test_a_daemon_says_in_its_greeting_which_files_belong(running: Any, daemon: Callable[..., Any]) -> None:
    with running.connect("editor") as client:
        assert client.call("workspaced/hello")["vaults"][0]["files"] == ["src/**", "docs/**"]
    plain = daemon(notes=NOTES)
    with plain.connect("editor") as client:
        assert "files" not in client.call("workspaced/hello")["vaults"][0]
