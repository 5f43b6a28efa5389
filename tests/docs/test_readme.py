"""The README's commands run, and print what it shows."""

import sys
from pathlib import Path
from typing import Any

import pytest
from support import ROOT
from support.documentation import assert_shown, blocks, run_readme


def test_the_runner_finds_commands_and_notices_what_is_not_shown() -> None:
    text = "x\n<!-- tested -->\n```console\n$ a\none...\n$ b\n```\n```console\n$ c\n```\n"
    assert blocks(text) == [[("a", ["one..."]), ("b", [])]]
    assert_shown(["one ...", "...", "three"], "one 1\ntwo\nthree\n")
    with pytest.raises(AssertionError):
        assert_shown(["three", "one"], "one\ntwo\nthree\n")


def test_the_readme_has_tested_blocks() -> None:
    assert len(blocks((ROOT / "README.md").read_text())) >= 1


@pytest.mark.thorough
def test_the_commands_of_the_readme_do_what_it_shows(daemon: Any) -> None:
    run_readme(Path(sys.executable).parent, daemon.root())
