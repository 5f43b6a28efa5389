"""The README's commands run, and print what it shows.

Of every ```console block that follows `<!-- tested -->` each `$ ` line is run in a shell; the lines below it must
appear in its output, in their order, with `...` for anything. All blocks share one home; the README serves the
demo's vault. A line `$ export NAME=VALUE` holds for the lines after it, as in one shell.
"""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support import ROOT
from support.documentation import assert_shown, blocks


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
    environment = {
        **running.env,
        "XDG_RUNTIME_DIR": str(running.root),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }

    def run(command: str) -> str:
        done = subprocess.run(
            ["/bin/sh", "-c", command], capture_output=True, text=True, env=environment, cwd=home, timeout=60
        )
        assert done.returncode == 0, f"$ {command}\n{done.stdout}{done.stderr}"
        return done.stdout + done.stderr

    try:
        for commands in blocks((ROOT / "README.md").read_text()):
            for command, shown in commands:
                if exported := re.fullmatch(r"export (\w+)=(\w+)", command):
                    environment[exported[1]] = exported[2]
                else:
                    assert_shown(shown, run(command))
    finally:
        assert "stopped" in run("workspaced stop --workspace demo")
