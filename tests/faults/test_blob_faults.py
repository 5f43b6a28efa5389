"""Damaged and missing texts of the log (`blobs/`): they are found, named, and never acknowledged as kept."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.daemon import ANSWER_S

from workspaced_events.blobs.durable import packed, read_blob
from workspaced_events.log.disk import RealDisk

TEXT = "Ein langer ausgewählter Text. " * 400
OTHER = "Another selected text. " * 400


def selected(text: str, name: str) -> dict[str, Any]:
    data = {"note": "a.md", "startLine": 1, "endLine": 2, "text": text}
    return {"type": "selection_changed", "data": data, "id": name}


def blob_of(running: Any, client: Any, name: str) -> Path:
    """The file that keeps the text of the event with the id `name`."""
    events = client.call("workspaced/log", {"from": 1, "limit": 5_000})["events"]
    (digest,) = [event["data"]["textSha256"] for event in events if event["id"] == name]
    path: Path = running.data / "blobs" / digest[:2] / digest
    return path


def flipped(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


DAMAGES: dict[str, Callable[[Path], Any]] = {
    "a flipped bit": flipped,
    "cut short": lambda path: path.write_bytes(path.read_bytes()[:-20]),
    "empty": lambda path: path.write_bytes(b""),
    "another text": lambda path: path.write_bytes(packed(OTHER.encode())),
    "missing": lambda path: path.unlink(),
}


def degraded(client: Any, *, until: Callable[[list[str]], bool]) -> list[str]:
    """What the daemon says is degraded, once that is as expected: the blobs are looked at beside serving."""
    deadline = time.monotonic() + ANSWER_S
    while not until(said := client.call("workspaced/status")["degraded"]):
        assert time.monotonic() < deadline, said
    result: list[str] = said
    return result


@pytest.mark.fault(row=49)
@pytest.mark.parametrize("damage", DAMAGES)
def test_row_49_a_damaged_text_is_named_everywhere_and_written_anew(daemon: Any, damage: str) -> None:
    running = daemon("--no-watch")
    client = running.connect()
    client.publish([selected(TEXT, "damaged"), selected(OTHER, "sound")])
    path = blob_of(running, client, "damaged")
    assert running.cli("log", "verify", "--data-dir", str(running.data)).returncode == 0
    assert running.stop() == 0
    DAMAGES[damage](path)
    name = str(path.relative_to(running.data))

    verified = running.cli("log", "verify", "--data-dir", str(running.data))
    assert verified.returncode == 4 and name in verified.stderr and "LOG_DAMAGED" in verified.stderr
    said = json.loads(running.cli("log", "verify", "--data-dir", str(running.data), "--json").stdout)
    assert said["ok"] is False and said["damage"] is None
    assert [each["file"] for each in said["blobs"]["damaged"]] == [name]
    replayed = running.cli("replay", str(running.data), "--verify")
    assert replayed.returncode == 4 and name in replayed.stderr

    running.start()
    client = running.connect()
    (problem,) = degraded(client, until=bool)
    assert name in problem
    environment = {"WORKSPACED_DATA_DIR": str(running.data)}
    findings = json.loads(running.cli("doctor", "--json", env=environment).stdout)
    assert any(each["level"] == "problem" and name in each["says"] and each["fix"] for each in findings)
    client.publish([selected(TEXT, "again")])
    assert read_blob(RealDisk(running.data), "blobs", path.name) == TEXT.encode()
    assert client.call("workspaced/status")["degraded"] == []
    assert running.cli("log", "verify", "--data-dir", str(running.data)).returncode == 0


@pytest.mark.fault(row=49)
def test_row_49_agents_are_told_how_many_texts_are_damaged_and_not_which(daemon: Any) -> None:
    running = daemon("--no-watch")
    client = running.connect()
    client.publish([selected(TEXT, "damaged")])
    path = blob_of(running, client, "damaged")
    assert running.stop() == 0
    flipped(path)
    running.start()
    degraded(running.connect(), until=bool)
    wire = running.wire()
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "agent", "version": "1"}}
    wire.ask("initialize", hello)
    (problem,) = wire.ask("workspaced/status")["result"]["degraded"]
    assert "1 text" in problem and path.name not in problem


@pytest.mark.fault(row=49)
def test_row_49_a_start_looks_at_the_tail_and_verify_at_all_of_it(daemon: Any) -> None:
    running = daemon("--no-watch")
    client = running.connect()
    client.publish([selected(TEXT, "old")])
    client.publish([{"type": "active_note_set", "data": {"note": f"{n}.md"}} for n in range(1_000)])
    client.publish([selected(OTHER, "new")])
    old, new = blob_of(running, client, "old"), blob_of(running, client, "new")
    assert running.stop() == 0
    flipped(old)
    flipped(new)
    running.start()
    (problem,) = degraded(running.connect(), until=bool)
    assert new.name in problem and old.name not in problem
    verified = running.cli("log", "verify", "--data-dir", str(running.data))
    assert verified.returncode == 4 and old.name in verified.stderr and new.name in verified.stderr


@pytest.mark.fault(row=49)
def test_row_49_what_agents_were_shown_may_be_gone_but_not_be_another_text(daemon: Any) -> None:
    running = daemon("--no-watch")
    with running.connect() as client:
        client.tool("get_note_by_reference", {"reference": "a.md"})
        client.tool("get_note_by_reference", {"reference": "b.md"})
    assert running.stop() == 0
    said = json.loads(running.cli("log", "verify", "--data-dir", str(running.data), "--json").stdout)
    assert said["served"] == {
        "named": said["served"]["kept"],
        "kept": said["served"]["kept"],
        "swept": 0,
        "damaged": [],
    }
    first, *others = sorted(path for path in (running.data / "served").rglob("*") if path.is_file())
    named = said["served"]["named"]
    for each in others:
        each.unlink()
    flipped(first)
    done = running.cli("log", "verify", "--data-dir", str(running.data), "--json")
    said = json.loads(done.stdout)
    assert done.returncode == 0 and said["ok"] is True and said["blobs"]["damaged"] == []
    damaged = [each["file"] for each in said["served"]["damaged"]]
    assert said["served"]["swept"] + len(damaged) == named and damaged in (
        [],
        [f"served/{first.name[:2]}/{first.name}"],
    )
    running.start()
    assert running.connect().call("workspaced/status")["degraded"] == []
