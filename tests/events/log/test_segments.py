"""`SegmentLog`: rotation, what a refusing disk leaves behind, poison, and reading from anywhere."""

import errno
import itertools
from collections.abc import Callable
from typing import Any

import pytest
from support.journals import record, scanned, segments_of
from support.simulated_disk import SimDisk

from workspaced_events.errors import DiskFull, LogDamaged, LogFailed
from workspaced_events.ids import EventId, NoteId, VaultId
from workspaced_events.journal.actions import Action
from workspaced_events.journal.opening import open_journal
from workspaced_events.limits import INDEX_STRIDE_BYTES, LINE_BYTES_MAX
from workspaced_events.log import segments
from workspaced_events.log.line_format import Header, parse_header
from workspaced_events.log.recovery import open_log
from workspaced_events.log.scan import scan_log
from workspaced_events.log.segments import Batch, SegmentLog
from workspaced_events.schema import catalogue as c
from workspaced_events.schema.catalogue import CATALOGUE_VERSION, ENTRY_OF, Event
from workspaced_events.schema.codec import encode_batch

NOW = "2026-01-01T00:00:00.000000Z"
EVERYTHING = 1 << 40
LATER = CATALOGUE_VERSION + 1


def opened(disk: SimDisk, **options: Any) -> SegmentLog:
    options = {"version": "t", "now": lambda: NOW, "segment_bytes_max": 1_000, **options}
    return open_log(disk, scan_log(disk, lambda _events: None), **options)


def event(seq: int, *, pad: int = 0) -> Event:
    data = c.ActiveNoteSet(NoteId(f"{'x' * pad}{seq}.md"))
    made: Event = ENTRY_OF[type(data)].event(seq, EventId(f"id{seq}"), NOW, "ui", VaultId("v"), data)
    return made


def append(log: SegmentLog, events: int = 1, *, pad: int = 0) -> None:
    seq = log.tail.seq
    batch = [event(seq + 1 + each, pad=pad) for each in range(events)]
    log.append(Batch(seq + 1, seq + events, encode_batch(batch)), seq)


def headers_of(disk: SimDisk) -> list[Header]:
    headers = [parse_header(disk.read(f"log/{name}").split(b"\n")[0][9:]) for name in segments_of(disk)]
    return [header for header in headers if header is not None]


def failing(operation: str, code: int, *, name: str = "", times: int = 1) -> Callable[[str, str], OSError | None]:
    left = itertools.count(times, -1)

    def faults(asked: str, file: str) -> OSError | None:
        if asked == operation and file.startswith(f"log/{name}") and "HEAD" not in file and next(left) > 0:
            return OSError(code, errno.errorcode[code])
        return None

    return faults


class TestRotation:
    @pytest.mark.parametrize("before", [0, 1])
    def test_starts_a_segment_for_another_catalogue(self, monkeypatch: pytest.MonkeyPatch, before: int) -> None:
        disk = SimDisk()
        log = opened(disk)
        for _ in range(before):
            append(log)
        log.close()
        monkeypatch.setattr(segments, "CATALOGUE_VERSION", LATER)
        log = opened(disk)
        append(log)
        append(log)
        headers = [(header.catalogue, header.first) for header in headers_of(disk)]
        assert headers == [(CATALOGUE_VERSION, 1)] * before + [(LATER, before + 1)]
        log.close()
        scan, events = scanned(disk)
        assert (scan.damage, scan.warnings, len(events)) == (None, [], before + 2)


class TestPoison:
    def poisoned(self, operation: str, *, free: int | None = None) -> tuple[SimDisk, SegmentLog]:
        disk = SimDisk()
        log = opened(disk, segment_bytes_max=1 << 20)
        append(log)
        disk.faults, disk.free_bytes = failing(operation, errno.EIO), free
        with pytest.raises(LogFailed) as caught:
            append(log, pad=100)
        assert caught.value.code == "LOG_FAILED"
        assert caught.value.details["file"] == f"log/{log.tail.segment}"
        assert caught.value.details["seq"] == 1
        return disk, log

    @pytest.mark.parametrize(("operation", "free"), [("sync", None), ("write", None), ("truncate", 50)])
    def test_refuses_everything_and_goes_on_reading(self, operation: str, free: int | None) -> None:
        disk, log = self.poisoned(operation, free=free)
        disk.free_bytes = None
        operations = disk.operations
        for _ in range(3):
            with pytest.raises(LogFailed):
                append(log)
        assert disk.operations == operations, "the disk was touched again"
        assert [each.seq for each in log.read(1, 10)] == [1]


