"""Git, asked without the settings of whoever runs the tests."""

import os
import subprocess
from pathlib import Path


def repository(folder: Path) -> Path:
    """Makes one of the folder, which need not be there; returns it."""
    _run("init", "-q", str(folder))
    return folder


def ignored(folder: Path, paths: tuple[str, ...] | list[str]) -> list[str]:
    """Those of the paths that git ignores there, whether they exist or not."""
    answer = _run("-C", str(folder), "check-ignore", "--no-index", "--stdin", "-z", given="\0".join(paths))
    return answer.split("\0")[:-1]


def untracked(folder: Path) -> set[str]:
    """The files that git would take up."""
    return set(_run("-C", str(folder), "ls-files", "-o", "-z", "--exclude-standard").split("\0")[:-1])


def _run(*arguments: str, given: str = "") -> str:
    quiet = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    command = ["git", "-c", "core.excludesFile=", *arguments]
    done = subprocess.run(command, input=given, capture_output=True, text=True, env={**os.environ, **quiet})
    assert done.returncode == 0 or not done.stderr, done.stderr
    return done.stdout
