"""Opening a log after anything: torn tails, power cuts at every operation, HEAD in every condition, damage."""

import contextlib
import errno
import json
from collections.abc import Callable, Iterator

import msgspec
import pytest
from support.journals import copy_of, flipped, opened, record, scanned, segments_of
from support.simulated_disk import PowerCut, SimDisk

from workspaced_events.errors import DiskFull
from workspaced_events.ids import EventId, NoteId, VaultId
from workspaced_events.journal.actions import Action
from workspaced_events.journal.opening import Journal
from workspaced_events.journal.submissions import Outcome
from workspaced_events.log.segments import Batch
from workspaced_events.projections.workspace_fold import fold_all
from workspaced_events.projections.workspace_state import EMPTY
from workspaced_events.schema import catalogue as c
from workspaced_events.schema.catalogue import LogRecovered

EVERYTHING = 1 << 40
DIRECTORIES = ("log", "quarantine")
IDS = [EventId(f"id{number}") for number in range(1, 10_000)]


def vault() -> Action:
    return Action(c.VaultOpened(VaultId("v"), "v", "/v"), id=IDS[0])


def notes(first: int, count: int) -> list[Action]:
    return [Action(c.ActiveNoteSet(NoteId(f"{n}.md")), id=IDS[n - 1]) for n in range(first, first + count)]


def check_journal(journal: Journal, seq: int) -> None:
    """Opened without a hand, up to `seq`, and its state is its fold."""
    assert journal.log.damage is None
    events = journal.log.read(1, EVERYTHING, EVERYTHING)
    assert [(event.seq, event.id) for event in events] == [(n, IDS[n - 1]) for n in range(1, seq + 1)]
    assert msgspec.json.encode(journal.writer.state) == msgspec.json.encode(fold_all(events, EMPTY))


