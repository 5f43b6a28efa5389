"""`workspaced start`: one command from a folder to an agent that is connected, which writes nothing unseen."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from support import process
from support.home import Home
from support.patience import PATIENCE_S


@pytest.fixture
def home(daemon: Any) -> Iterator[Home]:
    made = Home(daemon(start=False))
    yield made
    for each in made.daemons():
        os.kill(each["pid"], signal.SIGTERM)


def test_a_folder_is_served_and_the_programs_that_are_there_are_connected(home: Home) -> None:
    home.has("claude", "nvim")
    done = home.run("start", home.notes, "--yes")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("1 note served in the background, workspace default.\n")
    assert "Agents found: Claude Code.\n" in done.stdout
    assert "Neovim: put this into init.lua:\n" in done.stdout and "Helix" not in done.stdout
    (entry,) = home.servers().values()
    assert entry["args"] == ["mcp", "--vault", str(home.notes)]
    told = home.run("call", "get_workspace_context")
    assert json.loads(told.stdout)["success"]
    again = home.run("start", home.notes, "--yes")
    assert again.stdout.startswith("1 note already served, workspace default.\nConnected already: Claude Code.\n")
    (running,) = home.daemons()
    assert b"--idle-exit-minutes" not in Path(f"/proc/{running['pid']}/cmdline").read_bytes()


@pytest.mark.parametrize("where", ["empty", "missing", "file"])
def test_what_is_no_folder_of_notes_is_named(home: Home, where: str) -> None:
    (home.root / "empty" / "below").mkdir(parents=True)
    (home.root / "file").write_text("")
    arguments = [] if where == "empty" else [home.root / where]
    done = home.run("start", *arguments, "--json", cwd=home.root / "empty")
    error = json.loads(done.stdout)["error"]
    assert done.returncode == 2 and error["code"] == "INVALID_ARGUMENT" and where in error["message"]
    assert home.daemons() == []
    if where == "empty":  # one that is named is served, and said to hold none
        first, meaning, *_ = home.run("start", home.root / "empty").stdout.splitlines()
        assert first == "0 notes served in the background, workspace default."
        assert meaning == "It holds no note yet: agents find nothing until a Markdown file (*.md) is in it."


@pytest.mark.parametrize(
    ("arguments", "step"),
    [
        (("start", "notes"), "Set HOME to a folder that you may write to"),
        (("serve", "--vault", "notes"), "--data-dir DIR, or WORKSPACED_DATA_DIR"),
        (("doctor",), "Set HOME, WORKSPACED_DATA_DIR or --data-dir"),
    ],
)
def test_a_home_that_cannot_be_written_to_is_named_with_what_to_set(
    home: Home, arguments: tuple[str, ...], step: str
) -> None:
    (home.root / "file").write_text("")
    home.env["HOME"] = str(home.root / "file/home")
    done = home.run(*arguments)
    said = done.stdout + done.stderr
    assert done.returncode != 0 and step in said and f"{home.root}/file" in said
    assert home.daemons() == []


@pytest.mark.thorough
@pytest.mark.parametrize(("answer", "written"), [("\n", True), ("n\n", False), ("\x04", False)])
def test_a_person_sees_what_would_be_written_and_decides(home: Home, answer: str, written: bool) -> None:
    home.has("claude", "codex")
    dry = home.run("start", home.notes, "--dry-run")
    assert "+" in dry.stdout and f"{home.notes} would be served" in dry.stdout
    assert home.daemons() == [] and home.files() == []
    unasked = home.run("start", home.notes)
    assert "Nothing was written: add --yes, or run it in a terminal.\n" in unasked.stdout and home.files() == []
    code, shown = home.answered(answer, "start", home.notes)
    assert str(home.notes) in shown[: shown.index("Connect them?")]
    assert (home.path / ".claude.json").exists() == written
    assert code == (130 if answer == "\x04" else 0)
    assert len(home.daemons()) == 1


def status(pid: str, name: str) -> str:
    """A line of what the kernel says of a process."""
    return dict(line.split(":\t", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())[name]


def is_pending(number: signal.Signals, pid: str) -> bool:
    """Whether the process has been sent the signal and has not taken it."""
    return bool(int(status(pid, "ShdPnd"), 16) >> (number - 1) & 1)


@pytest.mark.parametrize("times", [1, 2])
def test_an_interrupt_ends_the_daemon_that_was_starting_and_says_so(home: Home, times: int) -> None:
    """Another one, while the daemon ends, changes nothing."""
    home.has("claude")
    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    started = process.spawn("start", home.notes, "--yes", env=home.env, real=True, cwd=home.root, **streams)
    children = Path(f"/proc/{started.pid}/task/{started.pid}/children")
    deadline = time.monotonic() + PATIENCE_S
    while (
        not (daemon := children.read_text().strip())
        or b"serve" not in Path(f"/proc/{daemon}/cmdline").read_bytes()
    ):
        assert time.monotonic() < deadline
    os.kill(int(daemon), signal.SIGSTOP)
    while not status(daemon, "State").startswith("T"):  # until then SIGTERM would kill it
        assert time.monotonic() < deadline
    os.kill(started.pid, signal.SIGINT)
    while not is_pending(signal.SIGTERM, daemon):
        assert time.monotonic() < deadline
    for _ in range(times - 1):
        os.kill(started.pid, signal.SIGINT)
        while is_pending(signal.SIGINT, str(started.pid)):
            assert time.monotonic() < deadline
    with suppress(ProcessLookupError):  # on a busy machine it has been killed by now
        os.kill(int(daemon), signal.SIGCONT)
    out, err = started.communicate(timeout=30)
    assert started.returncode == 130 and out == b""
    assert err.strip() == b"Interrupted: the daemon that was started has ended, and nothing was connected."
    assert not Path(f"/proc/{daemon}").exists() and home.daemons() == home.files() == []
