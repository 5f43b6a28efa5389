"""`log verify` and `doctor` look at the running daemon's data directory, wherever it is."""

import json
from typing import Any


def test_log_verify_reads_the_daemons_log_beside_it(daemon: Any) -> None:
    running = daemon()
    assert running.cli("publish", "active_note_set", "note=a.md").returncode == 0
    for options in ([], ["--socket", str(running.socket)]):
        done = running.cli("log", "verify", "--json", *options)
        assert done.returncode == 0 and json.loads(done.stdout)["lastSeq"] == 3
    assert running.connect().state()["activeNote"]["id"] == "a.md"


def test_log_verify_without_a_name_finds_the_only_daemon(daemon: Any) -> None:
    running = daemon("--workspace", "elsewhere")
    done = running.cli("log", "verify", env={"WORKSPACED_SOCKET": ""})
    assert done.returncode == 0 and "2 events" in done.stdout
    assert done.stderr.startswith("workspace elsewhere: ")


def test_doctor_looks_at_the_daemons_data_directory(daemon: Any) -> None:
    running = daemon()
    found = {each["about"]: each for each in json.loads(running.cli("doctor", "--json").stdout)}
    assert found["data"]["says"] == str(running.data)
    assert found["lock"]["says"] == f"held by pid {running.pid}"
    assert "2 events" in found["log"]["says"]