class TestHead:
    @pytest.mark.parametrize("operation", ["write", "sync"])
    def test_that_cannot_be_written_stops_nothing(self, operation: str) -> None:
        disk = SimDisk()
        log = opened(disk)
        disk.faults = lambda asked, name: OSError(errno.EIO, "") if "HEAD" in name and asked == operation else None
        for _ in range(12):
            append(log, pad=100)
        assert log.failure is None
        disk.faults = lambda _operation, _name: None
        scan, events = scanned(disk.crash(1))
        assert (scan.damage, len(events)) == (None, 12)


class TestReading:
    @pytest.fixture
    def log(self) -> SegmentLog:
        log = opened(SimDisk(), segment_bytes_max=3 * INDEX_STRIDE_BYTES)
        for number in range(400):
            append(log, 1 + number % 4, pad=number % 7 * 100)
        return log

    def test_starts_at_any_sequence(self, log: SegmentLog) -> None:
        last = log.tail.seq
        assert last == 1_000
        for first in range(-1, last + 3, 13):
            start = max(first, 1)
            assert [each.seq for each in log.read(first, 5)] == list(range(start, min(start + 5, last + 1)))
        assert [each.seq for each in log.read(1, EVERYTHING, EVERYTHING)] == list(range(1, last + 1))

    def test_reads_on_from_nearby_where_opening_skipped_a_segment(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Opening over a snapshot learns only where a sealed segment begins."""
        disk = SimDisk()
        journal = open_journal(disk, version="t", segment_bytes_max=1 << 20)
        record(journal, Action(c.VaultOpened(VaultId("v"), "v", "/v")))
        for _ in range(120):
            record(journal, *[Action(c.SelectionChanged(NoteId("n.md"), 1, 2, text="x" * 900))] * 10)
        journal.writer.close()
        log = open_journal(disk, version="t").log
        decoded: list[int] = []
        decode = segments.decode_batch

        def counted(payload: bytes) -> list[Event]:
            decoded.append(1)
            return decode(payload)

        monkeypatch.setattr(segments, "decode_batch", counted)
        for first in range(1, 1_000, 10):
            assert [event.seq for event in log.read(first, 10)] == list(range(first, first + 10))
        assert len(decoded) < 1_200, "each read looks at 64 KiB before it, not at the segment's beginning"
        seen = len(decoded)
        assert [event.seq for event in log.read(901, 5)] == list(range(901, 906))
        assert len(decoded) - seen < 12

    def test_reads_lines_of_the_largest_size(self) -> None:
        disk = SimDisk()
        log = opened(disk, segment_bytes_max=1 << 22)
        append(log)
        big = encode_batch([event(2)])
        payload = b"[" + b" " * (LINE_BYTES_MAX - len(big)) + big[1:]
        assert len(payload) == LINE_BYTES_MAX
        log.append(Batch(2, 2, payload), 1)
        append(log)
        assert [each.seq for each in log.read(1, 10)] == [1]
        assert [each.seq for each in log.read(1, 10, EVERYTHING)] == [1, 2, 3]
        assert [each.seq for each in log.read(3, 10)] == [3]
        assert scanned(disk)[0].damage is None

    def test_says_that_the_file_was_changed_under_it(self) -> None:
        disk = SimDisk()
        log = opened(disk, segment_bytes_max=1 << 20)
        for _ in range(10):
            append(log)
        name = f"log/{log.tail.segment}"
        data = disk.read(name)
        for changed in (data[:-1] + b"x", data.replace(b"id5", b"id6"), data[: len(data) // 2], b""):
            disk.overwrite(name, changed)
            with pytest.raises(LogDamaged):
                log.read(1, 100)
        disk.overwrite(name, data)
        assert len(log.read(1, 100)) == 10

    def test_sees_a_tail_that_is_sealed_while_the_next_segment_cannot_be_made(self) -> None:
        disk = SimDisk()
        log = opened(disk)
        while log.tail.offset < 800:
            append(log)
        seq = log.tail.seq
        disk.faults = failing("open", errno.ENOSPC, times=9)
        with pytest.raises(DiskFull):
            append(log, pad=200)
        assert log.tail.sealed
        assert [each.seq for each in log.read(1, 100)] == list(range(1, seq + 1))
        log.close()
        again = opened(disk.crash(3))
        assert again.tail.seq == seq
        append(again)
        assert again.read(seq + 1, 1)[0].seq == seq + 1
