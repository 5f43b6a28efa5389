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
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from support.profiles import some_of
from support.simulation import Session

from workspaced_events.blobs import durable
from workspaced_events.errors import DiskFull, LogDamaged
from workspaced_events.journal.writer import LogWriter
from workspaced_events.log import recovery, scan, segments
from workspaced_events.log.disk import Disk, write_all
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


def without_sync(patch: pytest.MonkeyPatch) -> None:
    """Lines are written and never synced."""

    def write(self: SegmentLog, writable: Writable, offset: int, data: bytes) -> None:
        try:
            write_all(writable.file, offset, data)
        except OSError as error:
            self._cut_back(writable, offset, error)

    patch.setattr(SegmentLog, "_write_synced", write)


def early_ack(patch: pytest.MonkeyPatch) -> None:
    """A line is synced when the next one comes: every acknowledgement is one sync early."""
    honest = SegmentLog._write_synced

    def write(self: SegmentLog, writable: Writable, offset: int, data: bytes) -> None:
        try:
            writable.file.sync()
            write_all(writable.file, offset, data)
        except OSError:
            honest(self, writable, offset, data)

    patch.setattr(SegmentLog, "_write_synced", write)


def retried_sync(patch: pytest.MonkeyPatch) -> None:
    """A sync that fails is tried once more, and believed."""

    def write(self: SegmentLog, writable: Writable, offset: int, data: bytes) -> None:
        try:
            write_all(writable.file, offset, data)
        except OSError as error:
            self._cut_back(writable, offset, error)
        try:
            writable.file.sync()
        except OSError:
            try:
                writable.file.sync()
            except OSError as second:
                raise self.poison("Syncing failed twice.") from second

    patch.setattr(SegmentLog, "_write_synced", write)


class NoDirectorySync:
    """A disk that forgets to sync directories."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk

    def __getattr__(self, name: str) -> Any:
        return (lambda _directory: None) if name == "sync_directory" else getattr(self._disk, name)


def without_directory_sync(patch: pytest.MonkeyPatch) -> None:
    """A new segment's name is not made durable."""
    honest = segments.create_segment
    patch.setattr(segments, "create_segment", lambda disk, *rest: honest(NoDirectorySync(disk), *rest))


def without_truncate(patch: pytest.MonkeyPatch) -> None:
    """What a short write left is not cut off."""

    def leave(self: SegmentLog, _writable: Writable, _offset: int, error: OSError) -> None:
        if error.errno == errno.ENOSPC:
            raise DiskFull("No space.")
        raise self.poison("Writing failed.") from error

    patch.setattr(SegmentLog, "_cut_back", leave)


def head_first(patch: pytest.MonkeyPatch) -> None:
    """HEAD names a sequence before its line is synced."""
    honest = SegmentLog._write_synced

    def write(self: SegmentLog, writable: Writable, offset: int, data: bytes) -> None:
        if data[9:10] == b"[":
            seq = msgspec.json.decode(data[9:])[-1]["seq"]
            writable.head.write(msgspec.structs.replace(self._head(clean=False), seq=seq))
        honest(self, writable, offset, data)

    patch.setattr(SegmentLog, "_write_synced", write)


def without_copy(patch: pytest.MonkeyPatch) -> None:
    """After an unclean stop the open segment is believed as the page cache shows it."""
    honest = recovery.write_whole
    patch.setattr(
        recovery,
        "write_whole",
        lambda disk, name, data: None if name.endswith(".wlog") else honest(disk, name, data),
    )


def fold_first(patch: pytest.MonkeyPatch) -> None:
    """The state moves before the log has taken the events."""
    honest = LogWriter._append

    def append(self: LogWriter, draft: Any) -> None:
        self.state = draft.state
        honest(self, draft)

    patch.setattr(LogWriter, "_append", append)


def ids_first(patch: pytest.MonkeyPatch) -> None:
    """Ids are remembered before the log has taken their events: a retry is told of an event that is not there."""
    honest = LogWriter._append

    def append(self: LogWriter, draft: Any) -> None:
        self._window.add(draft.added)
        honest(self, draft)

    patch.setattr(LogWriter, "_append", append)


def blob_after(patch: pytest.MonkeyPatch) -> None:
    """Blobs are left to the page cache."""
    patch.setattr(durable, "write_whole", write_loosely)


def write_loosely(disk: Disk, name: str, data: bytes) -> None:
    file = disk.open(name, create=True)
    write_all(file, 0, data)
    file.close()


def snapshot_without_chain(patch: pytest.MonkeyPatch) -> None:
    """A snapshot is believed where a line ends at its place, whatever the line's chain value."""
    patch.setattr(scan, "fits", lambda data, tail: data[tail.offset - 1 : tail.offset] == b"\n")


def dropped_tail(patch: pytest.MonkeyPatch) -> None:
    """Recovery cuts a torn tail off and keeps nothing of it."""
    honest = recovery.write_whole

    def write(disk: Disk, name: str, data: bytes) -> None:
        honest(disk, name, b"" if name.startswith("quarantine/") else data)

    patch.setattr(recovery, "write_whole", write)


MUTANTS = [
    snapshot_without_chain,
    dropped_tail,
    without_sync,
    early_ack,
    retried_sync,
    without_directory_sync,
    without_truncate,
    head_first,
    without_copy,
    fold_first,
    ids_first,
    blob_after,
]


@pytest.mark.thorough
@pytest.mark.fault(row=5)
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
def test_a_writer_with_this_bug_does_not_get_through(
    mutant: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    mutant(monkeypatch)
    caught = 0
    for seed in range(MUTANT_SEEDS):
        try:
            Session(seed).run()
        except (AssertionError, LogDamaged):
            caught += 1
            if caught == 2:
                return
    pytest.fail(f"{mutant.__name__} went through {MUTANT_SEEDS} seeds")
