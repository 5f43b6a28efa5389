"""`LogWriter`: the one place where actions become events.

Any thread submits; one writer thread takes what waits, gives it sequence, time and id against the state of that
very moment, appends it all as one line, folds it, and only then tells the submitters. A failed append therefore
leaves no trace: state, ids and sequence are those before it, and everybody in the group gets the error.

The work of one group is `commit`, a plain function of the queue: tests and simulations call it without a thread.
HEAD only witnesses what was acknowledged, so it is written afterwards, when nobody waits.
"""

import logging
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from hashlib import sha256
from queue import Empty, SimpleQueue
from typing import NamedTuple

import msgspec

from ..blobs.durable import DurableBlobStore, blob_path
from ..clock import Clock, LogClock, Uptime, just_after
from ..errors import ActionError, BatchTooLarge, BlobFailed, DiskFull, LogError, LogFailed, WorkspacedError
from ..ids import EventId, uuid7
from ..limits import (
    BATCH_BYTES_MAX,
    BUFFERED_DELAY_S,
    HEAD_DELAY_S,
    LINE_BYTES_MAX,
    QUEUE_BATCHES_MAX,
    SLOW_SYNC_S,
    SNAPSHOT_EVENTS,
)
from ..log.data_directory import BLOBS
from ..log.segments import NO_SPACE, Batch, SegmentLog
from ..projections.note_visibility import VisibilityFold
from ..projections.workspace_fold import apply
from ..projections.workspace_state import WorkspaceState
from ..schema.catalogue import ENTRY_OF, ClockStepped, Event
from ..schema.codec import encode_batch
from .actions import Action, admit
from .idempotency import IdWindow, Seen, first_seq, seen_in
from .snapshots import Snapshot, Snapshots
from .waiting_bytes import WaitingBytes, busy

_logger = logging.getLogger(__name__)
OWN_SOURCE = "workspaced"
"""The publisher of what the daemon itself appends."""


class Receipt(msgspec.Struct, frozen=True):
    """Where an action went. `duplicate`: it was there before, at `seq`."""

    seq: int
    id: EventId
    duplicate: bool


Outcome = list[Receipt] | WorkspacedError
Done = Callable[[Outcome], None]


Plan = Callable[[WorkspaceState, int], Sequence[Action]]
"""Decides at the moment of appending what to append, from the state and the last sequence before it."""


class Submission(NamedTuple):
    """A batch of actions on its way: all of it is appended, or nothing."""

    actions: Sequence[Action] | Plan
    source: str
    done: Done
    client: Hashable = None
    size_bytes: int = 0
    begins: bool = False
    """Whether a log that found no room at its opening tries again for it."""


class Committed(NamedTuple):
    """What one group commit did: whom to tell what, and the events it appended (synced)."""

    outcomes: list[tuple[Done, Outcome]]
    events: list[Event]


class _Draft:
    """What the group would make true; dropped whole if the append fails."""

    def __init__(self, state: WorkspaceState, seq: int, time: str) -> None:
        self.state = state
        self.seq = seq
        self.time = time
        self.events: list[Event] = []
        self.added: dict[EventId, Seen] = {}
        self.parts: list[bytes] = []
        self.blobs: list[str] = []
        """Made for it; there were none of these names before."""
        self.bytes = 2


