"""A random session of a log on a disk that fails, through several lives, and what must hold after each opening."""

import errno
import random
from collections.abc import Callable
from hashlib import sha256
from typing import Any

import msgspec

from support.simulated_disk import PowerCut, SimDisk
from workspaced_events.clock import Clock
from workspaced_events.errors import Conflict, DiskFull, InvalidArgument, LogError, LogFailed
from workspaced_events.ids import EventId, NoteId, VaultId
from workspaced_events.journal.actions import Action, parse_actions
from workspaced_events.journal.idempotency import seen_in
from workspaced_events.journal.opening import Journal, open_journal
from workspaced_events.journal.submissions import Outcome, Receipt
from workspaced_events.journal.writer import deliver_here
from workspaced_events.limits import SELECTION_INLINE_CHARS_MAX
from workspaced_events.log.scan import scan_log
from workspaced_events.log.segments import Batch, SegmentLog
from workspaced_events.projections.workspace_fold import fold_all
from workspaced_events.projections.workspace_state import EMPTY
from workspaced_events.schema import catalogue as c
from workspaced_events.schema.catalogue import Event

NOTES = tuple(NoteId(f"{name}.md") for name in "abcdefgh")
EVERYTHING = 1 << 40


def ticking_clock() -> Clock:
    ticks = 0

    def clock() -> str:
        nonlocal ticks
        ticks += 1
        return f"2026-01-01T00:00:{ticks // 1_000_000:02}.{ticks % 1_000_000:06}Z"

    return clock


class Lost(AssertionError):
    """An invariant does not hold."""


