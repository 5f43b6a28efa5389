"""The real Claude Code finds `workspaced ide` by its lock file, and sends what is selected with the prompt."""

import json
from pathlib import Path
from typing import Any

import pytest
from support.editor_link import Link
from support.runtimes.model import ScriptedModel, messages
from support.runtimes.programs import ClaudeCode
from support.runtimes.terminal import Terminal

pytestmark = pytest.mark.thorough

NOTES = {"Plan.md": "# Plan\n\nbuy the red boat\nsell the ä😀\n", "Budget.md": "# Budget\n\nnine pence\n"}


def claude_in(folder: Path, root: Path, url: str) -> ClaudeCode:
    """Claude Code as a person has it who has used it in this folder before."""
    program = ClaudeCode(root, url, "true")
    program.vault = folder
    known = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
    settings = {
        "hasCompletedOnboarding": True,
        "theme": "dark",
        "numStartups": 5,
        "customApiKeyResponses": {"approved": ["none"], "rejected": []},
        "projects": {str(folder): known},
    }
    (program.home / ".claude.json").write_text(json.dumps(settings))
    return program


def ask(terminal: Terminal, words: str, number: int) -> None:
    terminal.enter(words)
    terminal.until(words)
    terminal.enter("\r")
    terminal.until(f"Answer {number}.")


def new_in(bodies: list[dict[str, Any]]) -> str:
    """What stands in the last request, and in none before."""
    last, *before = [["\n".join(text) for text in messages(body)] for body in reversed(bodies)]
    old = {text for body in before for text in body}
    return "\n".join(text for text in last if text not in old)


def test_a_prompt_has_what_is_selected_word_for_word(daemon: Any, tmp_path: Path) -> None:
    if reason := ClaudeCode.missing():
        pytest.skip(reason)
    running, model = daemon(notes=NOTES), ScriptedModel()
    running.publish("active_note_set", note="Plan.md")
    running.publish("selection_changed", note="Plan.md", startLine=3, endLine=4)
    with model as url:
        program = claude_in(running.vault, tmp_path / "claude", url)
        command = [str(program.executable()), "--ide"]
        with (
            Link(running, env={"HOME": str(program.home)}) as link,
            Terminal(command, program.vault, program.environment) as terminal,
        ):
            terminal.until("2 lines selected")
            ask(terminal, "What is this?", 1)
            assert f"from {running.vault}/Plan.md:\nbuy the red boat\nsell the ä😀\n" in new_in(model.bodies)
            running.publish("active_note_set", note="Budget.md")
            terminal.until("In Budget.md")
            ask(terminal, "And this?", 2)
            told = new_in(model.bodies)
            assert f"{running.vault}/Budget.md" in told and "red boat" not in told
            with link.claude() as witness, running.connect() as client:
                assert witness.told()["filePath"] == f"{running.vault}/Budget.md"
                client.call("workspaced/pause")
                assert witness.told()["filePath"] == ""
            ask(terminal, "And now?", 3)
            assert "And now?" in new_in(model.bodies) and "the IDE" not in new_in(model.bodies)