class TestATornTail:
    @pytest.fixture
    def before(self) -> SimDisk:
        disk = SimDisk()
        journal = opened(disk)
        record(journal, vault())
        record(journal, *notes(2, 3))
        return copy_of(disk, *DIRECTORIES)

    @pytest.fixture
    def line(self, before: SimDisk) -> bytes:
        """A batch of three, as the next append would write it."""
        disk = copy_of(before, *DIRECTORIES)
        journal = opened(disk)
        offset = journal.log.tail.offset
        record(journal, *notes(5, 3))
        return disk.read(f"log/{journal.log.tail.segment}", offset)

    def torn(self, before: SimDisk, rest: bytes) -> tuple[SimDisk, str, int]:
        disk = copy_of(before, *DIRECTORIES)
        [name] = segments_of(disk)
        data = disk.read(f"log/{name}")
        disk.overwrite(f"log/{name}", data + rest)
        return disk, name, len(data)

    @pytest.mark.fault(row=2)
    def test_at_every_byte_is_put_aside_and_told(self, before: SimDisk, line: bytes) -> None:
        for size in range(1, len(line)):
            disk, name, offset = self.torn(before, line[:size])
            journal = opened(disk)
            check_journal(journal, 4)
            kept = f"quarantine/{name}.{offset}.0.torn"
            assert journal.recovered == LogRecovered(name, offset, size, 4, kept)
            assert disk.read(kept) == line[:size]
            assert disk.read(f"log/{name}")[offset:] == b""
            [receipt] = record(journal, Action(journal.recovered, id=IDS[4]))
            assert (receipt.seq, receipt.duplicate) == (5, False)
            check_journal(opened(disk.crash(size)), 5)

    @pytest.mark.fault(row=11)
    @pytest.mark.parametrize("zeros", [1, 511, 4_096, 100_000])
    def test_of_zeros_or_with_zeros_in_it_is_put_aside(self, before: SimDisk, line: bytes, zeros: int) -> None:
        for rest in (bytes(zeros), line[:40] + bytes(zeros), line[:40] + bytes(zeros) + line[110:]):
            disk, name, offset = self.torn(before, rest)
            journal = opened(disk)
            check_journal(journal, 4)
            assert journal.recovered is not None
            assert (journal.recovered.segment, journal.recovered.offset) == (name, offset)
            assert journal.recovered.bytes == len(rest)

    def test_is_damage_where_a_line_behind_it_verifies(self, before: SimDisk, line: bytes) -> None:
        """One line is synced before the next is written, so the bad one was good once."""
        disk, name, offset = self.torn(before, line)
        journal = opened(disk)
        record(journal, *notes(8, 1))
        disk.overwrite(f"log/{name}", flipped(disk.read(f"log/{name}"), 8 * (offset + 30)))
        disk.discard("log/HEAD")
        assert opened(disk).log.damage is not None

    def test_twice_keeps_both_parts(self, before: SimDisk, line: bytes) -> None:
        disk, name, offset = self.torn(before, line[:20])
        opened(disk)
        disk.overwrite(f"log/{name}", disk.read(f"log/{name}") + line[:30])
        journal = opened(disk)
        assert journal.recovered is not None
        assert journal.recovered.quarantined == f"quarantine/{name}.{offset}.1.torn"
        assert [disk.read(f"quarantine/{each}") for each in disk.names("quarantine")] == [line[:20], line[:30]]

    @pytest.mark.parametrize("header", [b"", b"0", b'1234abcd {"segment":"head'])
    def test_of_a_segment_that_has_no_header_yet_goes_whole(self, before: SimDisk, header: bytes) -> None:
        disk = copy_of(before, *DIRECTORIES)
        journal = opened(disk, segment_bytes_max=1)
        record(journal, *notes(5, 1))
        unfinished = segments_of(disk)[-1]
        disk.discard("log/HEAD")
        disk.overwrite(f"log/{unfinished}", header)
        journal = opened(disk)
        check_journal(journal, 4)
        assert journal.recovered is not None
        assert (journal.recovered.segment, journal.recovered.offset) == (unfinished, 0)
        assert disk.read(journal.recovered.quarantined) == header
        record(journal, *notes(5, 2))
        check_journal(opened(disk.crash(1)), 6)

    def test_behind_a_seal_is_put_aside(self, before: SimDisk) -> None:
        """A line was cut back for want of space, the seal synced in its place, the cutting lost with the power."""
        disk = copy_of(before, *DIRECTORIES)
        journal = opened(disk, segment_bytes_max=1)
        record(journal, *notes(5, 1))
        unfinished = segments_of(disk)[-1]
        disk.discard(f"log/{unfinished}")
        disk.discard("log/HEAD")
        [name] = segments_of(disk)
        sealed = disk.read(f"log/{name}")
        disk.overwrite(f"log/{name}", sealed + bytes(263))
        journal = opened(disk)
        check_journal(journal, 4)
        assert journal.recovered is not None
        assert (journal.recovered.offset, journal.recovered.bytes) == (len(sealed), 263)
        assert disk.read(f"log/{name}") == sealed
        record(journal, *notes(5, 2))
        check_journal(opened(disk.crash(1)), 6)


def acting(disk: SimDisk, acts: Callable[[SimDisk, list[int]], None], crash_at: int) -> list[int]:
    """Runs `acts` until the power is cut; returns the sequences it acknowledged."""
    acked: list[int] = []
    disk.crash_at = disk.operations + crash_at
    with contextlib.suppress(PowerCut):
        acts(disk, acked)
    disk.crash_at = None
    return acked


def publish_eight(disk: SimDisk, acked: list[int]) -> None:
    """Opens, appends eight batches over three segments, and stops in good order."""
    journal = opened(disk, segment_bytes_max=900)
    start = journal.log.tail.seq
    acked.extend(range(1, start + 1))
    for number in range(start + 1, start + 9):
        outcome = record(journal, *([vault()] if number == 1 else notes(number, 1)))
        assert isinstance(outcome, list), outcome
        acked.extend(receipt.seq for receipt in outcome)
    journal.writer.close()


def cuts(
    make: Callable[[], SimDisk], acts: Callable[[SimDisk, list[int]], None]
) -> Iterator[tuple[SimDisk, list[int]]]:
    """The disk after a cut at each operation of `acts`, a few seeds each, and what had been acknowledged."""
    whole = make()
    start = whole.operations
    acting(whole, acts, 1 << 30)
    for crash_at in range(1, whole.operations - start + 2):
        disk = make()
        acked = acting(disk, acts, crash_at)
        for seed in range(4):
            yield disk.crash(seed), acked
        yield disk, acked  # killed, no power cut: the page cache is still there