class Session:
    """One seed: a few lives of one log."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.chance = random.Random(seed)
        self.disk = SimDisk()
        self.clock = ticking_clock()
        self.acked: dict[int, EventId] = {}
        self.groups: list[list[EventId]] = []
        """Every group that is there or may be, in order."""
        self.actions: dict[EventId, Action] = {}
        self.blobs: dict[EventId, str] = {}
        self.made = 0
        self.life = 0
        self.backup: Backup | None = None
        self.twins: list[list[list[Action]]] = []

    def check(self, holds: object, what: str, *details: object) -> None:
        if not holds:
            raise Lost(f"seed {self.seed}, life {self.life}: {what} {' '.join(map(str, details))}")

    def run(self) -> None:
        for life in range(self.chance.choice([2, 3, 4, 6])):
            self.life = life
            self.break_disk()
            try:
                self.live()
            except PowerCut:
                pass
            except OSError:
                self.check(self.disk.faults is not healthy or self.disk.free_bytes is not None, "opening failed")
            if self.chance.random() < 0.6:
                self.disk = self.disk.crash(self.chance.getrandbits(30))
            # Else only the process died: the page cache, for what it is worth, is still there.
            self.meddle()
        self.mend_disk()
        journal = self.open()
        journal.writer.close()
        after_clean_stop = self.disk.crash(self.chance.getrandbits(30))
        self.disk = after_clean_stop
        again = self.open()
        self.check(again.recovered is None, "a clean stop left a torn tail")

    # -- faults --

    def mend_disk(self) -> None:
        self.disk.crash_at = None
        self.disk.faults = healthy
        self.disk.free_bytes = None

    def break_disk(self) -> None:
        chance = self.chance
        self.mend_disk()
        self.disk.crash_at = self.disk.operations + chance.randrange(1, chance.choice([30, 140, 140]))
        kind = chance.random()
        if kind < 0.25:
            self.disk.faults = self.failing_once()
        elif kind < 0.45:
            self.disk.free_bytes = chance.randrange(600, 4_000)

    def failing_once(self) -> Callable[[str, str], OSError | None]:
        operation = self.chance.choice(["sync", "sync", "write", "sync_directory", "truncate", "rename", "open"])
        countdown = self.chance.randrange(1, 20)

        def faults(name: str, _file: str) -> OSError | None:
            nonlocal countdown
            if name == operation:
                countdown -= 1
                if countdown == 0:
                    return OSError(errno.EIO, "Input/output error")
            return None

        return faults

    def meddle(self) -> None:
        """What people and disks do to a data directory that nobody has open."""
        self.mend_disk()
        kind, disk = self.chance.random(), self.disk
        snapshots = [f"snapshots/{name}" for name in disk.names("snapshots")]
        if kind < 0.2:
            self.backup = Backup({name: disk.read(f"log/{name}") for name in disk.names("log")}, self)
        elif kind < 0.5 and self.backup is not None:
            for name in disk.names("log"):
                disk.discard(f"log/{name}")
            for name, data in self.backup.files.items():
                disk.overwrite(f"log/{name}", data)
            self.acked, self.groups = dict(self.backup.acked), list(self.backup.groups)
            # The second future has lines of the very lengths of the first: only the chain tells them apart.
            self.twins = [[[self.twin(each) for each in batch] for batch in sent] for sent in self.backup.sent]
            self.backup.sent.clear()
        elif kind < 0.6 and snapshots:
            name = self.chance.choice(snapshots)
            data = bytearray(disk.read(name))
            if data:
                data[self.chance.randrange(len(data))] ^= 1 << self.chance.randrange(8)
            disk.overwrite(name, bytes(data[: self.chance.choice([len(data), len(data) // 2])]))
        elif kind < 0.65 and snapshots:
            disk.discard(self.chance.choice(snapshots))

    # -- one life --

    def open(self) -> Journal:
        torn = self.torn_bytes()
        journal = open_journal(
            self.disk,
            version="t",
            clock=self.clock,
            segment_bytes_max=1_800,
            snapshot_events=self.chance.choice([2, 7, 1 << 30]),
        )
        log = journal.log
        quarantined = [self.disk.read(f"quarantine/{name}") for name in self.disk.names("quarantine")]
        kept = torn is None or torn in quarantined
        self.check(kept or log.waiting is not None, "a torn tail was dropped")
        self.note_appends(log)
        self.check(log.damage is None, "needs a hand:", log.damage)
        events = log.read(1, EVERYTHING, EVERYTHING)
        self.check([event.seq for event in events] == list(range(1, log.tail.seq + 1)), "a gap in the sequence")
        self.check(sorted(event.time for event in events) == [event.time for event in events], "time went back")
        ids = [event.id for event in events]
        for seq, event_id in self.acked.items():
            self.check(seq <= len(ids) and ids[seq - 1] == event_id, "acknowledged but lost:", seq, event_id)
        self.take_groups(ids)
        for event in events:
            self.check(journal.writer.seen(event.id) == seen_in(event), "a retry gets a wrong answer:", event.seq)
        self.check_state(journal, events)
        for event in events:
            if event.id in self.blobs:
                kept = journal.blobs.get(self.blobs[event.id])
                self.check(kept is not None, "the blob of an event is lost:", event.seq)
        return journal

    def torn_bytes(self) -> bytes | None:
        torn = scan_log(self.disk, lambda _events: None).torn
        return self.disk.read(f"log/{torn.segment}", torn.offset) if torn is not None else None

    def note_appends(self, log: SegmentLog) -> None:
        """Notes the ids of a group when it goes to the log: from then on they may be there, unless it says no."""
        append = log.append

        def noted(batch: Batch, expected: int) -> None:
            poisoned = log.failure is not None
            self.groups.append([EventId(event["id"]) for event in msgspec.json.decode(batch.payload)])
            try:
                append(batch, expected)
            except (DiskFull, LogFailed) as error:
                if poisoned or isinstance(error, DiskFull):
                    self.groups.pop()
                raise

        log.append = noted  # type: ignore[method-assign]

    def take_groups(self, ids: list[EventId]) -> None:
        """What is there must be whole groups of what was sent, from the first on."""
        there, groups = 0, []
        for group in self.groups:
            if there == len(ids):
                break
            self.check(ids[there : there + len(group)] == group, "not what was sent at", there + 1)
            there += len(group)
            groups.append(group)
        self.check(there == len(ids), "more than was sent:", len(ids) - there)
        self.groups = groups

    def check_state(self, journal: Journal, events: list[Event]) -> None:
        folded = fold_all(events, EMPTY)
        self.check(msgspec.json.encode(folded) == msgspec.json.encode(journal.writer.state), "state is no fold")

    def live(self) -> None:
        journal = self.open()
        self.begin(journal)
        if journal.log.recovered is not None:
            self.send(journal, [[Action(journal.log.recovered, id=self.new_id())]])
        if not journal.writer.state.vaults:
            self.send(journal, [[Action(c.VaultOpened(VaultId("v"), "v", "/v"), id=self.new_id())]])
        while self.twins:
            self.send(journal, self.twins.pop(0))
        while True:
            self.send(journal, [self.batch() for _ in range(self.chance.choice([1, 1, 2, 4]))])
            if self.disk.free_bytes is not None and self.chance.random() < 0.2:
                self.disk.free_bytes = 100_000
            if self.chance.random() < 0.04:
                self.check_state(journal, journal.log.read(1, EVERYTHING, EVERYTHING))
                journal.writer.close()
                return

    def begin(self, journal: Journal) -> None:
        """Frees some space for a log that found none when it was opened."""
        log, told = journal.log, list[Outcome]()
        while log.waiting is not None:
            torn = self.torn_bytes()
            self.send(journal, [self.batch()])
            if self.chance.random() < 0.5:
                self.disk.free_bytes = 100_000
            journal.writer.begin([], "ui", told.append)
            deliver_here(journal.writer.commit())
            self.check(isinstance(told[-1], list | DiskFull | LogFailed), "unlooked-for", told[-1])
            if log.waiting is None and log.failure is None:
                quarantined = [self.disk.read(f"quarantine/{name}") for name in self.disk.names("quarantine")]
                self.check(torn is None or torn in quarantined, "a torn tail was dropped")

    def new_id(self) -> EventId:
        self.made += 1
        return EventId(f"id{self.made}")

    def batch(self) -> list[Action]:
        return [self.action() for _ in range(self.chance.choice([1, 1, 2, 3]))]

    def action(self) -> Action:
        chance = self.chance
        if self.actions and chance.random() < 0.1:
            return self.actions[chance.choice(list(self.actions)[-20:])]  # a publisher that retries
        note = chance.choice(NOTES)
        kind = chance.randrange(8)
        data: Any = {"note": note}
        name = ("active_note_set", "note_pinned", "note_unpinned", "temporary_tab_opened")[kind % 4]
        if name == "temporary_tab_opened":
            data["source"] = "search"
        if kind == 4:
            name, data = "pinned_notes_reordered", {"notes": [note]}  # most often no permutation
        elif kind == 5:
            size = chance.choice([5, 300, SELECTION_INLINE_CHARS_MAX + 1])
            data |= {"startLine": 1, "endLine": 2, "text": f"{self.made:06}" + "x" * size}
            name = "selection_changed"
        event_id = self.new_id()
        raw = {"type": name, "data": data, "id": event_id}
        [action] = parse_actions([raw], keep_text=lambda text: self.note_blob(event_id, text))
        self.actions[event_id] = action
        return action

    def twin(self, action: Action) -> Action:
        """The same action on another note, as long in the log."""
        note = getattr(action.data, "note", None)
        if not isinstance(note, str):
            return action
        other = NOTES[NOTES.index(NoteId(note)) - 1]
        made = msgspec.structs.replace(action, data=msgspec.structs.replace(action.data, note=other))
        if action.id is not None:
            self.actions[action.id] = made
        return made

    def note_blob(self, event_id: EventId, text: bytes) -> str:
        self.blobs[event_id] = name = sha256(text).hexdigest()
        return name

    def send(self, journal: Journal, batches: list[list[Action]]) -> None:
        """One group commit; notes what may be there before it starts and what must be once it is over."""
        recorder, log, disk = journal.writer, journal.log, self.disk
        outcomes: dict[int, Outcome] = {}
        for number, batch in enumerate(batches):
            texts = [text for action in batch for text in action.blobs]
            if texts and self.chance.random() < 0.5:
                texts.append(b"so that they are packed")
            recorder.submit(
                batch, "ui", lambda outcome, number=number: outcomes.__setitem__(number, outcome), texts=texts
            )
        if self.backup is not None:
            self.backup.sent.append(batches)
        before, state = log.tail.seq, recorder.state
        committed = recorder.commit()
        deliver_here(committed)
        self.check(len(outcomes) == len(batches), "somebody was told nothing")
        receipts = [each for outcome in outcomes.values() if isinstance(outcome, list) for each in outcome]
        for receipt in receipts:
            self.acknowledged(receipt)
        errors = [outcome for outcome in outcomes.values() if not isinstance(outcome, list)]
        for error in errors:
            self.check(isinstance(error, LogError | InvalidArgument | Conflict), "unlooked-for", error)
        if not committed.events:
            self.check(recorder.state is state and log.tail.seq == before, "a refused group left a trace")
        if log.failure is None and log.waiting is None:
            size = len(disk.read(f"log/{log.tail.segment}"))
            self.check(size == log.tail.offset, "the file does not end on its last line")
        elif log.failure is not None:
            self.poisoned(journal)

    def acknowledged(self, receipt: Receipt) -> None:
        known = self.acked.setdefault(receipt.seq, receipt.id)
        self.check(known == receipt.id, "one sequence for two events:", receipt.seq, known, receipt.id)

    def poisoned(self, journal: Journal) -> None:
        """Reads go on, nothing more is acknowledged; the daemon would be restarted."""
        told: list[Outcome] = []
        journal.writer.submit([Action(c.VaultOpened(VaultId("v"), "v", "/v"))], "ui", told.append)
        deliver_here(journal.writer.commit())
        self.check(isinstance(told[0], LogFailed), "a poisoned log took an event")
        self.check_state(journal, journal.log.read(1, EVERYTHING, EVERYTHING))
        raise PowerCut("the daemon stops")


class Backup:
    """A copy of the log's files, and what was known of them then."""

    def __init__(self, files: dict[str, bytes], session: Session) -> None:
        self.files = files
        self.acked = dict(session.acked)
        self.groups = list(session.groups)
        self.sent: list[list[list[Action]]] = []
        """What was sent since."""


def healthy(_operation: str, _name: str) -> OSError | None:
    return None
