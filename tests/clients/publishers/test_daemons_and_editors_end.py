"""Editors and daemons that end, come back or stand still; no editor waits for a daemon."""

import json
import os
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from support.publishers.desk import UNTIL_S, Desk, shown

Desks = Callable[..., Desk]

SOON = {"WORKSPACED_PUBLISHER_GRACE_S": "0.05"}
NEVER = {"WORKSPACED_PUBLISHER_GRACE_S": "3600"}


def stand_still(pid: int) -> None:
    """Stops a process, and waits until it stands."""
    os.kill(pid, signal.SIGSTOP)
    while Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "T":
        pass


# -- editors --


def test_what_a_killed_editor_showed_leaves_after_the_grace_and_one_started_again_shows_anew(desk: Desks) -> None:
    here = desk(env=SOON)
    here.showing("a.md").kill()
    here.until(lambda state: shown(state)[:2] == (None, []))
    here.showing("b.md")
    assert here.shown().active == "b.md"


def test_an_editor_that_quits_takes_its_view_back_without_a_grace(desk: Desks) -> None:
    here = desk(env=NEVER)
    editor = here.showing("a.md", "quit-takes-back")
    editor.quit()
    here.until(lambda state: shown(state)[:2] == (None, []))


# -- daemons --


def test_a_daemon_started_after_the_editor_is_found(desk: Desks) -> None:
    here = desk(start=False)
    editor = here.editor()
    editor.open(here.vault / "a.md")
    editor.open(here.vault / "b.md")
    here.daemon.start()
    here.until(lambda state: shown(state).active == "b.md")
    editor.settled()
    assert "a.md" not in [event["data"].get("note") for event in here.events("active_note_set")]


def test_a_daemon_that_comes_back_is_told_what_is_shown_now(desk: Desks) -> None:
    here = desk(env=NEVER)
    editor = here.showing("a.md")
    here.daemon.kill()
    editor.open(here.vault / "b.md")
    editor.open(here.vault / "c.md")
    here.daemon.start()
    here.until(lambda state: shown(state).active == "c.md")
    editor.settled()
    assert here.shown().active == "c.md"
    assert "b.md" not in [event["data"].get("note") for event in here.events("active_note_set")]
    assert here.daemon.stop() == 0
    editor.close(here.vault / "c.md")
    here.daemon.start()
    here.until(lambda state: "c.md" not in (shown(state).active, *shown(state).tabs))


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_daemon_that_stands_still_holds_nobody_up_and_is_told_the_last_view(desk: Desks) -> None:
    here = desk(notes={f"n{number:02}.md": "x\n" for number in range(20)})
    editor = here.showing("n00.md")
    here.mark()
    stand_still(here.daemon.pid)
    try:
        for number in range(20):
            editor.burst([here.vault / f"n{each:02}.md" for each in range(20)])
            editor.open(here.vault / f"n{number:02}.md")
            assert editor.told()["daemons"]
    finally:
        here.daemon.send_signal(signal.SIGCONT)
    editor.settled()
    assert here.shown().active == "n19.md"
    assert len(here.events("active_note_set")) <= 4, "one was on its way; then the latest, and what came since"


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_an_editor_quits_though_the_daemon_stands_still(desk: Desks) -> None:
    here = desk(env=SOON)
    editor = here.showing("a.md")
    stand_still(here.daemon.pid)
    try:
        editor.burst([here.vault / "b.md", here.vault / "c.md"] * 100)  # so that something is on its way
        editor.quit()
    finally:
        here.daemon.send_signal(signal.SIGCONT)
    here.until(lambda state: shown(state)[:2] == (None, []))


def test_a_socket_that_accepts_and_never_answers_holds_up_nobody_else(desk: Desks) -> None:
    """Its record says that it serves a folder of its own, which the user looks at, too."""
    here = desk()
    silent = here.daemon.root / "silent"
    silent.mkdir()
    (silent / "s.md").touch()
    [record] = Path(here.daemon.env["HOME"]).glob("**/daemons/*.json")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(here.daemon.root / "t"))
        listening.listen()
        listening.settimeout(UNTIL_S)
        forged = {**json.loads(record.read_text()), "socket": str(here.daemon.root / "t"), "vaults": [str(silent)]}
        (record.parent / "silent.json").touch(0o600)
        (record.parent / "silent.json").write_text(json.dumps(forged))
        editor = here.editor(opened=here.daemon.root)
        editor.open(silent / "s.md")
        said = b""
        while not said:  # who only looks whether somebody listens says nothing
            connection, _ = listening.accept()
            connection.settimeout(UNTIL_S)
            said = connection.recv(65_536) or connection.close() or b""
        with connection:
            assert json.loads(said)["method"] == "workspaced/hello"
            for name in ("a.md", "b.md"):
                editor.open(here.vault / name)
                here.until(lambda state, name=name: shown(state).active == name)  # type: ignore[misc]
            editor.quit()
            while connection.recv(65_536):
                pass
    assert "s.md" not in str(here.events())
