"""The README's commands run, and print what it shows.

Of every ```console block that follows `<!-- tested -->` each `$ ` line is run in a shell; the lines below it must
appear in its output, in their order, with `...` for anything. All blocks share one home, in which ~/notes is the
demo's vault, served as the README says.
"""

import os
import re
import shutil
import subprocess
import sys
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
_BLOCK = re.compile(r"^<!-- tested -->\n```console\n(.*?)^```", re.MULTILINE | re.DOTALL)


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


def test_the_runner_finds_commands_and_notices_what_is_not_shown() -> None:
    text = "x\n<!-- tested -->\n```console\n$ a\none...\n$ b\n```\n```console\n$ c\n```\n"
    assert blocks(text) == [[("a", ["one..."]), ("b", [])]]
    assert_shown(["one ...", "...", "three"], "one 1\ntwo\nthree\n")
    with pytest.raises(AssertionError):
        assert_shown(["three", "one"], "one\ntwo\nthree\n")


def test_the_readme_has_tested_blocks() -> None:
    assert len(blocks((ROOT / "README.md").read_text())) >= 1


def test_the_commands_of_the_readme_do_what_it_shows(daemon: Any) -> None:
    running = daemon(start=False)
    home = running.root / "home"
    with resources.as_file(resources.files("workspaced.demo")) as package:
        shutil.copytree(package / "vault", home / "notes")
    running.vault = home / "notes"
    running.socket = running.root / "workspaced" / "default.sock"
    running.start()
    environment = {
        **running.env,
        "XDG_RUNTIME_DIR": str(running.root),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }
    for commands in blocks((ROOT / "README.md").read_text()):
        for command, shown in commands:
            done = subprocess.run(
                ["/bin/sh", "-c", command], capture_output=True, text=True, env=environment, cwd=home, timeout=60
            )
            assert done.returncode == 0, f"$ {command}\n{done.stdout}{done.stderr}"
            assert_shown(shown, done.stdout + done.stderr)
