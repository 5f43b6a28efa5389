"""`workspaced forget`, as its user meets it: a daemon that saw the note, the command, and a daemon afterwards."""

import fcntl
import json
import os
import pty
import shutil
import subprocess
import sys
import termios
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest
from support.talk import files_telling

from workspaced_events.ids import NoteId
from workspaced_events.log.data_directory import ERASURE, ERASURE_READY
from workspaced_events.log.disk import RealDisk
from workspaced_events.privacy.erasure import prepare

SECRET = "private/Geheimplan Falke.md"
NOTES = {
    SECRET: "# Zugvogel\n\nDie Flugroute.\n",
    "other.md": "# Alltag\n\nNichts weiter.\n",
    "third.md": "# Drittes\n\nAuch nichts.\n",
}
CANARIES = ("geheimplan", "zugvogel", "flugroute")


def files(daemon: Any) -> dict[str, bytes]:
    """The files of the data directory, but the one that says whose lock it was last."""
    found = {str(path.relative_to(daemon.data)): path for path in daemon.data.rglob("*") if path.is_file()}
    return {name: path.read_bytes() for name, path in found.items() if name != "lock"}


@pytest.fixture(scope="module")
def watched(module_daemon: Any) -> Any:
    """A stopped daemon whose user and whose agent saw the secret note and another one."""
    made = module_daemon(notes=NOTES)
    with made.connect() as client:
        for note in (SECRET, "other.md"):
            client.publish([{"type": "active_note_set", "data": {"note": note}}])
            client.publish([{"type": "note_pinned", "data": {"note": note}}])
            client.tool("get_note_by_reference", {"reference": note, "includeContent": True})
        client.publish([{"type": "active_note_set", "data": {"note": "third.md"}}])
        client.tool("get_navigation_history", {"limit": 1})
        client.publish([{"type": "active_note_set", "data": {"note": SECRET}}])
        selected = {"note": SECRET, "startLine": 1, "endLine": 3, "text": "Flugroute " * 1_000}
        client.publish([{"type": "selection_changed", "data": selected}])
        client.tool("get_workspace_context", {"includeContent": True})
    assert made.stop() == 0
    return made


@pytest.fixture
def seen(watched: Any, tmp_path: Path) -> Iterator[Any]:
    """The same, on data of its own."""
    kept = watched.data
    watched.data = Path(shutil.copytree(kept, tmp_path / "data"))
    watched.stderr.clear()
    yield watched
    if watched.process.poll() is None:
        watched.stop()
    watched.data = kept


def forget(daemon: Any, note: str = SECRET, *more: str) -> Any:
    return daemon.cli("forget", note, "--data-dir", str(daemon.data), *more)