class LogWriter:
    """Owns the log's writing end.

    Attributes:
        state: the fold of everything synced; replaced whole, so any thread may keep one it read.
        visibility: likewise what is known of notes' visibility; the writer's own.
        slow_syncs: how many appends took longer than SLOW_SYNC_S.
    """

    def __init__(
        self,
        log: SegmentLog,
        state: WorkspaceState,
        window: IdWindow,
        visibility: VisibilityFold,
        blobs: DurableBlobStore,
        *,
        clock: Clock,
        uptime: Uptime | None = None,
        last_time: str = "",
        deliver: Callable[[Committed], None] | None = None,
        snapshots: Snapshots | None = None,
        snapshot_events: int = SNAPSHOT_EVENTS,
        snapshot_seq: int = 0,
    ) -> None:
        """`deliver` is called on the writer thread once a group; by default it calls each `done`.

        `clock`, `uptime` and `last_time` are those of a `LogClock`.
        A snapshot goes to `snapshots` every `snapshot_events`, the last being of `snapshot_seq`, and at the end.
        """
        self.state = state
        self.log = log
        self.slow_syncs = 0
        self.visibility = visibility
        self._window = window
        self._blobs = blobs
        self._clock = LogClock(clock, uptime, last_time)
        self._last_time = last_time
        self._seq = log.tail.seq
        """That `state` is the fold of."""
        self._deliver = deliver or deliver_here
        self._queue: SimpleQueue[Submission | None] = SimpleQueue()
        """None only wakes the writer."""
        self._buffered: deque[Submission] = deque()
        self._taken: deque[Submission] = deque()
        """Off the queue, not yet in a line; the writer's own."""
        self._buffering = threading.Lock()
        self._waiting = WaitingBytes()
        self._closing = False
        self._thread: threading.Thread | None = None
        self._snapshots = snapshots
        self._snapshot_events = snapshot_events
        self._snapshot_seq = snapshot_seq
        self._snapshot_thread: threading.Thread | None = None

    # -- any thread --

    def submit(
        self,
        actions: Sequence[Action] | Plan,
        source: str,
        done: Done,
        *,
        buffered: bool = False,
        client: Hashable = None,
        size_bytes: int = 0,
    ) -> None:
        """Queues a batch; `done` gets its receipts once they are synced, or the error.

        Args:
            actions: checked ones, or a plan that makes them from the state they will meet.
            source: the publisher's name.
            done: called exactly once, through `deliver`.
            buffered: may wait up to BUFFERED_DELAY_S for company; otherwise it is written as soon as possible.
            client: whose share of what may wait the batch takes.
            size_bytes: what the batch keeps in memory until it is written; 0: what the daemon itself records.

        Raises:
            Busy: too much waits for the disk already.
        """
        self._check_room()
        self._waiting.take(client, size_bytes)
        submission = Submission(actions, source, done, client, size_bytes)
        if not buffered:
            self._queue.put(submission)
            return
        with self._buffering:
            self._buffered.append(submission)
            if len(self._buffered) == 1:
                self._queue.put(None)  # starts the writer's clock; waking it for each would make the caller wait

    def now(self) -> str:
        """The present time on the log's timeline: that of the state's times."""
        return self._clock.now()

    def begin(self, actions: Sequence[Action] | Plan, source: str, done: Done) -> None:
        """Queues what must be recorded first. A log that found no room when it was opened tries again for it, and
        takes nothing else before that has worked (`SegmentLog.waiting`).

        Raises:
            Busy: too much waits for the disk already.
        """
        self._check_room()
        self._queue.put(Submission(actions, source, done, begins=True))

    @property
    def queued(self) -> int:
        """How many batches wait."""
        return self._queue.qsize() + len(self._buffered) + len(self._taken)

    @property
    def queued_bytes(self) -> int:
        """How many bytes of clients' batches wait."""
        return self._waiting.total

    def start(self) -> None:
        """Starts the writer thread."""
        self._thread = threading.Thread(target=self._run, name="workspaced-writer", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Writes what waits, takes a snapshot, then closes the log. Later submissions are refused."""
        self._closing = True
        if self._thread is not None:
            self._queue.put(None)
            self._thread.join()
        while self.queued:
            self._tell(self._commit())
        if self._snapshot_thread is not None:
            self._snapshot_thread.join()
        if (make := self._snapshot_due(1)) is not None:
            self._put_snapshot(make)
        self.log.close()

    def _check_room(self) -> None:
        if self.queued >= QUEUE_BATCHES_MAX or self._closing:
            raise busy("The log is closing." if self._closing else f"{self.queued} batches wait for the disk.")

    # -- the writer thread --

    def _run(self) -> None:
        flush_at = head_at = math.inf
        while not self._closing:
            self._wait(min(flush_at, head_at))
            now = time.monotonic()
            if self._taken or now >= flush_at:
                self._tell(self._commit())
                self._snapshot_aside()
                flush_at = now if self._taken or self._buffered else math.inf
                head_at = min(head_at, now + HEAD_DELAY_S)
            elif self._buffered:
                flush_at = min(flush_at, now + BUFFERED_DELAY_S)
            if now >= head_at:
                self.log.acknowledged()
                head_at = math.inf

    def _wait(self, until: float) -> None:
        """Takes the next submission off the queue, or none if `until` comes, or a wake-up, before one does."""
        try:
            first = self._queue.get(timeout=max(0.0, until - time.monotonic()) if until < math.inf else None)
        except Empty:
            return
        if first is not None:
            self._taken.append(first)

    def commit(self) -> Committed:
        """Appends what waits, as much as fits one line, and says what became of it; `deliver` is not called."""
        committed = self._commit()
        self.log.acknowledged()
        if (make := self._snapshot_due(self._snapshot_events)) is not None:
            self._put_snapshot(make)
        return committed

    def _tell(self, committed: Committed) -> None:
        try:
            self._deliver(committed)
        except Exception:
            # What was committed stays so; the writer must outlive those it serves.
            _logger.exception("Telling what became of a group of batches failed.")

    # -- snapshots --

    def _snapshot_due(self, events: int) -> Callable[[], Snapshot] | None:
        """What makes a snapshot of the present, on any thread, if that is so many events after the last one."""
        tail = self.log.tail
        if self._snapshots is None or tail.seq - self._snapshot_seq < events or not self.log.is_healthy:
            return None
        if tail.seq != self._seq:
            return None  # somebody appended past us: our state is not of that place
        self._snapshot_seq = tail.seq
        log_id, positions, window = self.log.log_id, self.log.positions(), self._window.copy()
        visibility = self.visibility.copy()
        last_time, state = self._last_time, self.state
        return lambda: Snapshot(
            log=log_id,
            tail=tail,
            positions=positions,
            last_time=last_time,
            state=state,
            ids=window.latest(),
            visibility=visibility,
        )

    def _snapshot_aside(self) -> None:
        """Writes a snapshot that is due on a thread of its own: publishers do not wait for it."""
        if self._snapshot_thread is not None and self._snapshot_thread.is_alive():
            return
        if (make := self._snapshot_due(self._snapshot_events)) is not None:
            self._snapshot_thread = threading.Thread(
                target=self._put_snapshot, args=(make,), name="workspaced-snapshot", daemon=True
            )
            self._snapshot_thread.start()

    def _put_snapshot(self, make: Callable[[], Snapshot]) -> None:
        assert self._snapshots is not None
        try:
            self._snapshots.put(make())
        except Exception as error:
            # The next start takes longer, which is all that a snapshot is for.
            _logger.warning("A snapshot was not written: %r.", error)

    def _commit(self) -> Committed:
        taken: list[Submission] = []
        try:
            return self._commit_group(taken)
        finally:  # before anybody hears of it: an answer says that there is room again
            for each in taken:
                self._waiting.give_back(each.client, each.size_bytes)

    def _commit_group(self, taken: list[Submission]) -> Committed:
        reading = self._clock.read()
        draft = self._draft(reading.time, reading.stepped_to)
        outcomes: list[tuple[Done, Outcome]] = []
        accepted: list[tuple[Done, list[Receipt]]] = []
        for submission in self._submissions(draft):
            taken.append(submission)
            try:
                if submission.begins:
                    self.log.begin()
                elif self.log.waiting is not None:
                    raise self.log.waiting
                receipts = self._sequence(submission, draft)
            except WorkspacedError as error:
                outcomes.append((submission.done, error))
            except Exception as error:
                # A plan's bug, or text that has no UTF-8 form, is its submitter's trouble and not the writer's.
                outcomes.append((submission.done, WorkspacedError(f"The batch could not be recorded: {error!r}.")))
            else:
                accepted.append((submission.done, receipts))
        try:
            self._append(draft)
        except LogError as error:
            if not isinstance(error, LogFailed):  # else the line may yet be in the log, and names them
                self._discard(draft.blobs)
            outcomes.extend((done, error) for done, _receipts in accepted)
            return Committed(outcomes, [])
        except Exception as error:
            # A bug below us: what is on the disk is not known, which is what poisoning is for.
            failure = self.log.poison(f"Appending failed unexpectedly ({error!r}).")
            outcomes.extend((done, failure) for done, _receipts in accepted)
            return Committed(outcomes, [])
        if reading.stepped_to is not None:
            self._clock.follow(reading)
        outcomes.extend(accepted)
        return Committed(outcomes, draft.events)

    def _draft(self, time: str, stepped_to: str | None) -> _Draft:
        """What a group begins with: that the clock was set; or nothing, at a time later than all before."""
        before = max(time, just_after(self._last_time)) if time <= self._last_time else time
        draft = _Draft(self.state, self.log.tail.seq, stepped_to or before)
        if stepped_to is not None:
            step = Submission([Action(ClockStepped(before, stepped_to))], OWN_SOURCE, lambda _outcome: None)
            self._sequence(step, draft)
        return draft

    def _submissions(self, draft: _Draft) -> Iterator[Submission]:
        """What waits, as long as even the largest batch would still fit the draft's line.

        The buffered ones first: they have waited longest.
        """
        while draft.bytes + BATCH_BYTES_MAX <= LINE_BYTES_MAX:
            if self._buffered or self._taken:
                yield (self._buffered or self._taken).popleft()
                continue
            try:
                submission = self._queue.get_nowait()
            except Empty:
                return
            if submission is not None:
                yield submission

    def _sequence(self, submission: Submission, draft: _Draft) -> list[Receipt]:
        """Makes the submission's events part of the draft, or raises and leaves the draft as it was."""
        state, seq = draft.state, draft.seq
        events: list[Event] = []
        receipts = []
        added: dict[EventId, Seen] = {}
        blobs: list[bytes] = []
        actions = submission.actions(state, seq) if callable(submission.actions) else submission.actions
        for index, action in enumerate(actions):
            event_id = action.id if action.id is not None else EventId(uuid7())
            try:
                if (first := self._first_seq(action, draft, added)) is not None:
                    receipts.append(Receipt(first, event_id, True))
                    continue
                vault = admit(state, action)
            except ActionError as error:
                raise error.at_index(index) from None
            blobs.extend(action.blobs)
            seq += 1
            entry = ENTRY_OF[type(action.data)]
            event = entry.event(seq, event_id, draft.time, submission.source, vault, action.data)
            state = apply(state, event)
            events.append(event)
            receipts.append(Receipt(seq, event_id, False))
            added[event_id] = seen_in(event)
        if events:
            part = encode_batch(events)[1:-1]
            if len(part) > BATCH_BYTES_MAX:
                raise BatchTooLarge(
                    f"The batch makes {len(part)} bytes of events; at most {BATCH_BYTES_MAX} are taken.",
                    hint="Publish it in parts.",
                )
            draft.blobs += self._keep(blobs)
            draft.parts.append(part)
            draft.bytes += len(part) + 1
        draft.state, draft.seq = state, seq
        draft.events.extend(events)
        draft.added.update(added)
        return receipts

    def _first_seq(self, action: Action, draft: _Draft, added: dict[EventId, Seen]) -> int | None:
        """Where the very same action was appended before, in this group included; None if its id is new."""
        if action.id is None:
            return None
        seen = added.get(action.id) or draft.added.get(action.id) or self._window.get(action.id)
        return first_seq(seen, action.id, action.data, action.vault) if seen is not None else None

    def seen(self, event_id: EventId) -> Seen | None:
        """Where an id was used and for what, as far back as retries are recognised; the writer thread's."""
        return self._window.get(event_id)

    def _keep(self, blobs: list[bytes]) -> list[str]:
        """Keeps the texts of a batch, last of all that may refuse it; returns the names that are new.

        Raises:
            DiskFull, BlobFailed: one could not be kept; none that is new is left.
        """
        made: list[str] = []
        if not self.log.is_healthy:
            return made  # the append will be refused
        for blob in blobs:
            name = sha256(blob).hexdigest()
            try:
                if not self._blobs.has(name):
                    made.append(name)
                self._blobs.put(blob)
            except OSError as error:
                self._discard(made)
                place = blob_path(BLOBS, name)
                if error.errno not in NO_SPACE:
                    raise BlobFailed(
                        f"Writing {place} failed: {error.strerror}.",
                        hint="Nothing of the batch was kept; the log goes on. Check the disk and publish again.",
                        file=place,
                    ) from error
                raise DiskFull(
                    f"The disk refused {place}: {error.strerror}.",
                    hint="Nothing of the batch was kept. Free some space and publish again.",
                    file=place,
                ) from error
        return made

    def _discard(self, blobs: list[str]) -> None:
        for name in blobs:
            self._blobs.discard(name)

    def _append(self, draft: _Draft) -> None:
        if not draft.events:
            return
        started = time.monotonic()
        payload = b"[" + b",".join(draft.parts) + b"]"
        self.log.append(Batch(draft.events[0].seq, draft.seq, payload), draft.events[0].seq - 1)
        if time.monotonic() - started > SLOW_SYNC_S:
            self.slow_syncs += 1
        self._window.add(draft.added)
        self.visibility.feed(draft.events)
        self._last_time, self._seq = draft.time, draft.seq
        self.state = draft.state


def deliver_here(committed: Committed) -> None:
    """Tells the submitters on the calling thread."""
    for done, outcome in committed.outcomes:
        try:
            done(outcome)
        except Exception:
            _logger.exception("Telling what became of a batch failed.")
