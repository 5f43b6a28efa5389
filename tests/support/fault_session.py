"""One session of a log under one fault of its disk, and what must hold of it: A, F, E and L of FAULTS.md.

The same cases run on the simulated disk in every test run (events/log/test_simulation.py), and on a real file
system through the preloaded shim (`make faults`).
"""

import errno
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from hashlib import sha256
from typing import Any, NamedTuple

import msgspec

from support.patience import PATIENCE_S
from workspaced_events.errors import LogError, LogUnreadable, WorkspacedError
from workspaced_events.ids import EventId, NoteId, VaultId
from workspaced_events.journal.actions import Action, parse_actions
from workspaced_events.journal.opening import Journal, open_journal
from workspaced_events.journal.submissions import Outcome
from workspaced_events.limits import SELECTION_INLINE_CHARS_MAX
from workspaced_events.log.disk import Disk
from workspaced_events.projections.workspace_fold import fold_all
from workspaced_events.projections.workspace_state import EMPTY
from workspaced_events.schema import catalogue as c

EVERYTHING = 1 << 40
ANSWER_S = PATIENCE_S
BATCHES = 14
SHIM_CALLS = {
    "open": "open",
    "write": "pwrite",
    "sync": "fdatasync",
    "truncate": "ftruncate",
    "rename": "rename",
    "remove": "unlink",
    "make_directory": "mkdir",
    "sync_directory": "fsync",
}
"""The system call that each operation of a disk is."""
AREAS = (".wlog", "log/HEAD", "blobs", "quarantine", "snapshots")
ERRORS = ("EIO", "ENOSPC", "EACCES", "EINTR")
SHORT = "short"
"""A write that takes some bytes, and then ENOSPC."""
CODES = {"DISK_FULL", "BLOB_FAILED", "LOG_FAILED"}


class Case(NamedTuple):
    """The call number `nth` of `operation` on a path that holds `area` fails; with `lasts` each from there on."""

    operation: str
    area: str
    error: str
    nth: int
    lasts: bool

    @property
    def errno(self) -> int:
        return errno.ENOSPC if self.error == SHORT else int(getattr(errno, self.error))


def cases(count: Callable[[str, str], int]) -> Iterator[Case]:
    """All that make sense: `count` says how often a session without faults makes such a call."""
    for operation in SHIM_CALLS:
        for area in (*AREAS, *(["log"] if operation.endswith("directory") else [])):
            for nth in range(1, count(operation, area) + 1):
                for error in (*ERRORS, *([SHORT] if operation == "write" else [])):
                    for lasts in (False, True):
                        yield Case(operation, area, error, nth, lasts)


class History:
    """What was sent, and what became of it."""

    def __init__(self, stem: str) -> None:
        self.stem = stem
        self.acknowledged: dict[EventId, int] = {}
        self.refused: set[EventId] = set()
        """Nothing of these may ever be there."""
        self.in_doubt: set[EventId] = set()
        """The batch that poisoned the log, which may be there; what comes after it is not even written."""
        self.blobs: dict[EventId, str] = {}

    def batch(self, number: int) -> list[Action]:
        """Now and then with a long text, or with two, which are packed."""
        if number == 0 and self.stem == "past":
            return [Action(c.VaultOpened(VaultId("v"), "v", "/v"), id=EventId("vault"))]
        event_id = EventId(f"{self.stem}-{number}")
        if number % 3:
            return [Action(c.ActiveNoteSet(NoteId(f"{number}.md")), id=event_id)]
        ids = [EventId(f"{event_id}-{part}") for part in range(1 + number % 2)]
        return [action for each in ids for action in self._with_text(each)]

    def _with_text(self, event_id: EventId) -> list[Action]:
        text = event_id + "x" * SELECTION_INLINE_CHARS_MAX
        raw = {"type": "selection_changed", "id": event_id}
        raw["data"] = {"note": "a.md", "startLine": 1, "endLine": 2, "text": text}  # type: ignore[assignment]

        def keep(content: bytes) -> str:
            self.blobs[event_id] = sha256(content).hexdigest()
            return self.blobs[event_id]

        return list(parse_actions([raw], keep_text=keep))

    def publish(self, journal: Journal, actions: list[Action]) -> None:
        """One group commit, answered in bounded time by receipts or by an error that says what to do."""
        told: list[Outcome] = []
        started = time.monotonic()
        texts = [text for action in actions for text in action.blobs]
        journal.writer.submit(actions, "ui", told.append, texts=texts)
        for done, outcome in journal.writer.commit().outcomes:
            done(outcome)
        assert time.monotonic() - started < ANSWER_S, "L: publishing hangs"
        [outcome] = told
        if isinstance(outcome, list):
            self.acknowledged |= {receipt.id: receipt.seq for receipt in outcome}
            return
        assert isinstance(outcome, LogError) and outcome.code in CODES, f"E: {outcome!r}"
        assert outcome.hint and outcome.message, f"E: {outcome!r}"
        ids = {action.id for action in actions if action.id is not None}
        if outcome.code == "LOG_FAILED" and not self.in_doubt:
            self.in_doubt = ids
        else:
            self.refused |= ids