class TestAPowerCutAtEveryOperation:
    @pytest.mark.fault(row=8)
    def test_of_opening_appending_rotating_and_stopping(self) -> None:
        for disk, acked in cuts(SimDisk, publish_eight):
            journal = opened(disk)
            seq = journal.log.tail.seq
            assert seq in (len(acked), len(acked) + 1)
            check_journal(journal, seq)
            record(journal, *([vault()] if seq == 0 else notes(seq + 1, 1)))
            check_journal(opened(disk.crash(1)), seq + 1)

    def torn(self) -> SimDisk:
        disk = SimDisk()
        acting(disk, publish_eight, 1 << 30)
        name = segments_of(disk)[-1]
        disk.overwrite(f"log/{name}", disk.read(f"log/{name}") + b'01234567 [{"seq":9,')
        return disk

    def unclean(self) -> SimDisk:
        disk = self.torn()
        name = segments_of(disk)[-1]
        disk.overwrite(f"log/{name}", disk.read(f"log/{name}").removesuffix(b'01234567 [{"seq":9,'))
        disk.discard("log/HEAD")
        return disk

    def headless(self) -> SimDisk:
        disk = SimDisk()
        acting(disk, publish_eight, 1 << 30)
        record(opened(disk, segment_bytes_max=1), *notes(9, 1))
        disk.overwrite(f"log/{segments_of(disk)[-1]}", b"0123")
        disk.discard("log/HEAD")
        return disk

    @pytest.mark.fault(row=8)
    @pytest.mark.thorough
    @pytest.mark.parametrize("condition", ["torn", "unclean", "headless"])
    def test_of_recovery_and_twice_in_a_row(self, condition: str) -> None:
        make = getattr(self, condition)
        for once, acked in cuts(make, publish_eight):
            assert not acked or len(acked) >= 8
            for crash_at in range(1, 40, 5):
                twice = copy_of(once, *DIRECTORIES)
                again = acting(twice, publish_eight, crash_at)
                disk = twice.crash(crash_at)
                journal = opened(disk)
                assert journal.log.tail.seq >= max(len(again), len(acked), 8)
                check_journal(journal, journal.log.tail.seq)


NEED_ROOM = ("open", "write", "make_directory")


@pytest.mark.fault(row=60)
class TestNoRoomWhileOpening:
    @pytest.mark.parametrize("make", ["torn", "unclean", "headless", "new"])
    def test_reads_at_once_and_goes_on_where_it_was_once_there_is_room(self, make: str) -> None:
        before = TestAPowerCutAtEveryOperation()
        made: Callable[[], SimDisk] = SimDisk if make == "new" else getattr(before, make)
        whole = made()
        start = whole.operations
        opened(whole)
        waited = 0
        for failing in range(1, whole.operations - start + 1):
            disk = made()
            at = disk.operations + failing
            disk.faults = lambda operation, _n, disk=disk, at=at: (
                OSError(errno.ENOSPC, "full") if operation in NEED_ROOM and disk.operations >= at else None
            )
            journal = opened(disk)
            seq = journal.log.tail.seq
            check_journal(journal, seq)
            assert isinstance(record(journal, *next_actions(seq)), DiskFull)
            waited += journal.log.waiting is not None
            check_journal(opened(disk.crash(failing)), seq)
            disk.faults = lambda _operation, _name: None
            told: list[Outcome] = []
            journal.writer.begin([], "ui", told.append)
            for done, outcome in journal.writer.commit().outcomes:
                done(outcome)
            assert told == [[]] and journal.log.waiting is None
            assert (journal.log.recovered is not None) == (make in ("torn", "headless"))
            assert isinstance(record(journal, *next_actions(seq)), list)
            check_journal(opened(disk.crash(failing)), seq + 1)
        assert waited

    def test_another_error_stays_one(self) -> None:
        disk = TestAPowerCutAtEveryOperation().torn()
        disk.faults = lambda _operation, name: OSError(errno.EIO, "no") if "quarantine" in name else None
        with pytest.raises(OSError, match="no"):
            opened(disk)


def next_actions(seq: int) -> list[Action]:
    return notes(seq + 1, 1) if seq else [vault()]


