"""Output for people: it fits the terminal, times are local, and a dumb terminal gets no colour."""

import os
import pty
import subprocess
import sys
import time
from contextlib import suppress
from typing import Any

import pytest

NARROW = {"COLUMNS": "60"}


@pytest.fixture(scope="module")
def asked(module_daemon: Any) -> Any:
    """A daemon that was asked, by tools with long arguments and answers."""
    running = module_daemon(notes={"a.md": "# A\n", "Some long name of a note for a table.md": "# Long\n"})
    with running.connect(name="an-agent-of-a-long-name") as client:
        client.publish([{"type": "active_note_set", "data": {"note": "a.md"}}])
        client.tool("get_note_by_reference", {"reference": "Some long name of a note for a table"})
        client.tool("get_workspace_context", {"includeContent": True, "maxContentLength": 300})
    assert running.cli("calls").returncode == 0, "waits until the calls are recorded"
    return running


@pytest.mark.parametrize("command", [["calls"], ["status"], ["doctor"], ["tools"], ["state"]], ids=" ".join)
def test_output_fits_sixty_columns_and_breaks_no_word(asked: Any, command: list[str]) -> None:
    wide, narrow = (asked.cli(*command, env=env) for env in ({}, NARROW))
    words = set(wide.stdout.split())
    for line in narrow.stdout.splitlines():
        assert len(line) <= 60 or len(line.split()) <= 2, line
        if command[0] != "status":  # how long it runs, and its counts, move on
            assert set(line.split()) <= words, line


@pytest.mark.parametrize("command", [["calls"], ["state"], ["log", "find", "DATA", "--when", "activeNote"]])
def test_times_are_local_and_utc_on_request(asked: Any, command: list[str]) -> None:
    arguments = [str(asked.data) if each == "DATA" else each for each in command]
    local = asked.cli(*arguments, env={"TZ": "XYZ-5:30"}).stdout
    assert "+05:30" in local
    utc = asked.cli(*arguments, "--utc", env={"TZ": "XYZ-5:30"}).stdout
    assert "+05:30" not in utc and time.strftime("%Y-%m-%d", time.gmtime()) in utc


@pytest.mark.parametrize(("term", "coloured"), [("dumb", False), ("xterm", True)])
def test_a_dumb_terminal_gets_no_colour(asked: Any, term: str, coloured: bool) -> None:
    env = {**asked.env, "TERM": term, "WORKSPACED_SOCKET": str(asked.socket)}
    del env["NO_COLOR"]
    ours, theirs = pty.openpty()
    try:
        for command in (["doctor"], ["publish", "fly"]):
            subprocess.run(
                [sys.executable, "-m", "workspaced", *command],
                stdin=subprocess.DEVNULL,
                stdout=theirs,
                stderr=theirs,
                env=env,
                timeout=30,
            )
        os.close(theirs)
        said = b""
        with suppress(OSError):  # how Linux tells that the other side is closed
            while data := os.read(ours, 4096):
                said += data
    finally:
        os.close(ours)
    assert (b"\x1b[" in said) is coloured, said
