"""A memory folder with withheld files answers as one without them, save where a name must be free."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from support import images

from workspaced_tools.errors import ToolError

PRIVATE = "---\nworkspaced: private\n---\nxyzzy\n"
WITHHELD = ("secret.md", "kept/key.md", "kept/deep/key.md", "mixed/key.md")
SHOWN = ("plan.md", "mixed/plan.md")
PATHS = (*WITHHELD, "kept", "kept/deep", "kept/free.md", "secret.md/x", "secret.md/x/y", "kept/key.md/x", "mixed")
COMMANDS: list[tuple[str, dict[str, Any]]] = [
    ("view", {}),
    ("str_replace", {"old": "one", "text": "two"}),
    ("insert", {"line": 0, "text": "two"}),
    ("delete", {}),
    ("rename", {"to": "/memories/new.md"}),
]


@pytest.mark.parametrize("path", PATHS)
def test_an_answer_tells_nothing_of_what_is_withheld(vault: Path, use: Any, path: str) -> None:
    for command, arguments in COMMANDS:
        answers = []
        for withheld in ((), WITHHELD):
            shutil.rmtree(vault / "Memory", ignore_errors=True)
            images.write(vault / "Memory", dict.fromkeys(SHOWN, "one\n") | dict.fromkeys(withheld, PRIVATE))
            try:
                answers.append(use(command, f"/memories/{path}", **arguments))
            except ToolError as error:
                answers.append((error.code, str(error), error.hint))
        assert answers[0] == answers[1], command
