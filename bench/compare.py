"""`make bench COMPARE=<commit> ONLY=<part>`: the figures of this tree beside those of a commit, as ratios.

The bench of this tree measures the packages of both, in turns, so that a figure means the same on both sides. Who
goes first changes every round. A ratio is taken within one round; of all rounds the median counts.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from .measure import median, progress, significant

ROUNDS: Final = 3
SOURCE_ROOTS: Final = ("workspaced", "tools", "events")
_COMPLAINT_LINES: Final = 5

Figures = dict[str, dict[str, Any]]
"""Figures by their names, as `python -m bench` prints them."""


class CannotCompare(Exception):
    """The two trees cannot be measured; the message says why, and what to do."""


def compare(tree: Path, commit: str, arguments: Sequence[str], rounds: int = ROUNDS) -> Iterator[dict[str, Any]]:
    """A line for each figure that both trees have: `ratio` is this tree's value divided by the commit's.

    Args:
        tree: the root of this working tree.
        commit: anything that names one for git.
        arguments: those of `python -m bench`.
        rounds: measurements of each tree.

    Raises:
        CannotCompare: there is no such commit, this tree has changes that no commit has, or the bench failed.
    """
    name = _full_name(tree, commit)
    if changed := _git(tree, "status", "--porcelain", "--untracked-files=no"):
        raise CannotCompare(f"{tree} has changes that no commit has; commit or stash them:\n{changed}")
    with _worktree(tree, name) as other:
        taken: dict[Path, list[Figures]] = {tree: [], other: []}
        for root in taken:  # else one that was compiled by chance would start faster
            folders = [str(root / each) for each in SOURCE_ROOTS]
            subprocess.run([sys.executable, "-m", "compileall", "-q", *folders], check=False)
        for number in range(rounds):
            for root in (tree, other) if number % 2 else (other, tree):
                progress(f"round {number + 1} of {rounds}: {'this tree' if root == tree else name[:12]}")
                taken[root].append(_figures(tree, root, arguments))
    yield from _ratios(name, taken[other], taken[tree])


def _ratios(commit: str, before: Sequence[Figures], after: Sequence[Figures]) -> Iterator[dict[str, Any]]:
    for bench, figure in after[0].items():
        rounds = zip(before, after, strict=True)
        found = [
            (old[bench]["value"], new[bench]["value"]) for old, new in rounds if bench in old and bench in new
        ]
        if not found or 0 in dict(found):
            continue
        ratios = [new / old for old, new in found]
        yield {
            "bench": bench,
            "ratio": significant(median(ratios)),
            "low": significant(min(ratios)),
            "high": significant(max(ratios)),
            "before": median([old for old, _ in found]),
            "after": median([new for _, new in found]),
            "unit": figure["unit"],
            "rounds": len(found),
            "commit": commit[:12],
        }


def _figures(tree: Path, root: Path, arguments: Sequence[str]) -> Figures:
    """What the bench of `tree` measures of the packages in `root`."""
    path = os.pathsep.join(str(root / each) for each in SOURCE_ROOTS)
    command = [sys.executable, "-m", "bench", *arguments]
    done = subprocess.run(
        command, cwd=tree, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False
    )
    if done.returncode:
        complaint = "\n".join(done.stderr.splitlines()[-_COMPLAINT_LINES:])
        raise CannotCompare(f"`{' '.join(command[1:])}` failed on the packages of {root}:\n{complaint}")
    return {figure["bench"]: figure for figure in map(json.loads, done.stdout.splitlines())}


@contextmanager
def _worktree(tree: Path, commit: str) -> Iterator[Path]:
    """The files of a commit in a directory of their own; removed afterwards."""
    with tempfile.TemporaryDirectory(prefix="bench-compare-") as directory:
        root = Path(directory) / "tree"
        _git(tree, "worktree", "add", "--detach", "--quiet", str(root), commit)
        try:
            yield root
        finally:
            _git(tree, "worktree", "remove", "--force", str(root))


def _full_name(tree: Path, commit: str) -> str:
    try:
        return _git(tree, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{commit}^{{commit}}")
    except CannotCompare:
        raise CannotCompare(f"There is no commit {commit!r} in {tree}; `git log` lists them.") from None


def _git(tree: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(tree), *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise CannotCompare(f"`git {arguments[0]}` failed in {tree}: {done.stderr.strip()}")
    return done.stdout.strip()