def prepare(disk: Disk) -> History:
    """A log with a past, left by a killed daemon in the middle of a line."""
    history = History("past")
    journal = opened(disk)
    for number in range(6):
        history.publish(journal, history.batch(number))
    name = f"log/{journal.log.tail.segment}"
    file = disk.open(name)
    file.write_at(disk.size(name), b'01234567 [{"seq":99,')
    file.close()
    return history


def opened(disk: Disk) -> Journal:
    """The log, with small segments and frequent snapshots."""
    ticks = iter(range(1, 1_000_000))
    clock = lambda: f"2026-01-01T00:00:00.{next(ticks):06}Z"  # noqa: E731
    return open_journal(disk, version="t", clock=clock, segment_bytes_max=1_800, snapshot_events=7)


def under_fault(disk: Disk) -> History:
    """A life of the log while the disk fails; a log that does not open says so with an error of the system."""
    history = History("now")
    try:
        journal = opened(disk)
    except OSError as error:
        assert error.strerror, f"E: {error!r}"
        return history
    except WorkspacedError as error:
        assert error.message and error.hint, f"E: {error!r}"
        return history
    assert journal.log.damage is None, f"A: a fault of writing is no damage: {journal.log.damage}"
    for number in range(1, BATCHES + 1):
        history.publish(journal, history.batch(number))
        with suppress(LogUnreadable):  # the disk may refuse the reading as well
            check_state(journal)
    journal.writer.close()
    return history


def check(disk: Disk, histories: list[History], *, blobs_are_swept: bool = True) -> None:
    """What holds once the disk is well again: nobody is needed, and the log goes on.

    `blobs_are_swept`: false after a power cut, which may bring back what was removed.
    """
    journal = opened(disk)
    assert journal.log.damage is None, f"A: {journal.log.damage}"
    check_state(journal)
    events = journal.log.read(1, EVERYTHING, EVERYTHING)
    there = {event.id: event.seq for event in events}
    assert [event.seq for event in events] == list(range(1, len(events) + 1)), "F: a gap"
    named = {getattr(event.data, "text_sha256", None) for event in events}
    for history in histories:
        assert {each: there.get(each) for each in history.acknowledged} == history.acknowledged, "A: lost"
        assert not history.refused & there.keys(), "what was refused is there"
        for event_id, name in history.blobs.items():
            if event_id in there:
                assert journal.blobs.get(name) is not None, f"A: the blob of {event_id} is lost"
        if blobs_are_swept:
            names = {history.blobs[each] for each in history.refused & history.blobs.keys()} - named
            assert not [name for name in names if journal.blobs.has(name)], "a refused batch left its blob"
    again = History("again")
    again.publish(journal, again.batch(1))
    again.publish(journal, again.batch(3))
    assert len(again.acknowledged) == 3, "the log does not go on"
    journal.writer.close()


def check_state(journal: Journal) -> None:
    folded = fold_all(journal.log.read(1, EVERYTHING, EVERYTHING), EMPTY)
    assert msgspec.json.encode(folded) == msgspec.json.encode(journal.writer.state), "F: the state is no fold"


def described(case: Any) -> str:
    """A case on one line."""
    return f"{case.operation} of {case.area} number {case.nth}{' and on' if case.lasts else ''}: {case.error}"
