"""`make bench COMPARE=commit`: in a repository whose bench prints a number that its package holds."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
from bench.compare import CannotCompare, compare

BENCH = """
import json, probe, sys
assert sys.argv[1:] == ["--only", "part"]
print(json.dumps({"bench": "part.speed", "value": probe.VALUE, "unit": "ms"}))
"""


def git(tree: Path, *arguments: str) -> str:
    name = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", *name, *arguments], cwd=tree, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Two commits: the probe's value is 8, then 2."""
    (tmp_path / "bench").mkdir()
    (tmp_path / "bench" / "__main__.py").write_text(BENCH)
    (tmp_path / "events" / "probe").mkdir(parents=True)
    git(tmp_path, "init", "--quiet")
    for value in (8, 2):
        (tmp_path / "events" / "probe" / "__init__.py").write_text(f"VALUE = {value}\n")
        git(tmp_path, "add", ".")
        git(tmp_path, "commit", "--quiet", "-m", f"{value}")
    return tmp_path


def lines(tree: Path, commit: str) -> list[dict[str, Any]]:
    return list(compare(tree, commit, ["--only", "part"], rounds=2))


def test_a_ratio_is_this_trees_value_divided_by_the_commits(tree: Path) -> None:
    [line] = lines(tree, "HEAD~1")
    assert (line["before"], line["after"], line["rounds"]) == (8, 2, 2)
    assert (line["ratio"], line["low"], line["high"]) == (0.25, 0.25, 0.25)
    assert line["commit"] == git(tree, "rev-parse", "HEAD~1")[:12]


@pytest.mark.parametrize("commit", ["nonsense", "--help", ""])
def test_a_wrong_commit_is_an_error_that_names_it(tree: Path, commit: str) -> None:
    with pytest.raises(CannotCompare, match=repr(commit)):
        lines(tree, commit)
