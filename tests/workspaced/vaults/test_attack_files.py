"""Attacks on `--files`: what a file that left the vault, or that `.gitignore` names, still tells."""

from collections.abc import Callable
from typing import Any

import pytest

WORD = "xyzzy"
FILE = "src/keys.py"
NOTES = {"home.md": "# Home\n", FILE: f"word = '{WORD}'\n", "src/other.py": "other = 1\n"}
VIEW = {
    "source": "editor",
    "active": FILE,
    "pins": [],
    "tabs": [],
    "selection": {"startLine": 1, "endLine": 1, "text": f"word = '{WORD}'"},
}


def told(running: Any) -> str:
    """All that an agent and an editor's link are told unasked."""
    with running.connect("agent") as client:
        client.call("workspaced/reconcile")
        about = {"client": "agent", "session": "s", "event": "e"}
        whole = client.call("workspaced/volunteer", {**about, "tell": "whole"})
        link = client.call("workspaced/volunteer/editor", {**about, "folders": [str(running.vault)]})
        return str((whole, link, client.tool("get_workspace_context", {"includeContent": True})))


@pytest.fixture
def running(daemon: Callable[..., Any]) -> Any:
    running = daemon("--files", "src/**", notes=NOTES)
    with running.connect("editor") as editor:
        editor.call("workspaced/snapshot", VIEW)
        assert WORD in told(running)
        yield running


def test_a_selection_in_a_file_that_gitignore_names_since_is_not_told(running: Any) -> None:
    (running.vault / ".gitignore").write_text("keys.py\n")
    assert WORD not in told(running)


@pytest.mark.parametrize(
    ("name", "rules"),
    [
        pytest.param("key1.py", "key[[:digit:]].py\n", id="a class"),
        pytest.param("key.py", f"key[.{'x' * 1100}]py\n", id="a long line"),
        pytest.param(
            "aXbXcXdXeXfXgXhXiXj.py", "a*[X]b*[X]c*[X]d*[X]e*[X]f*[X]g*[X]h*[X]i*[X]j.py\n", id="many stars"
        ),
        pytest.param("key.py", "key.py\nx\u2028!key.py\n", id="a line separator"),
        pytest.param("key.py", "*.py\n#\x85!key.py\n", id="a next line"),
    ],
)
def test_what_git_ignores_is_not_shown(daemon: Callable[..., Any], name: str, rules: str) -> None:
    """Each line was compared with `git check-ignore`, which ignores the file."""
    running = daemon("--files", "src/**", notes={"src/" + name: f"word = '{WORD}'\n", ".gitignore": rules})
    with running.connect("agent") as agent:
        assert agent.tool("get_note_by_reference", {"reference": f"src/{name}"})["code"] == "NOTE_NOT_FOUND"
        assert agent.tool("search_workspace", {"query": WORD})["data"]["results"] == []


def test_a_forgotten_file_that_a_glob_names_is_nowhere_in_the_log(daemon: Callable[..., Any]) -> None:
    running = daemon("--files", f"src/other.py,{FILE}", notes=NOTES)
    with running.connect("editor") as client:
        client.publish([{"type": "note_pinned", "data": {"note": FILE}}])
    (running.vault / FILE).unlink()
    running.stop()
    done = running.cli("forget", FILE, "--data-dir", str(running.data), "--yes")
    assert done.returncode == 0, done.stderr
    kept = b"".join(file.read_bytes() for file in (running.data / "log").iterdir() if file.is_file())
    assert FILE.encode() not in kept
