"""Rows 9 and 49: a flipped bit in the log, blobs and HEAD, or any damage of a blob, is noticed and named."""

import json
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
import pytest
from support.crowd import degraded, selected
from support.daemon import refusal
from support.journals import flipped, record

from workspaced_events.blobs.durable import packed, read_blob
from workspaced_events.ids import EventId, NoteId, VaultId
from workspaced_events.journal.actions import Action, parse_actions
from workspaced_events.journal.opening import Journal, open_journal
from workspaced_events.limits import SELECTION_INLINE_CHARS_MAX
from workspaced_events.log.disk import RealDisk
from workspaced_events.projections.workspace_fold import fold_all
from workspaced_events.projections.workspace_state import EMPTY, to_json
from workspaced_events.schema import catalogue as c
from workspaced_events.schema.catalogue import Event
from workspaced_events.schema.codec import decode_batch

BATCHES = 240
EVERYTHING = 1 << 40
KEPT = ("activeNote", "recentNotes", "selection")


def opened(data: Path, **options: Any) -> Journal:
    return open_journal(RealDisk(data), version="t", segment_bytes_max=8_000, **options)


def with_text(number: int) -> Action:
    """A selection whose text is a blob of its own."""
    action = selected(f"text {number} " + "long " * SELECTION_INLINE_CHARS_MAX, f"s{number}")
    [parsed] = parse_actions([action], keep_text=name_of)
    return parsed


def name_of(content: bytes) -> str:
    return sha256(content).hexdigest()


def make_past(data: Path, *, snapshot: bool = True, vault: str = "/nowhere") -> list[Event]:
    """A log of several segments, with texts; a snapshot at its end unless not asked for. Returns its events."""
    data.mkdir(mode=0o700)
    journal = opened(data, snapshot_events=10**9 if not snapshot else 100)
    record(journal, Action(c.VaultOpened(VaultId("past"), "past", vault)))
    for number in range(BATCHES):
        action = Action(c.ActiveNoteSet(NoteId(f"{number}.md")), id=EventId(f"n{number}"))
        record(journal, with_text(number) if number % 40 == 0 else action)
    events = journal.log.read(1, EVERYTHING, EVERYTHING)
    journal.writer.close()
    if not snapshot:
        for path in (data / "snapshots").glob("*"):
            path.unlink()
    return events


def segments(data: Path) -> list[Path]:
    return sorted((data / "log").glob("*.wlog"))


def flip(path: Path, bit: int) -> None:
    path.write_bytes(flipped(path.read_bytes(), bit))


def line_start(data: bytes, at: int) -> int:
    return data.rfind(b"\n", 0, at) + 1


def events_of(client: Any) -> list[dict[str, Any]]:
    """All events that the daemon serves, a page at a time, until it refuses one."""
    found: list[dict[str, Any]] = []
    while page := client.call("workspaced/log", {"from": len(found) + 1, "limit": 7})["events"]:
        found += page
    return found


def plain(events: list[Event]) -> list[Any]:
    return [json.loads(msgspec.json.encode(event)) for event in events]


# -- before a snapshot --


