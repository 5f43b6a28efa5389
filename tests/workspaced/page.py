"""Pages whose commands and programs are run: see test_readme.py for how commands are marked and compared.

A program stands in a block that follows `<!-- file: NAME -->`.
"""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from importlib import resources
from pathlib import Path
from typing import Any

_SPEC = importlib.util.spec_from_file_location("test_readme", Path(__file__).with_name("test_readme.py"))
assert _SPEC is not None and _SPEC.loader is not None
readme = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(readme)

COMMAND_S = 60.0
_FILE = re.compile(r"^<!-- file: (\S+) -->\n```\w+\n(.*?)^```", re.MULTILINE | re.DOTALL)


DOCS = Path(__file__).parents[2] / "docs"
RUNTIME_PAGES = (
    "tutorials/runtime.md",
    "how-to/other-providers.md",
    "how-to/pull-only.md",
    "how-to/request-templates.md",
    "how-to/inspect-a-prompt.md",
    "how-to/long-conversations.md",
    "how-to/completion-and-refactoring.md",
    "how-to/plan-tool-calls.md",
    "how-to/chat-files.md",
)
"""Run one after another: the later ones continue the conversation of the first."""
REPLAY_PAGES = ("tutorials/replay-a-bug.md", "how-to/share-a-log.md", "how-to/forget-a-note.md")
SESSION_PAGES = ("tutorials/first-session.md",)
ALL_PAGES = sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))


class Page:
    """Some of docs/, read as one: their commands and programs share one home."""

    def __init__(self, *names: str) -> None:
        self.names = names
        self.text = "\n".join((DOCS / name).read_text() for name in names)
        self.files: dict[str, str] = dict(_FILE.findall(self.text))

    @property
    def commands(self) -> list[tuple[str, list[str]]]:
        """With the lines that are shown below them."""
        return [command for block in readme.blocks(self.text) for command in block]

    def serve(self, running: Any) -> Path:
        """Starts a daemon on the demo's vault, with the page's files in its home, which is returned."""
        home: Path = running.root / "home"
        with resources.as_file(resources.files("workspaced.demo")) as package:
            shutil.copytree(package / "vault", home / "notes")
        for name, text in self.files.items():
            (home / name).parent.mkdir(exist_ok=True)
            (home / name).write_text(text)
        running.vault = home / "notes"
        running.start()
        return home

    def run(self, running: Any, home: Path, **environment: str) -> None:
        """Runs all commands there, in their order.

        Raises:
            AssertionError: one failed, or does not print what the page shows.
        """
        given = {
            **running.env,
            "WORKSPACED_SOCKET": str(running.socket),
            "WORKSPACED_DATA_DIR": str(running.data),
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            **environment,
        }
        for command, shown in self.commands:
            done = subprocess.run(
                ["/bin/sh", "-c", command],
                capture_output=True,
                text=True,
                env=given,
                cwd=home,
                timeout=COMMAND_S,
            )
            assert done.returncode == 0, f"$ {command}\n{done.stdout}{done.stderr}"
            readme.assert_shown(shown, done.stdout + done.stderr)
