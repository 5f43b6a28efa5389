"""Pages whose commands and programs are run.

Of every ```console block that follows `<!-- tested -->` each `$ ` line is run in a shell; the lines below it must
appear in its output, in their order, with `...` for anything. A program stands in a block that follows
`<!-- file: NAME -->`.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from support import ROOT
from support.daemon import clean_environment

COMMAND_S = 60.0
_BLOCK = re.compile(r"^<!-- tested -->\n```console\n(.*?)^```", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"^<!-- file: (\S+) -->\n```\w+\n(.*?)^```", re.MULTILINE | re.DOTALL)


DOCS = ROOT / "docs"
RUNTIME_PAGES = (
    *("tutorials/runtime.md", "how-to/other-providers.md", "how-to/pull-only.md"),
    *("how-to/request-templates.md", "how-to/inspect-a-prompt.md", "how-to/long-conversations.md"),
    "how-to/chat-files.md",
)
"""Run one after another: the later ones continue the conversation of the first."""
REPLAY_PAGES = ("tutorials/replay-a-bug.md", "how-to/share-a-log.md", "how-to/forget-a-note.md")
FRAMEWORK_PAGES = ("how-to/frameworks.md",)
PROXY_PAGES = ("how-to/use-any-client.md",)
SESSION_PAGES = ("tutorials/first-session.md",)
EVAL_PAGES = ("how-to/test-from-a-wrong-answer.md",)
SUMMARY_PAGES = ("how-to/summarise-in-time.md",)
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
        return [command for block in blocks(self.text) for command in block]

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
        run_as_shown(self.commands, given, home)


def run_readme(installed: Path, root: Path) -> Path:
    """Runs the README's blocks and its program with what is installed there, in a new home; returns it.

    The home, below `root`, holds nothing but notes.

    Raises:
        AssertionError: one failed, or does not print what is shown.
    """
    text = (ROOT / "README.md").read_text()
    home = root / "home"
    (home / "notes").mkdir(parents=True)
    for name in ("Mine", "Other"):
        (home / "notes" / f"{name}.md").write_text(f"# {name}\n")
    environment = {
        **clean_environment(root),
        "XDG_RUNTIME_DIR": str(root),
        "PATH": f"{installed}{os.pathsep}{os.environ['PATH']}",
    }
    [program] = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    (home / "program.py").write_text(program)
    commands = [command for block in blocks(text) for command in block]
    try:
        run_as_shown([*commands, ("python program.py", ["# Home"])], environment, home)
    finally:
        stops = [f"workspaced stop --workspace {name}" for name in ("default", "demo")]
        run_as_shown([(stop, ["...stopped..."]) for stop in stops], environment, home)
    return home


def run_as_shown(commands: Iterable[tuple[str, list[str]]], environment: Mapping[str, str], home: Path) -> None:
    """Runs the commands there as one shell would: `export NAME=VALUE` holds for those after it.

    Raises:
        AssertionError: one failed, or does not print what is shown.
    """
    given = dict(environment)
    for command, shown in commands:
        if exported := re.fullmatch(r"export (\w+)=([\w./]+)", command):
            given[exported[1]] = exported[2]
            continue
        done = subprocess.run(
            ["/bin/sh", "-c", command], capture_output=True, text=True, env=given, cwd=home, timeout=COMMAND_S
        )
        assert done.returncode == 0, f"$ {command}\n{done.stdout}{done.stderr}"
        assert_shown(shown, done.stdout + done.stderr)


def blocks(text: str) -> list[list[tuple[str, list[str]]]]:
    """The tested blocks: of each its commands with the lines shown below them."""
    found = []
    for match in _BLOCK.finditer(text):
        commands: list[tuple[str, list[str]]] = []
        for line in match.group(1).splitlines():
            if line.startswith("$ "):
                commands.append((line[2:], []))
            elif line.strip():
                assert commands, f"output before any command: {line}"
                commands[-1][1].append(line)
        found.append(commands)
    return found


def assert_shown(lines: list[str], output: str) -> None:
    """Every line appears in `output`, each after the one before; how far they are indented does not matter."""
    position, following = 0, output.splitlines()
    for line in lines:
        if line.strip() == "...":
            continue
        pattern = re.compile(".*".join(re.escape(part) for part in line.strip().split("...")))
        while position < len(following) and not pattern.fullmatch(following[position].strip()):
            position += 1
        assert position < len(following), f"{line!r} is not shown in:\n{output}"
        position += 1
