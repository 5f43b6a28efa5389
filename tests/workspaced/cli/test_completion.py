"""Completion by a real bash, and by the protocol of the other shells; the man page."""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support import ROOT, process
from support.daemon import clean_environment

from workspaced.cli import COMMANDS


@pytest.fixture(scope="module")
def served(module_daemon: Any) -> Any:
    return module_daemon()


def completed(served: Any, *words: str, shell: str = "fish") -> list[str]:
    """The completions of the last word."""
    env = {**served.env, "WORKSPACED_SOCKET": str(served.socket), "_WORKSPACED_COMPLETE": f"{shell}_complete"}
    env |= {"COMP_WORDS": shlex.join(["workspaced", *words[:-1]]), "COMP_CWORD": words[-1]}
    if shell == "zsh":
        env |= {"COMP_WORDS": shlex.join(["workspaced", *words]), "COMP_CWORD": str(len(words))}
    done = process.run(env=env, cwd=served.root)
    assert done.returncode == 0 and done.stderr == b"", done.stderr
    lines = done.stdout.decode().splitlines()
    if shell == "zsh":
        return lines[1::3]
    return [line.partition(",")[2].partition("\t")[0] for line in lines if line]


@pytest.mark.parametrize("shell", ["fish", "zsh"])
def test_names_are_completed_and_no_call_is_recorded(served: Any, shell: str) -> None:
    assert completed(served, "pub", shell=shell) == ["publish"]
    assert completed(served, "publish", "note_p", shell=shell) == ["note_pinned"]
    assert completed(served, "call", "get_n", shell=shell)[0].startswith("get_n")
    assert completed(served, "state", "--workspace", "d", shell=shell) == ["default"]
    assert served.cli("calls", "--json").stdout == ""


def test_all_commands_are_completed_and_none_is_imported() -> None:
    code = """
import sys
import click
from workspaced.cli import cli
before = set(sys.modules)
print(*(each.value for each in cli.shell_complete(click.Context(cli), "")))
print(*(name for name in set(sys.modules) - before if name.startswith("workspaced")))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.splitlines() == [" ".join(COMMANDS), ""]


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_completes(served: Any) -> None:
    script = """
        compopt() { :; }
        eval "$(workspaced completion bash)"
        COMP_WORDS=(workspaced publish note_p)
        COMP_CWORD=2
        _workspaced_completion workspaced
        printf '%s\\n' "${COMPREPLY[@]}"
    """
    path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    env = {**served.env, "WORKSPACED_SOCKET": str(served.socket), "PATH": path}
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, env=env, timeout=30)
    assert done.stderr == "" and done.stdout.splitlines() == ["note_pinned"]


def test_the_man_page_says_what_help_says(served: Any) -> None:
    page = served.cli("manual").stdout
    assert page.startswith(".TH WORKSPACED 1")
    for text in ("workspaced publish [OPTIONS]", "workspaced log verify", "\\-\\-idle\\-exit\\-minutes M"):
        assert text in page or text.replace("-", "\\-") in page
    assert "NO_DAEMON" in page.partition(".SH EXIT STATUS")[2]


def once(shell: str) -> str:
    """What a user runs once for a shell, by the page and by `--help`."""
    page = (ROOT / "docs/how-to/install.md").read_text()
    [line] = re.findall(rf"^\| {shell} \| `(.*)` \|$", page, re.MULTILINE)
    assert line in process.run("completion", "--help").stdout.decode()
    return str(line)


@pytest.mark.parametrize("installed", [True, False], ids=["installed", "not installed"])
@pytest.mark.parametrize(
    ("command", "is_completed"),
    [
        (["bash", "--norc", "-c", ". ~/.bashrc"], "complete -p workspaced"),
        (["zsh", "-f", "-c", ". ~/.zshrc"], "(( $+_comps[workspaced] ))"),
    ],
    ids=["bash", "zsh"],
)
def test_a_new_shell_completes_and_is_silent_where_nothing_is_installed(
    daemon: Any, command: list[str], is_completed: str, installed: bool
) -> None:
    """As reported of others: openclaw/openclaw#14289, azu/ni.zsh#13."""
    shell, *options, script = command
    if (program := shutil.which(shell)) is None:
        pytest.skip(f"needs {shell}")
    root = daemon.root()
    path = Path(sys.executable).parent if installed else root
    env = {**clean_environment(root), "PATH": f"{path}:/usr/bin:/bin"}
    subprocess.run(["sh", "-c", once(shell)], env=env, timeout=60, check=True)
    asked = [program, *options, f"{script} && {is_completed}"]
    done = subprocess.run(asked, capture_output=True, text=True, env=env, timeout=60)
    assert (done.stderr, done.returncode == 0) == ("", installed)
