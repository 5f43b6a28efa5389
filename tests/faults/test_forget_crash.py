"""Forgetting a note on a machine that may lose its power, or its disk's patience, at every step.

The data directory and its `forgetting/` are two simulated disks of one machine. After a cut at any operation, with
any choice of what reached the platter, opening must lead to the log as it was, whole, or to the log without the
note: never to neither, never to a mix of both.
"""

import errno
import itertools
import json
import random
from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256

import pytest
from support.journals import record
from support.simulated_disk import PowerCut, SimDisk

from workspaced_events.blobs.durable import blob_path, packed, unpacked
from workspaced_events.blobs.packs import encode, members_of
from workspaced_events.errors import LogError, NotInLog
from workspaced_events.ids import NoteId, VaultId
from workspaced_events.journal.actions import Action
from workspaced_events.journal.opening import open_journal
from workspaced_events.log.data_directory import ERASURE_READY
from workspaced_events.log.scan import scan_log
from workspaced_events.privacy.erasure import carry_out, finish, prepare
from workspaced_events.schema import catalogue as c
from workspaced_events.schema.catalogue import Event

SECRET, OTHER = NoteId("geheimplan.md"), NoteId("other.md")
CANARY = b"geheimplan"
NOW = "2026-03-01T12:00:00.000000Z"
SEEDS = range(4)


class Machine:
    """Two disks that fail together."""

    def __init__(self, data: SimDisk, aside: SimDisk) -> None:
        self.data = data
        self.aside = aside
        self.operations = 0
        self.fail: Callable[[int], None] = lambda _number: None
        """Called before each operation with its number; may raise."""
        for disk in (data, aside):
            disk.faults = self._fault

    def _fault(self, _operation: str, _name: str) -> None:
        self.operations += 1
        self.fail(self.operations)

    def after_a_cut(self, seed: int) -> "Machine":
        return Machine(self.data.crash(seed), self.aside.crash(seed + 1))

    def forget(self) -> None:
        carry_out(self.data, self.aside, prepare(self.data, self.aside, SECRET, version="t", now=NOW))

    def finish(self) -> bool:
        return finish(self.data, self.aside)

    def events(self) -> list[Event]:
        """What the log holds, which must verify and fit HEAD."""
        events: list[Event] = []
        scan = scan_log(self.data, events.extend)
        assert (scan.damage, scan.torn, scan.warnings) == (None, None, [])
        return events

    def traces(self) -> list[str]:
        """The files that hold the note's name or its text."""
        found = []
        for disk in (self.data, self.aside):
            for name, inode in disk._live.items():
                places = members_of(disk, name).values() if "/packs/" in name else [(name, 0, len(inode.data))]
                texts = [unpacked(disk.read(*place)) for place in places]
                if CANARY in b"".join([bytes(inode.data), *texts]):
                    found.append(name)
        return found


def at(number: int, error: Callable[[], BaseException]) -> Callable[[int], None]:
    def fail(operation: int) -> None:
        if operation >= number:
            raise error()

    return fail


def cut() -> PowerCut:
    return PowerCut("power cut")


@pytest.fixture(scope="module")
def filled() -> SimDisk:
    """A log of several segments, with blobs of the note and of others."""
    disk = SimDisk()
    ticks = itertools.count()
    journal = open_journal(
        disk, version="t", clock=lambda: f"2026-03-01T12:00:00.{next(ticks):06}Z", segment_bytes_max=2_000
    )

    def put(*datas: c.Data) -> None:
        record(journal, *map(Action, datas))

    def keep(store: str, content: bytes) -> str:
        name = sha256(content).hexdigest()
        disk.overwrite(blob_path(store, name), packed(content))
        return name

    def pack(number: int, *texts: bytes) -> list[str]:
        files = {sha256(text).hexdigest(): packed(text) for text in texts}
        disk.overwrite(f"blobs/packs/{number:020}.wpack", encode(files))
        return list(files)

    put(c.VaultOpened(VaultId("v"), "v", "/v"))
    mixed = pack(1, b"geheimplan, packed", b"other, packed")
    pack(2, b"geheimplan, packed by itself", b"geheimplan, that no event names")
    whole = pack(3, b"another, packed", b"a third, packed")
    put(
        *(
            c.SelectionChanged(note, 1, 2, text_sha256=name)
            for note, name in zip((SECRET, OTHER), mixed, strict=True)
        )
    )
    put(*(c.SelectionChanged(OTHER, 1, 2, text_sha256=name) for name in whole))
    for number in range(6):
        put(c.ActiveNoteSet(SECRET), c.NotePinned(SECRET), c.NotePinned(OTHER), c.NoteUnpinned(SECRET))
        put(c.SelectionChanged(SECRET, 1, 2, text_sha256=keep("blobs", b"geheimplan %d" % number)))
        put(c.SelectionChanged(OTHER, 1, 2, text_sha256=keep("blobs", b"other %d" % number)))
        for text in (b"geheimplan", b"other"):
            recording = json.dumps({"note": f"{text.decode()}.md", "text": keep("served", text)}).encode()
            result = keep("served", b"result of %s %d" % (text, number))
            call = c.ToolCalled("t", "a", {}, 1, result, 1, 1, True, NOW, inputs_sha256=keep("served", recording))
            put(call)
    journal.writer.close()
    return disk.crash(0)


