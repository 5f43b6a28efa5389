"""States at the ends of segments: they save folding, and never change an answer."""

import itertools
import zlib
from contextlib import suppress
from pathlib import Path

import msgspec
import pytest
from support.journals import record
from support.simulated_disk import PowerCut, SimDisk

from workspaced_events.ids import NoteId, VaultId
from workspaced_events.journal.actions import Action
from workspaced_events.journal.opening import Journal, open_journal
from workspaced_events.journal.segment_states import SegmentStates
from workspaced_events.log import segments
from workspaced_events.log.disk import RealDisk
from workspaced_events.projections.workspace_fold import fold_all
from workspaced_events.projections.workspace_state import EMPTY, WorkspaceState
from workspaced_events.replay import log_cursor
from workspaced_events.replay.log_cursor import LogMoments
from workspaced_events.schema import catalogue as c
from workspaced_events.schema.catalogue import Event

EVERYTHING = 1 << 40


@pytest.fixture(autouse=True)
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_cursor, "_PAGE_EVENTS_MAX", 4)


def opened(disk: SimDisk | RealDisk) -> Journal:
    ticks = itertools.count(len(disk.names("log")) * 1_000)
    clock = lambda: f"2026-01-01T00:00:00.{next(ticks):06}Z"  # noqa: E731
    return open_journal(disk, version="t", clock=clock, segment_bytes_max=1_800, snapshot_events=1 << 30)


def publish(journal: Journal, count: int, first: int = 0) -> None:
    for number in range(first, first + count):
        record(journal, Action(c.NotePinned(NoteId(f"{number:03}.md"))))


def filled(disk: SimDisk | RealDisk) -> Journal:
    journal = opened(disk)
    journal.writer.submit([Action(c.VaultOpened(VaultId("v"), "v", "/v"))], "ui", lambda _outcome: None)
    publish(journal, 60)
    return journal


def kept(disk: SimDisk | RealDisk) -> list[int]:
    return [int(name.removesuffix(".wstate")) for name in disk.names("states")]


def ends(journal: Journal) -> list[int]:
    return [each.seq - 1 for each in journal.log.segment_beginnings()[1:]]


def check(journal: Journal) -> list[int]:
    """Every past state is the fold; returns where reading began for each."""
    events = journal.log.read(1, EVERYTHING, EVERYTHING)
    begun: list[int] = []

    class Log:
        tail = journal.log.tail

        def read(self, first: int, limit: int, bytes_max: int) -> list[c.Event]:
            begun.append(first)
            return journal.log.read(first, limit, bytes_max)

    firsts = []
    for seq in range(1, len(events) + 1):
        begun.clear()
        state = LogMoments(Log(), states=journal.states).state_at(seq)
        assert encoded(state) == encoded(fold_all(events[:seq], EMPTY)), seq
        firsts.append(begun[0] if begun else seq + 1)
    return firsts


def encoded(state: WorkspaceState) -> bytes:
    return msgspec.json.encode(state)


def test_a_past_state_is_folded_from_the_end_of_the_segment_before(tmp_path: Path) -> None:
    journal = filled(RealDisk(tmp_path))
    assert len(ends(journal)) > 3 and kept(RealDisk(tmp_path)) == ends(journal)
    for seq, first in enumerate(check(journal), start=1):
        before = max((end for end in ends(journal) if end <= seq), default=0)
        assert first == before + 1 or seq <= 4, "too near the beginning to look"
    journal.writer.close()
    again = opened(RealDisk(tmp_path))
    assert check(again)[-1] == ends(again)[-1] + 1


@pytest.mark.fault(row=13)
@pytest.mark.parametrize(
    "damage", ["flipped", "cut", "empty", "of another version", "of another log", "elsewhere"]
)
def test_one_that_is_no_good_costs_time_and_is_made_anew(damage: str) -> None:
    disk = SimDisk()
    journal = filled(disk)
    other = SimDisk()
    filled(other)
    path = f"states/{disk.names('states')[-1]}"
    good = disk.read(path)
    disk.overwrite(
        path,
        {
            "flipped": good[:40] + bytes([good[40] ^ 1]) + good[41:],
            "cut": good[:-9],
            "empty": b"",
            "of another version": framed(good.replace(b'"fold":', b'"fold":9', 1)),
            "of another log": other.read(f"states/{other.names('states')[-1]}"),
            "elsewhere": disk.read(f"states/{disk.names('states')[0]}"),
        }[damage],
    )
    check(journal)
    assert kept(disk) == ends(journal)
    assert disk.read(path) == good


def framed(line: bytes) -> bytes:
    return b"%08x %s\n" % (zlib.crc32(line[9:-1]), line[9:-1])


@pytest.mark.fault(row=13)
def test_a_log_put_back_from_a_backup_does_not_use_those_of_its_other_future() -> None:
    disk = SimDisk()
    journal = filled(disk)
    backup = {name: disk.read(f"log/{name}") for name in disk.names("log")}
    publish(journal, 40, first=100)
    for name in disk.names("log"):
        disk.discard(f"log/{name}")
    for name, content in backup.items():
        disk.overwrite(f"log/{name}", content)
    disk.faults = lambda _operation, name: OSError(5, "no") if "states" in name else None
    again = opened(disk)
    publish(again, 40, first=500)
    assert ends(again) == ends(journal) == kept(disk), "the lines of both futures are equally long"
    disk.faults = lambda _operation, _name: None
    check(again)


@pytest.mark.fault(row=13)
def test_a_power_cut_or_a_failing_disk_leaves_every_answer_right() -> None:
    whole = SimDisk()
    filled(whole)
    for crash_at in range(1, whole.operations, 37):
        disk = SimDisk()
        disk.crash_at = crash_at
        with suppress(PowerCut):
            filled(disk)
        check(opened(disk.crash(crash_at)))
    disk = SimDisk()
    disk.faults = lambda _operation, name: OSError(5, "no") if "states" in name else None
    journal = filled(disk)
    assert kept(disk) == [] and journal.log.is_healthy
    check(journal)


def test_they_take_a_bounded_room_and_stand_at_regular_distances() -> None:
    disk = SimDisk()
    journal = filled(disk)
    before = kept(disk)
    size = max(disk.size(f"states/{name}") for name in disk.names("states"))
    states = SegmentStates(disk, journal.log, bytes_max=3 * size)
    states.put(before[-1], journal.writer.state)
    places = [before.index(seq) for seq in kept(disk)]
    assert places[-1] == len(before) - 1 and 2 <= len(places) <= 3
    assert len({after - each for each, after in itertools.pairwise(places)}) == 1
    assert sum(disk.size(f"states/{name}") for name in disk.names("states")) <= 3 * size
    assert states.missing(0, EVERYTHING) == set(), "what was thinned out is not kept again"


def test_an_old_segment_is_read_on_from_nearby(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Opening over a snapshot learns only where a sealed segment begins."""
    journal = open_journal(RealDisk(tmp_path), version="t", segment_bytes_max=1 << 20)
    journal.writer.submit([Action(c.VaultOpened(VaultId("v"), "v", "/v"))], "ui", lambda _outcome: None)
    for number in range(120):
        note = NoteId(f"{number % 7}.md")
        actions = [Action(c.SelectionChanged(note, 1, 2, text="x" * 900)) for _ in range(10)]
        record(journal, *actions)
    journal.writer.close()
    log = open_journal(RealDisk(tmp_path), version="t").log
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