class TestStopping:
    def test_in_good_order_is_clean_and_the_next_start_copies_nothing(self) -> None:
        disk = SimDisk()
        acting(disk, publish_eight, 1 << 30)
        assert scanned(disk)[0].clean
        renamed: list[str] = []
        disk.faults = lambda operation, name: renamed.append(name) if operation == "rename" else None
        journal = opened(disk)
        assert (journal.recovered, journal.warnings, renamed) == (None, [], ["log/HEAD.tmp"])


@pytest.mark.fault(row=12)
class TestHeadInAnyCondition:
    @pytest.fixture
    def disk(self) -> SimDisk:
        disk = SimDisk()
        journal = opened(disk)
        record(journal, vault())
        record(journal, *notes(2, 3))
        journal.writer.close()
        return disk

    @pytest.mark.parametrize("content", [None, b"", b"\0" * 512, b"garbage\n" * 64, b"x" * 3_000_000])
    def test_missing_or_garbage_opens_from_the_log_and_warns(self, disk: SimDisk, content: bytes | None) -> None:
        if content is None:
            disk.discard("log/HEAD")
        else:
            disk.overwrite("log/HEAD", content)
        journal = opened(disk)
        check_journal(journal, 4)
        assert any("HEAD" in warning for warning in journal.warnings)
        record(journal, *notes(5, 1))
        assert not opened(disk).warnings

    @pytest.mark.parametrize("slot", [0, 1])
    def test_one_slot_garbage_opens_by_the_other(self, disk: SimDisk, slot: int) -> None:
        data = bytearray(disk.read("log/HEAD"))
        assert len(data) == 512
        data[slot * 256 : slot * 256 + 256] = bytes(256)
        disk.overwrite("log/HEAD", bytes(data))
        journal = opened(disk)
        check_journal(journal, 4)
        assert not journal.warnings

    def test_stale_is_behind_and_no_damage(self, disk: SimDisk) -> None:
        stale = disk.read("log/HEAD")
        journal = opened(disk)
        record(journal, *notes(5, 3))
        disk.overwrite("log/HEAD", stale)
        assert not scanned(disk)[0].clean
        journal = opened(disk)
        check_journal(journal, 7)
        assert not journal.warnings

    def test_of_another_log_is_ignored_with_a_warning(self, disk: SimDisk) -> None:
        other = SimDisk()
        journal = opened(other)
        record(journal, vault())
        for first in range(2, 30):
            record(journal, *notes(first, 1))
        disk.overwrite("log/HEAD", other.read("log/HEAD"))
        journal = opened(disk)
        check_journal(journal, 4)
        assert any("another log" in warning for warning in journal.warnings)


class TestEventsOfANewerVersion:
    LINES = (
        b'{"seq":3,"id":"id3","time":"2026-01-01T00:00:00.000003Z","source":"ui","vault":"v",'
        b'"type":"note_starred","data":{"note":"a.md","stars": [1.50, null]}}',
        b'{"seq":4,"id":"id4","time":"2026-01-01T00:00:00.000003Z","source":"ui","vault":"v",'
        b'"type":"note_pinned","data":{"note":{"vault":"v","path":"a.md"}}}',
    )

    @pytest.fixture
    def disk(self) -> SimDisk:
        """A log to which a newer writer appended one event of an unknown type and one with unknown data."""
        disk = SimDisk()
        journal = opened(disk)
        record(journal, vault())
        record(journal, *notes(2, 1))
        journal.log.append(Batch(3, 4, b"[" + b",".join(self.LINES) + b"]"), 2)
        journal.writer.close()
        return disk

    @pytest.mark.fault(row=14)
    def test_are_kept_counted_and_folded_as_nothing(self, disk: SimDisk) -> None:
        journal = opened(disk)
        check_journal(journal, 4)
        assert journal.writer.state.unknown_events == 2
        assert not journal.writer.state.of(VaultId("v")).pins
        third, fourth = journal.log.read(3, 2)
        assert (third.type, bytes(third.data)) == ("note_starred", b'{"note":"a.md","stars": [1.50, null]}')
        assert (fourth.type, json.loads(bytes(fourth.data))["note"]["path"]) == ("note_pinned", "a.md")
        record(journal, *notes(5, 1))
        check_journal(opened(disk), 5)
