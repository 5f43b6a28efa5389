"""Snapshots: opening from one is opening from the beginning, only faster; a bad one costs time alone."""

import errno
import random
from hashlib import blake2b
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import golden_log, journals
from support.journals import copy_of, files_of, flipped, record
from support.profiles import examples
from support.random_log import NOTES, V, W, random_log
from support.simulated_disk import SimDisk

from workspaced_events.errors import LogDamaged
from workspaced_events.ids import EventId, NoteId
from workspaced_events.journal.actions import Action
from workspaced_events.journal.idempotency import IdWindow, fingerprint, seen_in
from workspaced_events.journal.opening import Journal
from workspaced_events.journal.snapshots import Made, Snapshot, Snapshots, encode, parse
from workspaced_events.log.line_format import frame_line
from workspaced_events.log.scan import scan_log
from workspaced_events.log.segments import Batch
from workspaced_events.projections.workspace_fold import FOLD_VERSION, fold_all
from workspaced_events.projections.workspace_state import EMPTY
from workspaced_events.schema import catalogue as c
from workspaced_events.schema.catalogue import ENTRY_OF

EVERYTHING = 1 << 40
NEVER = 1 << 60


def opened(disk: SimDisk, **options: Any) -> Journal:
    return journals.opened(disk, **{"snapshot_events": NEVER, "segment_bytes_max": 1_500, **options})


def session(seed: int, count: int) -> list[Action]:
    """Actions of every kind that leaves something in a vault's state, to be recorded one by one."""
    return [
        Action(each.data, EventId(f"{seed}-{each.seq}"), each.vault) for each in random_log(seed, count, (V, W))
    ]


def notes(count: int) -> list[Action]:
    opened = Action(c.VaultOpened(V, "v", "/v"), EventId("first"))
    return [opened, *(Action(c.ActiveNoteSet(NOTES[n % 5]), EventId(f"id{n}")) for n in range(count - 1))]


def closed(actions: list[Action], **options: Any) -> SimDisk:
    disk = SimDisk()
    journal = opened(disk, **options)
    for action in actions:
        record(journal, action)
    journal.writer.close()
    return disk


def snapshots_of(disk: SimDisk) -> list[str]:
    return [f"snapshots/{name}" for name in disk.names("snapshots")]


def check_same(disk: SimDisk) -> Journal:
    """Opened with its snapshots, the log gives what it gives without any."""
    anew, journal = opened(copy_of(disk, "log")), opened(disk)
    if anew.log.tail.seq > 0:  # else each opening made a log of its own
        assert journal.log.tail == anew.log.tail
    for of in ("state", "visibility", "pending"):
        given, wanted = getattr(journal.writer, of), getattr(anew.writer, of)
        assert given == wanted and type(given) is type(wanted)
        assert msgspec.json.encode(given) == msgspec.json.encode(wanted), "in the same order"
    events = journal.log.read(1, EVERYTHING, EVERYTHING)
    assert events == anew.log.read(1, EVERYTHING, EVERYTHING)
    for event in events:
        assert journal.writer.seen(event.id) == anew.writer.seen(event.id) == seen_in(event)
        assert journal.log.read(event.seq, 1) == [event]
    return journal


