"""What happens to the log's files behind the daemon's back, and what it keeps back for bad days."""

import errno
import os
import resource
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support import journals
from support.journals import opened
from support.simulated_disk import SimDisk

from workspaced_events.errors import LogFailed
from workspaced_events.ids import EventId, NoteId, VaultId
from workspaced_events.journal.actions import Action
from workspaced_events.journal.opening import Journal
from workspaced_events.journal.submissions import Outcome
from workspaced_events.journal.writer import Committed, deliver_here
from workspaced_events.log.disk import RealDisk, write_all
from workspaced_events.schema import catalogue as c


class Place:
    """A disk, and what somebody else does to its files."""

    def __init__(self, root: Path | None) -> None:
        self.root = root
        self.disk: Any = RealDisk(root) if root else SimDisk()

    def remove(self, name: str) -> None:
        (self.root / name).unlink() if self.root else self.disk.discard(name)

    def replace(self, name: str, data: bytes) -> None:
        self.remove(name)
        (self.root / name).write_bytes(data) if self.root else self.disk.overwrite(name, data)

    def cut(self, name: str, size: int) -> None:
        file = self.disk.open(name)
        file.truncate(size)
        file.close()


@pytest.fixture(params=["real", "simulated"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    return Place(tmp_path if request.param == "real" else None)


def record(journal: Journal, number: int) -> Outcome:
    data = c.VaultOpened(VaultId("v"), "v", "/v") if number == 1 else c.ActiveNoteSet(NoteId(f"{number}.md"))
    return journals.record(journal, Action(data, id=EventId(f"id{number}")))


@pytest.mark.fault(row=18)
class TestALogFileThatIsChangedBehindItsBack:
    def changed(self, place: Place, change: str) -> Journal:
        journal = opened(place.disk)
        for number in range(1, 6):
            assert isinstance(record(journal, number), list)
        name = f"log/{journal.log.tail.segment}"
        data = place.disk.read(name)
        if change == "removed":
            place.remove(name)
        elif change == "replaced":
            place.replace(name, data)
        elif change == "cut":
            place.cut(name, len(data) - 10)
        else:
            file = place.disk.open(name)
            write_all(file, len(data), b"more")
            file.close()
        return journal

    @pytest.mark.parametrize("change", ["removed", "replaced", "cut", "longer"])
    def test_is_noticed_at_the_next_commit_and_poisons(self, place: Place, change: str) -> None:
        journal = self.changed(place, change)
        for number in (6, 7):
            outcome = record(journal, number)
            assert isinstance(outcome, LogFailed)
            assert outcome.details == {
                "file": f"log/{journal.log.tail.segment}",
                "offset": journal.log.tail.offset,
                "seq": 5,
            }
            assert "behind the daemon's back" in outcome.message
        journal.writer.close()

    @pytest.mark.parametrize("change", ["removed", "cut"])
    def test_is_damage_at_the_next_start(self, place: Place, change: str) -> None:
        journal = self.changed(place, change)
        record(journal, 6)
        journal.writer.close()
        assert opened(place.disk).log.damage is not None


@pytest.mark.fault(row=16)
class TestTheReserveOfDescriptors:
    @pytest.fixture
    def few(self) -> Iterator[list[int]]:
        """No descriptor is to be had any more; those taken are in the list."""
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        taken: list[int] = []
        yield taken
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        for descriptor in taken:
            os.close(descriptor)

    def exhaust(self, taken: list[int]) -> None:
        highest = max(int(name) for name in os.listdir("/dev/fd"))
        _soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (highest + 8, hard))
        while True:
            try:
                taken.append(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC))
            except OSError as error:
                assert error.errno == errno.EMFILE
                return

    def test_opens_the_next_segments_when_there_are_no_others(self, tmp_path: Path, few: list[int]) -> None:
        journal = opened(RealDisk(tmp_path), segment_bytes_max=600)
        assert isinstance(record(journal, 1), list)
        self.exhaust(few)
        for number in range(2, 20):
            assert isinstance(record(journal, number), list), number
        assert journal.log.failure is None
        while few:
            os.close(few.pop())
        journal.writer.close()
        names = [name for name in os.listdir(tmp_path / "log") if name.endswith(".wlog")]
        assert len(names) > 5
        assert opened(RealDisk(tmp_path)).log.tail.seq == 19

    def test_is_given_back_with_the_log(self, tmp_path: Path) -> None:
        before = len(os.listdir("/dev/fd"))
        for _ in range(3):
            journal = opened(RealDisk(tmp_path), segment_bytes_max=600)
            for number in range(1, 9):
                record(journal, number)
            journal.writer.close()
            assert len(os.listdir("/dev/fd")) == before


class TestTheWriterThread:
    def test_outlives_a_deliver_that_raises(self, caplog: pytest.LogCaptureFixture) -> None:
        told: list[Committed] = []

        def deliver(committed: Committed) -> None:
            told.append(committed)
            raise RuntimeError("the loop is closed")

        journal = opened(SimDisk(), deliver=deliver)
        journal.writer.start()
        for number in range(1, 50):
            data = c.VaultOpened(VaultId(f"{number}"), "v", "/v")
            journal.writer.submit([Action(data)], "ui", lambda _outcome: None)
        journal.writer.close()
        assert sum(len(committed.events) for committed in told) == 49
        assert len(caplog.records) == len(told)
        assert "Telling" in caplog.text

    def test_tells_the_others_when_one_submitter_raises(self, caplog: pytest.LogCaptureFixture) -> None:
        journal, told = opened(SimDisk()), []

        def fails(_outcome: Outcome) -> None:
            raise RuntimeError("gone")

        for done in (fails, told.append):
            journal.writer.submit([Action(c.VaultOpened(VaultId("v"), "v", "/v"))], "ui", done)
        deliver_here(journal.writer.commit())
        assert len(told) == 1
        assert len(caplog.records) == 1


class TestLeftOvers:
    def test_of_unfinished_copies_are_removed_at_opening(self) -> None:
        disk = SimDisk()
        journal = opened(disk)
        record(journal, 1)
        left = f"log/{journal.log.tail.segment}.tmp"
        disk.overwrite(left, b"half a copy")
        disk.overwrite("log/mine.tmp", b"somebody's own")
        again = opened(disk)
        assert [name for name in disk.names("log") if name.endswith(".tmp")] == ["mine.tmp"]
        assert [warning for warning in again.warnings if "tmp" in warning] == [
            "log/mine.tmp is no segment; ignored."
        ]
