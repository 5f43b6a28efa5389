"""What a stranger tried: odd places, odd names, odd moments."""

import json
import os
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from support import process

from workspaced.discovery import records


def serve(running: Any, *flags: str, cwd: Path | None = None) -> "subprocess.CompletedProcess[bytes]":
    """A `serve` that is expected to refuse."""
    return process.run("serve", *flags, env=running.env, cwd=cwd)


@pytest.mark.parametrize("place", ["data", "socket"])
def test_nothing_of_ours_may_lie_in_a_vault(shared: Any, tmp_path: Path, place: str) -> None:
    vault = tmp_path / "notes"
    vault.mkdir()
    data = vault / "data" if place == "data" else tmp_path / "data"
    socket = vault / "s.sock" if place == "socket" else tmp_path / "s.sock"
    refused = serve(shared, "--vault", str(vault), "--data-dir", str(data), "--socket", str(socket))
    assert refused.returncode == 2
    assert b"INVALID_ARGUMENT" in refused.stderr
    assert list(vault.iterdir()) == []


def test_the_same_folder_twice_is_one_vault(daemon: Any) -> None:
    running = daemon(start=False)
    running.flags = ("--vault", f"{running.vault}/../{running.vault.name}")
    with running.start().connect() as client:
        assert len(client.server["vaults"]) == 1


def test_an_import_takes_a_relative_directory(shared: Any, tmp_path: Path) -> None:
    exported = shared.cli("log", "export")
    (tmp_path / "session.jsonl").write_text(exported.stdout)
    done = process.run("log", "import", "session.jsonl", "--data-dir", "fresh", cwd=tmp_path, env=shared.env)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "fresh" / "log").is_dir()
    assert not (tmp_path / "fresh" / "fresh").exists()


def test_an_export_into_a_pipe_writes_to_it_and_leaves_it_in_place(shared: Any, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    assert shared.cli("log", "export", "-o", str(pipe)).returncode == 0
    reader.join(timeout=60)
    assert stat.S_ISFIFO(pipe.lstat().st_mode)
    assert json.loads(read[0].splitlines()[0])["workspaced"] == "log"


def test_an_argument_that_is_not_utf_8_is_refused_without_a_traceback(shared: Any) -> None:
    command = [sys.executable, "-m", "workspaced", "publish", "active_note_set", b"note=bad\xff.md"]
    env = {**shared.env, "WORKSPACED_SOCKET": str(shared.socket)}
    done = subprocess.run(command, env=env, capture_output=True, check=False)
    assert done.returncode == 2
    assert b"Traceback" not in done.stderr and b"INVALID_ARGUMENT" in done.stderr


def test_control_characters_of_a_name_never_reach_the_terminal(shared: Any) -> None:
    with shared.connect() as client:
        client.publish([{"type": "active_note_set", "data": {"note": "esc\x1b[31m\nred.md"}}])
    shown = shared.cli("state").stdout
    assert "\x1b" not in shown and "\\x1b[31m\\nred.md" in shown


def test_null_on_the_command_line_is_no_note(shared: Any) -> None:
    assert shared.cli("publish", "active_note_set", "note=a.md").returncode == 0
    assert shared.cli("publish", "active_note_set", "note=null").returncode == 0
    assert json.loads(shared.cli("state", "--json").stdout)["activeNote"] is None


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_right_after_the_start_ends_the_daemon(daemon: Any, number: signal.Signals) -> None:
    running = daemon()  # listening, the index perhaps still being built
    running.send_signal(number)
    assert running.wait() == 0


def test_salvage_makes_a_log_of_what_a_damaged_one_still_holds(daemon: Any) -> None:
    running = daemon()
    with running.connect() as client:
        for name in "abcd":
            client.publish([{"type": "active_note_set", "data": {"note": f"{name}.md"}}])
    running.stop()
    (segment,) = (running.data / "log").glob("*.wlog")
    content = segment.read_bytes()
    place = content.index(b'"c.md"') + 1
    segment.write_bytes(content[:place] + b"C" + content[place + 1 :])
    assert running.cli("log", "verify", "--data-dir", str(running.data)).returncode == 4

    saved = running.cli("log", "salvage", "--data-dir", str(running.data), "--to", "saved")
    assert saved.returncode == 0, saved.stderr
    assert segment.read_bytes()[place : place + 1] == b"C"
    state = json.loads(running.cli("replay", "saved", "--json").stdout)
    assert state["activeNote"]["id"] == "b.md"
    assert b"d.md" in next((running.root / "saved").rglob("after-damage.jsonl")).read_bytes()
    assert running.cli("log", "salvage", "--data-dir", str(running.data), "--to", "saved").returncode == 2


HEAVY = "jmespath pydantic jsonschema rich asyncio tempfile workspaced_events.log workspaced_events.journal"
HEAVY += " workspaced_tools.limits workspaced_tools.ports workspaced_tools.tools workspaced_tools.vault"
CATALOGUE = "workspaced_events.schema.catalogue"


@pytest.mark.parametrize(
    ("command", "heavy"),
    [
        ("status", f"{HEAVY} {CATALOGUE}"),
        ("state", f"{HEAVY} {CATALOGUE}"),
        ("tools", f"{HEAVY} {CATALOGUE}"),
        ("publish", HEAVY),
        ("share", HEAVY),
    ],
)
def test_commands_that_only_ask_the_daemon_load_neither_log_nor_tools(command: str, heavy: str) -> None:
    script = f"""
import sys
import workspaced.cli
workspaced.cli.run([{command!r}, "--help"])
print([name for name in {heavy.split()!r} if name in sys.modules], file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_daemon_whose_stderr_is_on_a_full_disk_serves_and_ends_in_good_order(daemon: Any) -> None:
    running = daemon("--log-level", "debug", start=False)
    running.wrapper = ("sh", "-c", 'exec "$@" 2>/dev/full', "sh")
    running.spawn()
    until = time.monotonic() + 60
    while records.is_listening(str(running.socket)) is False and running.process.poll() is None:
        assert time.monotonic() < until
        time.sleep(0.02)
    with running.connect() as client:
        assert client.tool("get_workspace_context")["success"]
    assert running.stop() == 0