@pytest.mark.fault(row=9)
@pytest.mark.parametrize("place", ["a batch", "the first batch", "the last batch"])
def test_row_09_before_a_snapshot_it_is_noticed_when_read_and_by_verify(daemon: Any, place: str) -> None:
    running = daemon("--no-watch", start=False)
    events = make_past(running.data)
    folded = json.loads(msgspec.json.encode(to_json(fold_all(events, EMPTY))))
    assert len(segments(running.data)) > 4, "nothing lies before the snapshot"
    sealed = segments(running.data)[1]
    content = sealed.read_bytes()
    lines = content.splitlines(keepends=True)
    which = {"a batch": len(lines) // 2, "the first batch": 1, "the last batch": len(lines) - 2}[place]
    start = sum(map(len, lines[:which]))
    flip(sealed, (start + len(lines[which]) // 2) * 8 + 3)
    running.start()
    client = running.connect()
    assert client.call("workspaced/status")["log"]["durability"] == "synced", "the start does not look there"
    live = client.state(vault="past")
    assert {name: live[name] for name in KEPT} == {name: folded[name] for name in KEPT}
    first = decode_batch(lines[which][9:])[0].seq
    error = refusal(client.call, "workspaced/log", {"from": first, "limit": 1})
    assert (error.code, error.details["file"], error.details["offset"]) == (
        "LOG_DAMAGED",
        f"log/{sealed.name}",
        start,
    )
    assert error.hint
    served = client.call("workspaced/log", {"from": 1, "limit": first - 1})["events"]
    assert served == plain(events[: first - 1])
    assert refusal(client.call, "workspaced/state", {"at": first + 1}).code == "LOG_DAMAGED"
    done = running.cli("log", "verify", "--data-dir", str(running.data))
    assert (
        done.returncode != 0
        and sealed.name in done.stdout + done.stderr
        and str(start) in done.stdout + done.stderr
    )
    assert client.publish([{"type": "active_note_set", "data": {"note": "a.md"}}])[0]["seq"] > len(events)
    degraded(client, lambda found: any(sealed.name in said for said in found))


# -- what is scanned at the start --


@pytest.mark.fault(row=9)
@pytest.mark.parametrize("which", [1, -1], ids=["sealed", "open"])
def test_row_09_where_the_start_scans_it_opens_read_only_and_says_where(daemon: Any, which: int) -> None:
    running = daemon("--no-watch", start=False)
    events = make_past(running.data, snapshot=False, vault=str(running.vault))
    damaged = segments(running.data)[which]
    content = damaged.read_bytes()
    at = len(content) // 2
    flip(damaged, at * 8 + 1)
    running.start()
    check_read_only(running, events, damaged, line_start(content, at))


def check_read_only(running: Any, events: list[Event], damaged: Path, offset: int) -> None:
    """The daemon serves what comes before the damage, and only that, and says where it is."""
    client = running.connect()
    (said, *_) = client.call("workspaced/status")["degraded"]
    assert f"log/{damaged.name}" in said and f"offset {offset}" in said and "sequences" in said
    action = {"type": "active_note_set", "data": {"note": "a.md"}}
    assert refusal(client.publish, [action]).code == "LOG_READ_ONLY"
    served = events_of(client)
    assert 0 < len(served) < len(events)
    assert served == plain(events[: len(served)])
    folded = json.loads(msgspec.json.encode(to_json(fold_all(events[: len(served)], EMPTY))))
    assert client.state()["vaults"] == folded["vaults"]
    assert client.tool("get_workspace_context")["success"]
    assert any("degraded" in line for line in running.stderr)
    published = running.cli("publish", "active_note_set", "note=a.md")
    assert published.returncode == 4 and "[LOG_READ_ONLY]" in published.stderr
    verified = running.cli("log", "verify", "--data-dir", str(running.data))
    assert verified.returncode == 4 and damaged.name in verified.stderr and "[LOG_DAMAGED]" in verified.stderr
    assert running.cli("replay", str(running.data)).returncode == 4


# -- texts --

TEXT = "Ein langer ausgewählter Text. " * 400
OTHER = "Another selected text. " * 400


def blob_of(running: Any, client: Any, name: str) -> Path:
    """The file that keeps the text of the event with the id `name`."""
    events = client.call("workspaced/log", {"from": 1, "limit": 5_000})["events"]
    (digest,) = [event["data"]["textSha256"] for event in events if event["id"] == name]
    path: Path = running.data / "blobs" / digest[:2] / digest
    return path


def flip_middle(path: Path) -> None:
    flip(path, path.stat().st_size // 2 * 8)


DAMAGES: dict[str, Callable[[Path], Any]] = {
    "a flipped bit": flip_middle,
    "cut short": lambda path: path.write_bytes(path.read_bytes()[:-20]),
    "empty": lambda path: path.write_bytes(b""),
    "another text": lambda path: path.write_bytes(packed(OTHER.encode())),
    "missing": lambda path: path.unlink(),
}


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
    (problem,) = degraded(client, bool)
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
    flip_middle(path)
    running.start()
    degraded(running.connect(), bool)
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
    flip_middle(old)
    flip_middle(new)
    running.start()
    (problem,) = degraded(running.connect(), bool)
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
    flip_middle(first)
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
