"""Rules that match no file: what git does not match is named."""

import shutil
from pathlib import Path

import pytest
from support import git

from workspaced_tools.vault.files.glob_rules import compile_rules
from workspaced_tools.vault.files.idle_rules import IdleRule, idle_rules

PATHS = ["secret.md", "priv/a.md", "priv/b.md", "keep/deep/x.md", "Über.md", "a.md", "b.md", "a b.md", "{c,d}.md"]
IDLE = [
    *("./secret.md", "././secret.md", "keep/./deep/", "keep//deep", "priv\\a.md", ".\\priv", "{a,b}.md"),
    *("priv/{a,b}.md", "{a,nothing}.md", "secret", "priv/a", "Secret", "secret.md/", "secret.md  # my diary"),
    *('"secret.md"', " secret.md", "!./secret.md", "nothing.md", "~/vault/secret.md"),
]
MATCH = [
    *["secret.md", "/priv", "priv/", "**/x.md", "keep/**", "*.md", "!a.md", "a\\ b.md", "\\{c,d}.md", "{c,d}.md"]
]


def named(line: str) -> list[IdleRule]:
    return idle_rules(compile_rules([line], is_file=True, source=".workspacedignore"), PATHS)


def test_a_rule_that_matches_nothing_is_named() -> None:
    for line in IDLE:
        assert named(line) == [IdleRule(line, ".workspacedignore", 1)]
    assert [line for line in MATCH if named(line)] == []


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_git_matches_nothing_by_the_same_rules(tmp_path: Path) -> None:
    git.repository(tmp_path)
    for line in (*IDLE, *MATCH):
        if line.startswith("!"):
            continue
        (tmp_path / ".gitignore").write_text(f"{line}\n")
        assert bool(named(line)) == (git.ignored(tmp_path, PATHS) == []), line
