"""Random sessions on a disk that fails: power cuts, killed processes, failing syncs, no space; several lives each.

A session knows what it sent, in order, and what was acknowledged. After every opening it checks:

- nothing acknowledged is lost, and acknowledged events are where their receipts said;
- what is there is a prefix of what was sent, whole groups of it, and nothing that was refused for want of space;
- the sequence has no gap, time never decreases, the state is the fold of the log;
- ids answer retries as the log says, and what was torn off the log is in quarantine;
- nobody is needed: a power cut is never taken for damage; blobs that acknowledged events name can be read.

Between lives a snapshot may be spoilt, or the log be put back from a backup beside snapshots of another future.

The suite is itself tested: writers with seeded bugs must make it fail.
"""

import errno
import os
from collections import Counter
from collections.abc import Callable
from itertools import islice
from typing import Any

import msgspec
import pytest
from support import fault_session as sessions
from support.profiles import is_thorough, some_of
from support.simulated_disk import SimDisk
from support.simulation import Session

from workspaced_events.blobs import durable
from workspaced_events.errors import DiskFull, LogDamaged
from workspaced_events.journal.writer import LogWriter
from workspaced_events.log import recovery, scan, segments
from workspaced_events.log.disk import Disk, write_all, write_whole
from workspaced_events.log.segments import SegmentLog, Writable

SEEDS = int(os.environ.get("WORKSPACED_SIMULATION_SEEDS", "5000"))
CHUNKS = 16
MUTANT_SEEDS = 1_000


@pytest.mark.fault(row=3)
@pytest.mark.parametrize("chunk", some_of(range(CHUNKS), 2))
def test_nothing_acknowledged_is_lost_whatever_the_disk_does(chunk: int) -> None:
    for seed in range(chunk, SEEDS, CHUNKS):
        try:
            Session(seed).run()
        except Exception as error:
            error.add_note(f"Replay it: make simulate SEEDS=1 SEED_START={seed}")
            raise


# -- the suite itself --


# Each is put in the place of what MUTANTS names.


def without_sync(log: SegmentLog, writable: Writable, offset: int, data: bytes) -> None:
    """Lines are written and never synced."""
    try:
        write_all(writable.file, offset, data)
    except OSError as error:
        log._cut_back(writable, offset, error)


def early_ack(log: SegmentLog, writable: Writable, offset: int, data: bytes) -> None:
    """A line is synced when the next one comes: every acknowledgement is one sync early."""
    try:
        writable.file.sync()
        write_all(writable.file, offset, data)
    except OSError:
        WRITE_SYNCED(log, writable, offset, data)


def retried_sync(log: SegmentLog, writable: Writable, offset: int, data: bytes) -> None:
    """A sync that fails is tried once more, and believed."""
    without_sync(log, writable, offset, data)
    try:
        writable.file.sync()
    except OSError:
        try:
            writable.file.sync()
        except OSError as second:
            raise log.poison("Syncing failed twice.") from second


def head_first(log: SegmentLog, writable: Writable, offset: int, data: bytes) -> None:
    """HEAD names a sequence before its line is synced."""
    if data[9:10] == b"[":
        seq = msgspec.json.decode(data[9:])[-1]["seq"]
        writable.head.write(msgspec.structs.replace(log._head(clean=False), seq=seq))
    WRITE_SYNCED(log, writable, offset, data)


class NoDirectorySync:
    """A disk that forgets to sync directories."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk

    def __getattr__(self, name: str) -> Any:
        return (lambda _directory: None) if name == "sync_directory" else getattr(self._disk, name)


def without_directory_sync(disk: Disk, *rest: Any) -> Any:
    """A new segment's name is not made durable."""
    return CREATE_SEGMENT(NoDirectorySync(disk), *rest)


def without_truncate(log: SegmentLog, _writable: Writable, _offset: int, error: OSError) -> None:
    """What a short write left is not cut off."""
    if error.errno == errno.ENOSPC:
        raise DiskFull("No space.")
    raise log.poison("Writing failed.") from error


def without_copy(disk: Disk, name: str, data: bytes) -> None:
    """After an unclean stop the open segment is believed as the page cache shows it."""
    if not name.endswith(".wlog"):
        write_whole(disk, name, data)