def test_a_note_is_forgotten_and_the_daemon_goes_on_without_it(seen: Any) -> None:
    assert len(files_telling(seen.data, CANARIES)) > 3
    seen.start()
    with seen.connect() as client:
        before = client.server["clock"].partition(":")[0]
    seen.stop()
    done = forget(seen, SECRET, "--yes", "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["paths"] == [SECRET]
    assert told["calls"] == 2
    assert files_telling(seen.data, CANARIES) == []
    assert forget(seen, SECRET, "--yes").returncode == 2, "nothing is left to forget"
    assert seen.cli("log", "verify", "--data-dir", str(seen.data)).returncode == 0
    (seen.vault / SECRET).rename(seen.root / "kept.md")
    seen.start()
    with seen.connect() as client:
        assert client.server["clock"].partition(":")[0] != before, "clocks of before do not speak of this log"
        state = client.state()
        assert [pin["id"] for pin in state["pinnedNotes"]] == ["other.md"]
        assert state["activeNote"] is None
        answer = client.tool("get_note_by_reference", {"reference": "other"})
        assert answer["success"]
        events = client.call("workspaced/log", {"from": 1, "limit": 1_000})["events"]
        assert "event_forgotten" in {event["type"] for event in events}
    assert files_telling(seen.data, CANARIES) == []
    (seen.root / "kept.md").rename(seen.vault / SECRET)


@pytest.mark.parametrize(
    "arguments",
    [
        ["Geheimplan Falke.md", "--yes"],
        ["private/nie gesehen.md", "--yes"],
        ["note.txt", "--yes"],
        ["../out.md", "--yes"],
        [SECRET, "--yes", "--of-vault", "nowhere"],
        [SECRET],
    ],
    ids=" ".join,
)
def test_what_the_log_never_mentions_and_what_nobody_confirms_is_usage_and_changes_nothing(
    seen: Any, arguments: list[str]
) -> None:
    before = files(seen)
    done = forget(seen, *arguments)
    assert done.returncode == 2 and ("--yes" in arguments or "--yes" in done.stderr)
    assert files(seen) == before
    assert seen.cli("forget", SECRET, "--data-dir", str(seen.root / "none"), "--yes").returncode == 2
    assert not (seen.root / "none").exists()


def test_while_the_daemon_runs_it_names_the_pid_and_changes_nothing(seen: Any) -> None:
    seen.start()
    done = forget(seen, SECRET, "--yes")
    assert done.returncode == 3
    assert f"pid {seen.pid}" in done.stderr
    assert "ALREADY_RUNNING" in done.stderr
    assert not (seen.data / ERASURE).exists()


def pressed(asked: subprocess.Popen[bytes], terminal: int, said: str) -> int:
    """The exit code of a command that is answered by a person, who presses again what had no effect.

    Python's `input` does not notice a Ctrl-C that comes after its prompt and just before it waits for a key.
    """
    for _ in range(20):
        os.write(terminal, said.encode())
        with suppress(subprocess.TimeoutExpired):
            return asked.wait(1)
    raise AssertionError("the command still waits for an answer")


@pytest.mark.thorough
@pytest.mark.parametrize(("said", "code"), [("n\n", 130), ("\x03", 130), ("y\n", 0)], ids=["no", "ctrl-c", "yes"])
def test_a_person_is_asked_and_may_say_no(seen: Any, said: str, code: int) -> None:
    before = files(seen)
    ours, theirs = pty.openpty()
    asked = subprocess.Popen(
        [sys.executable, "-m", "workspaced", "forget", SECRET, "--data-dir", str(seen.data)],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=seen.env,
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
    )
    os.close(theirs)
    shown = b""
    while b"[y/N]" not in shown:
        shown += os.read(ours, 1_000)
    assert SECRET.encode() in shown
    assert pressed(asked, ours, said) == code
    os.close(ours)
    assert (files(seen) == before) == (code != 0)
    assert bool(files_telling(seen.data, CANARIES)) == (code != 0)


def interrupted(daemon: Any) -> None:
    """As a crash leaves it once it is decided, before anything else was done."""
    RealDisk(daemon.data).make_directory(ERASURE)
    aside = RealDisk(daemon.data / ERASURE)
    prepared = prepare(
        RealDisk(daemon.data), aside, NoteId(SECRET), version="t", now="2026-01-01T00:00:00.000000Z"
    )
    (daemon.data / ERASURE / ERASURE_READY).write_bytes(msgspec.json.encode(prepared.ready))
    first = daemon.data / "log" / prepared.ready.log[0]
    first.write_bytes(first.read_bytes()[:100])


def test_a_daemon_that_starts_finishes_what_was_interrupted(seen: Any) -> None:
    interrupted(seen)
    done = seen.cli("replay", str(seen.data))
    assert done.returncode == 4
    assert "workspaced forget" in done.stderr
    seen.start()
    assert any("forgotten" in line for line in seen.stderr)
    with seen.connect() as client:
        assert [pin["id"] for pin in client.state()["pinnedNotes"]] == ["other.md"]
        assert client.call("workspaced/status")["degraded"] == []
    assert not (seen.data / ERASURE).exists()