@pytest.fixture
def machine(filled: SimDisk) -> Callable[[], Machine]:
    return lambda: Machine(filled.crash(0), SimDisk())


@pytest.fixture(scope="module")
def steps(filled: SimDisk) -> int:
    whole = Machine(filled.crash(0), SimDisk())
    whole.forget()
    assert whole.traces() == []
    return whole.operations


def assert_old_or_new(machine: Machine, before: list[Event]) -> None:
    """The log is whole; if it is the old one, forgetting works; in the end nothing is left of the note."""
    events = machine.events()
    assert [event.seq for event in events] == [event.seq for event in before]
    if events == before:
        assert machine.traces()
        machine.forget()
    else:
        with pytest.raises(NotInLog):
            machine.forget()
    assert machine.traces() == []
    assert machine.aside.names("log") == []
    assert [event.seq for event in machine.events()] == [event.seq for event in before]
    journal = open_journal(machine.data, version="t")
    assert journal.recovered is None
    assert journal.log.damage is None
    kept = [event.data for event in journal.log.read(1, 1_000)]
    for data in kept:  # what the rest names is there
        if type(data) is c.SelectionChanged:
            assert journal.blobs.get(data.text_sha256)
        if type(data) is c.ToolCalled:
            assert {data.result_sha256, data.inputs_sha256} <= set(served(machine.data))


def served(disk: SimDisk) -> Iterator[str]:
    for folder in disk.names("served"):
        yield from disk.names(f"served/{folder}")


def survivors(machine: Callable[[], Machine], steps: int, seeds: Iterable[int] = (0,)) -> Iterator[Machine]:
    """What is left by a power cut at each step."""
    for number, seed in itertools.product(range(1, steps + 1), seeds):
        broken = machine()
        broken.fail = at(number, cut)
        with pytest.raises(PowerCut):
            broken.forget()
        yield broken.after_a_cut(number * 100 + seed)


@pytest.mark.fault(row=8)
def test_a_cut_at_any_step_leaves_the_old_log_or_the_new_one(machine: Callable[[], Machine], steps: int) -> None:
    before = machine().events()
    outcomes = set()
    for survivor in survivors(machine, steps, SEEDS):
        outcomes.add(survivor.finish())
        assert_old_or_new(survivor, before)
    assert outcomes == {False, True}


def test_a_cut_while_it_is_finished_changes_nothing(machine: Callable[[], Machine], steps: int) -> None:
    before = machine().events()
    chance = random.Random(7)
    for survivor in survivors(machine, steps):
        for _ in range(4):
            survivor.fail = at(survivor.operations + chance.randint(1, 30), cut)
            try:
                survivor.finish()
            except PowerCut:
                survivor = survivor.after_a_cut(chance.randint(0, 10**6))
        survivor.fail = lambda _number: None
        survivor.finish()
        assert_old_or_new(survivor, before)


@pytest.mark.fault(row=58)
@pytest.mark.parametrize("content", [b"", b"garbage", b"\xff\xfe", b"{}", b'{"log": 1}'])
def test_row_58_a_bad_list_leaves_old_or_new(machine: Callable[[], Machine], steps: int, content: bytes) -> None:
    before = machine().events()
    outcomes = set()
    for survivor in survivors(machine, steps):
        try:
            survivor.aside.size(ERASURE_READY)
        except FileNotFoundError:
            continue
        survivor.aside.overwrite(ERASURE_READY, content)
        warnings: list[str] = []
        outcomes.add(finish(survivor.data, survivor.aside, warnings))
        assert len(warnings) == 1 and "forgetting/ready" in warnings[0]
        assert_old_or_new(survivor, before)
    assert outcomes == {False, True}


@pytest.mark.parametrize("code", [errno.EIO, errno.ENOSPC], ids=["EIO", "ENOSPC"])
def test_a_disk_that_refuses_leaves_old_or_new(machine: Callable[[], Machine], steps: int, code: int) -> None:
    before = machine().events()
    for number in range(1, steps + 1):
        broken = machine()
        broken.fail = at(number, lambda: OSError(code, "refused"))
        with pytest.raises((OSError, LogError)):
            broken.forget()
        broken.fail = lambda _number: None
        broken.finish()
        assert_old_or_new(broken, before)