def dropped_tail(disk: Disk, name: str, data: bytes) -> None:
    """Recovery cuts a torn tail off and keeps nothing of it."""
    write_whole(disk, name, b"" if name.startswith("quarantine/") else data)


def blob_after(disk: Disk, name: str, data: bytes) -> None:
    """Blobs are left to the page cache."""
    file = disk.open(name, create=True)
    write_all(file, 0, data)
    file.close()


def fold_first(writer: LogWriter, draft: Any) -> None:
    """The state moves before the log has taken the events."""
    writer.state = draft.state
    APPEND(writer, draft)


def ids_first(writer: LogWriter, draft: Any) -> None:
    """Ids are remembered before the log has taken their events: a retry is told of an event that is not there."""
    writer._window.add(draft.added)
    APPEND(writer, draft)


def snapshot_without_chain(data: bytes, tail: Any) -> bool:
    """A snapshot is believed where a line ends at its place, whatever the line's chain value."""
    return data[tail.offset - 1 : tail.offset] == b"\n"


WRITE_SYNCED, CREATE_SEGMENT, APPEND = SegmentLog._write_synced, segments.create_segment, LogWriter._append
MUTANTS: dict[Callable[..., object], tuple[object, str]] = {
    **dict.fromkeys((without_sync, early_ack, retried_sync, head_first), (SegmentLog, "_write_synced")),
    **dict.fromkeys((without_copy, dropped_tail), (recovery, "write_whole")),
    **dict.fromkeys((fold_first, ids_first), (LogWriter, "_append")),
    without_directory_sync: (segments, "create_segment"),
    without_truncate: (SegmentLog, "_cut_back"),
    blob_after: (durable, "write_whole"),
    snapshot_without_chain: (scan, "fits"),
}


@pytest.mark.thorough
@pytest.mark.fault(row=5)
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
def test_a_writer_with_this_bug_is_caught(mutant: Callable[..., object], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*MUTANTS[mutant], mutant)
    caught = 0
    for seed in range(MUTANT_SEEDS):
        try:
            Session(seed).run()
        except (AssertionError, LogDamaged):
            caught += 1
            if caught == 2:
                return
    pytest.fail(f"{mutant.__name__} went through {MUTANT_SEEDS} seeds")


class Failing:
    """Lets a simulated disk fail as a case says."""

    def __init__(self, disk: SimDisk, case: "sessions.Case") -> None:
        self.disk, self.case = disk, case
        self.calls = 0
        self.met = 0
        disk.faults = self

    def __call__(self, operation: str, name: str) -> OSError | None:
        case = self.case
        if operation != case.operation or case.area not in name:
            return None
        self.calls += 1
        if self.calls < case.nth or (self.calls > case.nth and not case.lasts):
            return None
        self.met += 1
        if case.error == sessions.SHORT and self.met == 1:
            self.disk.free_bytes = 20  # so many bytes go in; the next write meets an error
            return None
        return OSError(case.errno, "no")


def counted() -> Counter[tuple[str, str]]:
    """How often a session makes each call."""
    made: Counter[tuple[str, str]] = Counter()

    def count(operation: str, name: str) -> None:
        made.update((operation, area) for area in (*sessions.AREAS, "log") if area in name)

    disk = SimDisk()
    sessions.prepare(disk)
    disk.faults = count
    sessions.under_fault(disk)
    return made


@pytest.mark.thorough
@pytest.mark.fault(row=61)
@pytest.mark.parametrize("operation", sorted(sessions.SHIM_CALLS))
def test_whichever_call_fails_nothing_acknowledged_is_lost_and_the_error_says_what_to_do(operation: str) -> None:
    made = counted()
    ran = 0
    cases = sessions.cases(lambda asked, area: made[asked, area] if asked == operation else 0)
    for case in islice(cases, 0, None, 1 if is_thorough() else 3):
        disk = SimDisk()
        past = sessions.prepare(disk)
        failing = Failing(disk, case)
        try:
            history = sessions.under_fault(disk)
            disk.faults, disk.free_bytes = (lambda _operation, _name: None), None
            assert failing.met, "the fault was not met"
            cut = disk.crash(ran)
            sessions.check(disk, [past, history])
            sessions.check(cut, [past, history], blobs_are_swept=False)
        except BaseException as error:
            error.add_note(sessions.described(case))
            raise
        ran += 1
    assert ran > 0
