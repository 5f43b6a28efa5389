"""Which workspace a command acts on: it is named, and one that nobody named is not changed without asking."""

import os
import pty
import select
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support import process

ACTION = ("publish", "active_note_set", "note=a.md")


@pytest.fixture
def only(daemon: Any) -> Any:
    """The only running daemon of its home, which is not the default one."""
    return daemon("--workspace", "only")


def run(running: Any, *arguments: str, cwd: Path | None = None) -> "subprocess.CompletedProcess[str]":
    """A command with nothing in its environment that names a daemon."""
    done = process.run(*arguments, env=running.env, cwd=cwd or running.root)
    assert b"Traceback" not in done.stderr
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


def seq(running: Any) -> int:
    return int(running.call("workspaced/status")["seq"])


def test_a_command_acts_on_the_default_daemon_in_silence_and_a_write_names_it(daemon: Any) -> None:
    default = daemon()
    other = daemon("--workspace", "other", env={"HOME": default.env["HOME"]})
    elsewhere = default.root
    assert run(default, "state", cwd=elsewhere).stderr == ""
    written = run(default, *ACTION, cwd=elsewhere)
    assert written.returncode == 0 and written.stderr == f"workspace default: {default.vault.resolve()}\n"
    with other.connect() as client:
        assert client.state()["activeNote"] is None


def test_a_write_to_the_only_daemon_that_is_not_the_default_one_fails_with_the_step_to_take(only: Any) -> None:
    before = seq(only)
    for write in (ACTION, ("share", "agent", "none"), ("stop",)):
        done = run(only, *write)
        assert done.returncode == 2 and "[WORKSPACE_NOT_NAMED]" in done.stderr
        assert "--workspace only" in done.stderr
    assert seq(only) == before


def test_a_write_to_the_daemon_of_the_current_directory_fails_as_well(two: Any) -> None:
    first, second = two
    done = run(first, *ACTION, cwd=second.vault)
    assert done.returncode == 2 and "--workspace second" in done.stderr
    assert "(it serves the current directory)" in done.stderr
    named = run(first, *ACTION, "--workspace", "second", cwd=first.vault)
    assert named.returncode == 0 and named.stderr == f"workspace second: {second.vault.resolve()}\n"
    assert run(first, "share", "--workspace", "second").stderr == named.stderr, "also where it only reads"
    none_meant = run(first, "state")
    assert none_meant.returncode == 3 and "[NO_DAEMON]" in none_meant.stderr
    assert "--workspace first (serves " in none_meant.stderr and "--workspace second (serves " in none_meant.stderr


def test_where_no_daemon_runs_this_is_said_and_forget_names_the_log(daemon: Any) -> None:
    stopped = daemon(start=False)
    listed, ended = run(stopped, "status", "--all"), run(stopped, "stop")
    assert (listed.returncode, listed.stdout) == (0, "") and "no daemon runs: " in listed.stderr
    assert ended.returncode == 3 and "there is nothing to stop." in ended.stderr
    log = Path(stopped.env["HOME"]) / ".local" / "share" / "workspaced" / "default"
    (log / "log").mkdir(parents=True)
    assert f"workspace default: log in {log}\n" in run(stopped, "forget", "a.md", "--yes").stderr


@pytest.mark.parametrize("answer", ["y", "n"])
def test_at_a_terminal_a_write_is_confirmed(only: Any, answer: str) -> None:
    user, tty = pty.openpty()
    before = seq(only)
    os.write(user, answer.encode() + b"\n")
    done = subprocess.run(
        [sys.executable, "-m", "workspaced", *ACTION],
        stdin=tty,
        stdout=subprocess.PIPE,
        stderr=tty,
        env=only.env,
        cwd=only.root,
        timeout=60,
    )
    asked = ""
    while "Change only?" not in asked:
        assert select.select([user], [], [], 60)[0], asked  # it comes in pieces, and the answer's echo first
        asked += os.read(user, 4096).decode()
    os.close(user)
    os.close(tty)
    assert (done.returncode, seq(only) - before) == ((0, 1) if answer == "y" else (130, 0))