class TestOpeningFromASnapshot:
    @settings(max_examples=examples(60))
    @given(st.integers(0, 1 << 30), st.integers(2, 60), st.integers(1, 30))
    def test_is_opening_from_the_beginning(self, seed: int, count: int, interval: int) -> None:
        disk = SimDisk()
        journal = opened(disk, snapshot_events=interval)
        for action in session(seed, count):
            record(journal, action)
        assert len(snapshots_of(disk)) == min(2, count // interval)
        again = check_same(disk)
        assert not again.warnings
        for action in notes(5):
            record(again, action)
        check_same(disk)

    def test_keeps_what_only_a_newer_version_knows_counted(self) -> None:
        disk = closed(notes(20))
        journal = opened(disk)
        line = b'[{"seq":21,"id":"n","time":"2026-01-02T00:00:00.000000Z","source":"ui","vault":"v",'
        journal.log.append(Batch(21, 21, line + b'"type":"note_starred","data":{"note":"a.md"}}]'), 20)
        assert opened(disk, snapshot_events=1).writer.state.unknown_events == 1
        record(opened(disk, snapshot_events=1), Action(c.ActiveNoteSet(NOTES[0]), id=EventId("after")))
        assert check_same(disk).writer.state.unknown_events == 1


@pytest.mark.fault(row=13)
class TestABadSnapshot:
    @pytest.fixture
    def disk(self) -> SimDisk:
        """Two snapshots, of 20 and of 40 events, and a few events after them."""
        disk = SimDisk()
        journal = opened(disk, snapshot_events=20)
        for action in session(7, 44):
            record(journal, action)
        assert len(snapshots_of(disk)) == 2
        return disk

    def test_of_any_flip_is_told_and_not_used(self, disk: SimDisk) -> None:
        newest = snapshots_of(disk)[-1]
        data = disk.read(newest)
        warnings: list[str] = []
        chance = random.Random(1)
        for _ in range(600):
            disk.overwrite(newest, flipped(data, chance.randrange(8 * len(data))))
            good = next(Snapshots(disk).newest_first(warnings))
            assert good.tail.seq == 20
        assert len(warnings) == 600
        assert check_same(disk).warnings

    @pytest.mark.parametrize("size", [0, 9, -1, None], ids=["empty", "cut", "torn", "of another form"])
    def test_that_is_torn_gives_way_to_the_older_one(self, disk: SimDisk, size: int | None) -> None:
        newest = snapshots_of(disk)[-1]
        other_form, _chain = frame_line(b'{"made":{}}', 0)
        disk.overwrite(newest, other_form if size is None else disk.read(newest)[:size])
        assert any("no good snapshot" in warning for warning in check_same(disk).warnings)

    @pytest.mark.parametrize("code", [errno.EIO, errno.EACCES], ids=["EIO", "EACCES"])
    @pytest.mark.parametrize("unreadable", [1, 2], ids=["the newest", "both"])
    def test_that_cannot_be_read_gives_way_to_the_older_one_or_to_none(
        self, disk: SimDisk, monkeypatch: pytest.MonkeyPatch, code: int, unreadable: int
    ) -> None:
        bad, read = snapshots_of(disk)[-unreadable:], disk.read

        def failing(name: str, offset: int = 0, size: int = -1) -> bytes:
            if name in bad:
                raise OSError(code, "cannot")
            return read(name, offset, size)

        monkeypatch.setattr(disk, "read", failing)
        warnings: list[str] = []
        assert [each.tail.seq for each in Snapshots(disk).newest_first(warnings)][:1] == (
            [20] if unreadable == 1 else []
        )
        assert [each for each in warnings if "cannot be read" in each and each.split()[0] in bad] == warnings[
            :unreadable
        ]
        assert sum("cannot be read" in each for each in opened(disk).warnings) == unreadable

    def test_of_another_log_is_told_and_not_used(self, disk: SimDisk) -> None:
        other = closed(session(8, 42))
        for name in snapshots_of(other):
            disk.overwrite(name, other.read(name))
        assert any("does not fit" in warning for warning in check_same(disk).warnings)

    def test_of_another_future_with_lines_of_the_same_length_is_told_and_not_used(self) -> None:
        """As when the log was put back from a backup."""
        disk = closed(notes(10))
        backup = copy_of(disk, "log")
        for note in NOTES[:2]:
            for name in disk.names("log"):
                disk.discard(f"log/{name}")
            for name, data in files_of(backup, "log").items():
                disk.overwrite(name, data)
            journal = opened(disk, snapshot_events=1 if note == NOTES[0] else NEVER)
            record(journal, Action(c.ActiveNoteSet(note), id=EventId("same")))
        journal = check_same(disk)
        active = journal.writer.state.of(V).active
        assert active is not None and active.id == NOTES[1]
        assert any("does not fit" in warning for warning in journal.warnings)

    @pytest.mark.parametrize("field", ["format", "catalogue", "fold"])
    def test_of_another_version_is_not_used_and_needs_no_warning(
        self, disk: SimDisk, field: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name in snapshots_of(disk):
            snapshot = parse(disk.read(name), Snapshot)
            assert snapshot is not None
            made = msgspec.structs.replace(Made(), **{field: 99})
            disk.overwrite(name, encode(msgspec.structs.replace(snapshot, made=made, state=EMPTY)))
        assert not check_same(disk).warnings


class TestDamageBeforeASnapshot:
    @pytest.fixture
    def disk(self) -> SimDisk:
        return closed(notes(200))

    def flip(self, disk: SimDisk, name: str, offset: int) -> None:
        disk.overwrite(name, flipped(disk.read(name), 8 * offset))

    def test_is_never_served(self, disk: SimDisk) -> None:
        """Opening need not see it; verifying does, and so does whoever reads there."""
        name = f"log/{disk.names('log')[1]}"
        self.flip(disk, name, len(disk.read(name)) // 2)
        journal = opened(disk)
        assert journal.log.damage is None
        with pytest.raises(LogDamaged) as caught:
            journal.log.read(1, EVERYTHING, EVERYTHING)
        assert caught.value.details["file"] == name
        assert scan_log(disk, lambda _events: None).damage is not None

    @pytest.mark.parametrize("where", ["header", "seal"])
    def test_at_the_ends_of_a_segment_opens_read_only(self, disk: SimDisk, where: str) -> None:
        name = f"log/{disk.names('log')[1]}"
        self.flip(disk, name, 40 if where == "header" else len(disk.read(name)) - 30)
        journal = opened(disk)
        if where == "header":
            assert journal.log.damage is not None
        else:
            with pytest.raises(LogDamaged):
                journal.log.read(int(disk.names("log")[2][:20]) - 1, 2)
        assert scan_log(disk, lambda _events: None).damage is not None

    def test_a_segment_that_is_missing_opens_read_only(self, disk: SimDisk) -> None:
        disk.discard(f"log/{disk.names('log')[2]}")
        assert opened(disk).log.damage is not None

    def test_head_still_misses_what_was_acknowledged(self, disk: SimDisk) -> None:
        journal = opened(disk)
        record(journal, Action(c.ActiveNoteSet(NOTES[0]), id=EventId("x")))
        name = f"log/{journal.log.tail.segment}"
        data = disk.read(name)
        disk.overwrite(name, data[: data.rindex(b"\n", 0, -1) + 1])
        damage = opened(disk).log.damage
        assert damage is not None
        assert damage.details["first_seq"] == 201


class TestWriting:
    def test_keeps_two_and_removes_what_is_left_over(self) -> None:
        disk = SimDisk()
        disk.overwrite(f"snapshots/{9:020}.wsnap.tmp", b"unfinished")
        disk.overwrite("snapshots/notes.txt", b"somebody's own")
        journal = opened(disk, snapshot_events=5)
        for action in notes(40):
            record(journal, action)
        assert snapshots_of(disk) == [
            f"snapshots/{35:020}.wsnap",
            f"snapshots/{40:020}.wsnap",
            "snapshots/notes.txt",
        ]

    def test_happens_beside_the_writer_thread(self) -> None:
        disk = SimDisk()
        journal = opened(disk, segment_bytes_max=1 << 24, snapshot_events=100)
        journal.writer.start()
        for action in session(15, 450):
            journal.writer.submit([action], "ui", lambda _outcome: None)
        journal.writer.close()
        assert snapshots_of(disk)[-1] == f"snapshots/{450:020}.wsnap"
        check_same(disk)


class TestTheIdWindow:
    def test_gives_its_latest_ids(self) -> None:
        for count in range(40):
            window, ids = IdWindow(8), [EventId(str(n)) for n in range(count)]
            for seq, each in enumerate(ids):
                data = c.ActiveNoteSet(NOTES[0])
                event = ENTRY_OF[type(data)].event(seq, each, "", "ui", None, data)
                window.add({each: seen_in(event)})
            latest = list(window.latest())
            assert latest == ids[len(ids) - len(latest) :]
            assert min(count, 8) <= len(latest) <= 16

    def test_prints_are_the_same_in_every_process(self) -> None:
        assert fingerprint(c.ActiveNoteSet(NoteId("a.md"))) == PINNED_PRINT


PINNED_PRINT = 2_350_327_845


def test_the_fold_is_of_the_version_that_snapshots_say() -> None:
    """Whoever changes what a log folds to raises FOLD_VERSION, then pins the new digest here."""
    states = [fold_all(events, EMPTY) for events in (random_log(99, 600, (V, W)), golden_log.EVENTS)]
    digest = blake2b(msgspec.json.encode(states), digest_size=8).hexdigest()
    assert (FOLD_VERSION, digest) == (1, "5510380d9fd2f02c")
