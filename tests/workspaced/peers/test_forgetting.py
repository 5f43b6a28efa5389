"""A note that is forgotten here: the other machines are asked to forget it, and nothing names it any more."""

import json
import shlex
from typing import Any

import pytest
from support.daemon import Daemon, Factory
from support.nats_server import NatsServer, needs_server
from support.peers.machines import linked, until, until_linked

pytestmark = [pytest.mark.thorough, needs_server]
SECRET = "other.md"


def forget(daemon: Daemon, note: str) -> dict[str, Any]:
    """While the daemon is stopped."""
    done = daemon.cli("forget", note, "--data-dir", str(daemon.data), "--yes", "--json")
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def findings(daemon: Daemon) -> list[dict[str, str]]:
    done = daemon.cli("doctor", "--json", "--socket", str(daemon.socket))
    return [each for each in json.loads(done.stdout) if each["about"] == "forgetting"]


def names(daemon: Daemon, note: str) -> list[str]:
    """The lines of the log and the files of the link that name it."""
    files = [*(daemon.data / "log").iterdir(), *(daemon.data / "link").iterdir()]
    return [str(line) for path in files for line in path.read_bytes().splitlines() if note.encode() in line]


def test_what_is_forgotten_here_goes_there_and_doctor_has_the_rest(daemon: Factory, server: NatsServer) -> None:
    laptop, desk = linked(daemon, server)
    for machine in (laptop, desk):
        machine.publish("note_pinned", note=SECRET)
    laptop.publish("note_pinned", note="plan.md")
    laptop.publish("active_note_set", note=SECRET)
    until(desk, "get_current_note", lambda answer: answer["success"])
    until_linked(laptop, lambda found: not found["sent"]["unsent"])
    laptop.stop()
    assert forget(laptop, SECRET)["asked"] == ["desk"]
    assert names(laptop, SECRET) == []
    laptop.start()
    until_linked(laptop, lambda found: not found["forgetting"] and not found["sent"]["unsent"])
    for machine in (laptop, desk):  # also the desk's own pin of it goes
        pins = until(machine, "get_workspace_context", lambda answer: len(answer["data"]["pinnedNotes"]) == 1)
        assert pins["data"]["pinnedNotes"][0]["id"] == "plan.md"
    until_linked(desk, lambda found: not found["sent"]["unsent"])
    desk.publish("active_note_set", note="plan.md")
    until(laptop, "get_current_note", lambda answer: answer["success"])
    assert names(laptop, SECRET) == [], "what the desk sent about it does not name it again"
    [finding] = findings(desk)
    assert "laptop" in finding["says"] and SECRET in finding["says"]
    command = shlex.split(finding["fix"].rpartition("workspaced ")[2])
    desk.stop()
    done = desk.cli(command[0], "--data-dir", str(desk.data), "--yes", "--json", *command[1:])
    assert done.returncode == 0, done.stderr
    assert "asked" not in json.loads(done.stdout) or json.loads(done.stdout)["asked"] == ["laptop"]
    assert names(desk, SECRET) == []
    desk.start()
    assert findings(desk) == []
