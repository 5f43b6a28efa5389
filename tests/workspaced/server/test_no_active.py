"""What an agent learns when no vault or no note is open: a step that exists, and nothing about private notes."""

import subprocess
from collections.abc import Callable
from typing import Any

from support import process

from workspaced import connect


def test_case_11_without_a_vault_the_hint_names_commands_that_help(daemon: Callable[..., Any]) -> None:
    made = daemon(start=False)
    serve = ("serve", "--data-dir", str(made.data), "--socket", str(made.socket))
    empty = process.spawn(
        *serve, env=made.env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    assert empty.stderr is not None
    with empty.stderr as lines:
        assert any(b"listening on" in line for line in lines)
        with connect(made.socket, name="agent") as client:
            answer = client.tool("get_current_note")
        assert (answer["code"], answer["error"]) == ("NO_ACTIVE_VAULT", "No vault is open")
        assert "`workspaced stop`, then `workspaced serve --vault DIR`" in answer["message"]
        assert made.cli("stop").returncode == 0
        assert empty.wait(60) == 0
    made.start()
    with made.connect("agent") as client:
        assert client.tool("get_current_note")["code"] == "NO_ACTIVE_NOTE"


def test_case_11_a_private_active_note_answers_exactly_as_no_active_note(daemon: Callable[..., Any]) -> None:
    made = daemon(notes={"open.md": "# Open\n", "diary.md": "---\nworkspaced: private\n---\n# Diary\n"})
    questions: tuple[tuple[str, dict[str, Any]], ...] = (
        ("get_current_note", {}),
        ("get_current_note", {"includeLinks": True, "maxContentLength": 100}),
        ("get_related_notes", {}),
    )

    def answers() -> list[dict[str, Any]]:
        with made.connect("agent") as agent:
            told = [agent.tool(tool, arguments) for tool, arguments in questions]
        return [{name: value for name, value in answer.items() if name != "asOfSeq"} for answer in told]

    before = answers()
    with made.connect("editor") as editor:
        editor.publish([{"type": "active_note_set", "data": {"note": "diary.md"}}])
        private = answers()
        editor.publish([{"type": "active_note_set", "data": {"note": None}}])
    assert before == private == answers()
    assert {(each["code"], each["error"]) for each in private} == {("NO_ACTIVE_NOTE", "No note currently active")}
