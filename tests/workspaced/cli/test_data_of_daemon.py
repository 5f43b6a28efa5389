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


READ = ("log export", "log show 3", "log search beta --json", "calls --json")


def test_a_log_reads_the_same_of_the_daemon_and_after_it(daemon: Any) -> None:
    running = daemon()
    assert running.cli("publish", "active_note_set", "note=a.md").returncode == 0
    running.ask("get_note_by_reference", reference="beta")
    of_daemon = {command: running.cli(*command.split()) for command in READ}
    running.stop()
    alone = {
        "WORKSPACED_SOCKET": "",
        "WORKSPACED_DATA_DIR": str(running.data),
        "XDG_RUNTIME_DIR": str(running.root),
    }
    for command, before in of_daemon.items():
        after = running.cli(*command.split(), env=alone)
        assert after.returncode == before.returncode == 0 and before.stdout
        assert after.stdout.startswith(before.stdout)  # an export has the daemon's end in it too
        assert after.stderr.startswith(f"no daemon was asked; log in {running.data}\n")
