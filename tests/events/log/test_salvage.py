"""Salvage: everything before the damage in a new log, everything behind it listed, nothing touched."""

import json
from hashlib import sha256
from typing import Any

import pytest
from support.journals import files_of, record
from support.simulated_disk import SimDisk

from workspaced_events.errors import InvalidArgument
from workspaced_events.ids import EventId, NoteId, VaultId
from workspaced_events.journal.actions import Action
from workspaced_events.journal.opening import open_journal
from workspaced_events.log.salvage import AFTER_DAMAGE, Salvaged, salvage
from workspaced_events.log.scan import scan_log
from workspaced_events.replay.json_lines import read_export
from workspaced_events.schema import catalogue as c
from workspaced_events.schema.catalogue import Event

NOW = "2026-01-01T00:00:00.000000Z"
COUNT = 60
DIRECTORIES = ("log", "quarantine", "snapshots")


def fill(disk: Any) -> list[Event]:
    journal = open_journal(disk, version="t", clock=lambda: NOW, segment_bytes_max=1_500)
    journal.blobs.put(b"kept text")
    actions = [Action(c.VaultOpened(VaultId("v"), "v", "/v"), id=EventId("id1"))]
    actions += [Action(c.ActiveNoteSet(NoteId(f"{n}.md")), id=EventId(f"id{n}")) for n in range(2, COUNT + 1)]
    for start in range(0, COUNT, 2):
        record(journal, *actions[start : start + 2])
    journal.writer.close()
    return journal.log.read(1, COUNT, 1 << 40)


@pytest.fixture
def disk() -> SimDisk:
    return SimDisk()


@pytest.fixture
def events(disk: SimDisk) -> list[Event]:
    return fill(disk)


def salvaged(disk: SimDisk, to: SimDisk) -> Salvaged:
    files = files_of(disk, *DIRECTORIES)
    result = salvage(disk, to, version="t", now=NOW)
    assert files_of(disk, *DIRECTORIES) == files
    return result


def after(to: SimDisk) -> tuple[dict[str, Any], list[int]]:
    header, *lines = [json.loads(line) for line in to.read(AFTER_DAMAGE).splitlines()]
    return header, [line["seq"] for line in lines]


def check(to: SimDisk, events: list[Event], last: int) -> None:
    read: list[Event] = []
    scan = scan_log(to, read.extend)
    assert (scan.damage, scan.torn, scan.clean) == (None, None, True)
    assert read == events[:last]
    assert open_journal(to, version="t", clock=lambda: NOW).log.damage is None


def test_of_a_flipped_line_loses_that_line_alone(disk: SimDisk, events: list[Event]) -> None:
    name = f"log/{disk.names('log')[2]}"
    data = disk.read(name)
    lines = data.splitlines(keepends=True)
    hurt = json.loads(lines[2][9:])
    offset = len(lines[0]) + len(lines[1]) + 30
    disk.overwrite(name, data[:offset] + bytes([data[offset] ^ 1]) + data[offset + 1 :])
    to = SimDisk()
    result = salvaged(disk, to)
    first, last = hurt[0]["seq"], hurt[-1]["seq"]
    assert (result.last_seq, result.lost) == (first - 1, [(first, last)])
    header, seqs = after(to)
    assert header["workspaced"] == "after-damage"
    assert header["lost"] == [[first, last]]
    assert header["log"] != result.log_id
    assert seqs == list(range(last + 1, COUNT + 1))
    assert result.after == len(seqs)
    check(to, events, result.last_seq)
    assert result.blobs == 1
    kept = open_journal(to, version="t", clock=lambda: NOW).blobs
    assert kept.get(sha256(b"kept text").hexdigest()) == b"kept text"


def test_at_every_byte_of_a_segment_loses_one_batch_or_none(disk: SimDisk, events: list[Event]) -> None:
    name = f"log/{disk.names('log')[1]}"
    data = disk.read(name)
    for offset in range(0, len(data), 7):
        disk.overwrite(name, data[:offset] + bytes([data[offset] ^ 2]) + data[offset + 1 :])
        to = SimDisk()
        result = salvaged(disk, to)
        _header, seqs = after(to)
        missing = set(range(result.last_seq + 1, COUNT + 1)) - set(seqs)
        ends_a_line = data[offset : offset + 1] == b"\n"  # then two lines are damaged
        assert len(missing) <= (6 if ends_a_line else 4), offset
        assert missing == {seq for first, last in result.lost for seq in range(first, last + 1)}
        by_seq = {event.seq: event for event in events}
        lines = to.read(AFTER_DAMAGE).splitlines()[1:]
        header = b'{"workspaced":"log","version":1}'
        for line in lines:
            [event] = read_export([header, line], "x")
            assert event == by_seq[event.seq]


def test_of_a_missing_segment_names_its_range(disk: SimDisk, events: list[Event]) -> None:
    segments = [name for name in disk.names("log") if name != "HEAD"]
    disk.discard(f"log/{segments[1]}")
    first, following = int(segments[1][:20]), int(segments[2][:20])
    to = SimDisk()
    result = salvaged(disk, to)
    assert (result.last_seq, result.lost) == (first - 1, [(first, following - 1)])
    check(to, events, first - 1)


def test_of_a_cut_below_head_says_what_was_acknowledged(disk: SimDisk, events: list[Event]) -> None:
    name = f"log/{[name for name in disk.names('log') if name != 'HEAD'][-1]}"
    data = disk.read(name)
    disk.overwrite(name, data[: data.rindex(b"\n", 0, -1) + 1])
    to = SimDisk()
    assert salvaged(disk, to).lost == [(COUNT - 1, COUNT)]
    assert after(to)[1] == []
    check(to, events, COUNT - 2)


def test_of_a_good_log_is_refused(disk: SimDisk, events: list[Event]) -> None:
    with pytest.raises(InvalidArgument):
        salvage(disk, SimDisk(), version="t", now=NOW)


def test_into_a_log_is_refused(disk: SimDisk, events: list[Event]) -> None:
    disk.discard(f"log/{disk.names('log')[1]}")
    to = SimDisk()
    fill(to)
    files = files_of(to, *DIRECTORIES)
    with pytest.raises(InvalidArgument):
        salvage(disk, to, version="t", now=NOW)
    assert files_of(to, *DIRECTORIES) == files
