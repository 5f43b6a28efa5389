"""`LogWriter`: the only place where actions become events.

Any thread submits. One writer thread takes the waiting batches, gives them sequence, time and id against the
present state, appends them as one line, folds them, and only then answers the submitters. A failed append
therefore leaves state, ids and sequence unchanged, and every submitter of the group gets the error. `commit`, a
plain function of the queue, does the work of one group: tests and simulations call it without a thread. HEAD only
records what was acknowledged, so it is written afterwards, while nobody waits.
"""

import logging
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from hashlib import sha256
from queue import Empty, SimpleQueue
from typing import Final, NamedTuple

from ..blobs.durable import DurableBlobStore, blob_path
from ..blobs.packs import Pack
from ..clock import Clock, LogClock, Uptime, just_after
from ..errors import ActionError, BatchTooLarge, DiskFull, LogError, LogFailed, WorkspacedError
from ..ids import EventId, uuid7
from ..limits import BATCH_BYTES_MAX, BUFFERED_DELAY_S, LINE_BYTES_MAX, QUEUE_BATCHES_MAX, SLOW_SYNC_S
from ..log.data_directory import BLOBS
from ..log.segments import NO_SPACE, Batch, SegmentLog
from ..projections.workspace_fold import apply
from ..projections.workspace_state import WorkspaceState
from ..schema.catalogue import ENTRY_OF, ClockStepped, Event
from ..schema.codec import encode_batch
from .actions import Action, Plan, Planned, admit
from .idempotency import Seen, first_seq, seen_in
from .snapshots import Folding, Snapshot, Snapshots
from .submissions import Done, Outcome, Receipt, Submission, TextPacking, WaitingBytes, busy

_HEAD_DELAY_S: Final = 0.02
"""HEAD may lag this far behind the last acknowledgement; it is written while nobody waits for the disk."""
_logger = logging.getLogger(__name__)
OWN_SOURCE = "workspaced"
"""The source of events that the daemon itself appends."""


class Committed(NamedTuple):
    """The result of one group commit: each submitter's outcome, and the appended (synced) events."""

    outcomes: list[tuple[Done, Outcome]]
    events: list[Event]


class _Draft:
    """The events and state of a group before its append; dropped whole if the append fails."""

    def __init__(self, state: WorkspaceState, seq: int, time: str) -> None:
        self.state = state
        self.seq = seq
        self.time = time
        self.events: list[Event] = []
        self.added: dict[EventId, Seen] = {}
        self.parts: list[bytes] = []
        self.blobs: list[str] = []
        """Names of the blobs made for this group; none existed before."""
        self.packs: list[Pack] = []
        """The packs of the group's accepted batches."""
        self.bytes = 2


class LogWriter:
    """The only writer of the log.

    Attributes:
        state: the fold of all synced events; never modified in place, so any thread may keep a reference.
        visibility: the fold of notes' visibility; only the writer thread may use it.
        pending: the writes to the memory folder without an end; only the writer thread may use it once it runs.
        slow_syncs: the number of appends longer than SLOW_SYNC_S.
    """

    def __init__(
        self,
        log: SegmentLog,
        folding: Folding,
        blobs: DurableBlobStore,
        *,
        clock: Clock,
        uptime: Uptime | None,
        deliver: Callable[[Committed], None] | None,
        snapshots: Snapshots,
        snapshot_events: int,
        snapshot_seq: int,
    ) -> None:
        """`deliver` is called on the writer thread once per group; by default it calls each `done`.

        `folding` has taken the whole log. `clock` and `uptime` are those of a `LogClock`.
        `snapshots` gets a snapshot every `snapshot_events` after `snapshot_seq`, and one at the end.
        """
        self.state = folding.state
        self.log = log
        self.slow_syncs = 0
        self.visibility = folding.visibility
        self.pending = folding.pending
        self._window = folding.id_window()
        self._blobs = blobs
        self._clock = LogClock(clock, uptime, folding.last_time)
        self.now: Final = self._clock.now
        """The present time on the log's timeline, which is also the state's."""
        self._last_time = folding.last_time
        self._seq = log.tail.seq
        """The sequence up to which `state` is folded."""
        self._deliver = deliver or deliver_here
        self._queue: SimpleQueue[Submission | None] = SimpleQueue()
        """None only wakes the writer."""
        self._buffered: deque[Submission] = deque()
        self._taken: deque[Submission] = deque()
        """Taken off the queue but not appended; only the writer thread uses it."""
        self._buffering = threading.Lock()
        self._packing = TextPacking(blobs, lambda: log.is_healthy, self._queue.put)
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
        texts: Sequence[bytes] = (),
    ) -> None:
        """Queues a batch; `done` gets its receipts after the sync, or the error.

        Args:
            actions: checked actions, or a plan that makes them from the state at the append.
            source: the publisher's name.
            done: called exactly once, through `deliver`.
            buffered: may wait up to BUFFERED_DELAY_S for other batches; otherwise written as soon as possible.
            client: the client whose limit of waiting bytes the batch counts towards.
            size_bytes: the batch's memory until it is written; 0 for the daemon's own records.
            texts: blobs of its actions that are known already: several are stored without making others wait.

        Raises:
            Busy: too much already waits for the disk.
        """
        self._check_room()
        self._waiting.take(client, size_bytes)
        submission = Submission(actions, source, done, client, size_bytes, texts=texts)
        if not buffered:
            if not self._packing.take(submission):
                self._queue.put(submission)
            return
        with self._buffering:
            self._buffered.append(submission)
            if len(self._buffered) == 1:
                self._queue.put(
                    None
                )  # starts the writer's delay; one wake-up per batch would slow the caller down

    def begin(self, actions: Sequence[Action] | Plan, source: str, done: Done) -> None:
        """Queues the daemon's first actions.

        If the disk had no room at opening, this retries the opening; the log takes nothing else until that
        succeeds (`SegmentLog.waiting`).

        Raises:
            Busy: too much already waits for the disk.
        """
        self._check_room()
        self._queue.put(Submission(actions, source, done, begins=True))

    @property
    def queued(self) -> int:
        """The number of waiting batches."""
        return self._packing.count + self._queue.qsize() + len(self._buffered) + len(self._taken)

    @property
    def queued_bytes(self) -> int:
        """The bytes of the clients' waiting batches."""
        return self._waiting.total

    def start(self) -> None:
        """Starts the threads that write and that pack texts."""
        self._packing.start()
        self._thread = threading.Thread(target=self._run, name="workspaced-writer", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Writes the waiting batches, takes a snapshot and closes the log. Refuses later submissions."""
        self._closing = True
        self._packing.close()
        if self._thread is not None:
            self._queue.put(None)
            self._thread.join()
        while self.queued:
            self._answer(self._commit())
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
                self._answer(self._commit())
                self._start_due_snapshot()
                flush_at = now if self._taken or self._buffered else math.inf
                head_at = min(head_at, now + _HEAD_DELAY_S)
            elif self._buffered:
                flush_at = min(flush_at, now + BUFFERED_DELAY_S)
            if now >= head_at:
                self.log.acknowledged()
                head_at = math.inf

    def _wait(self, until: float) -> None:
        """Takes the next submission off the queue; returns earlier at time `until` or at a wake-up."""
        try:
            first = self._queue.get(timeout=max(0.0, until - time.monotonic()) if until < math.inf else None)
        except Empty:
            return
        if first is not None:
            self._taken.append(first)

    def commit(self) -> Committed:
        """Appends as many waiting batches as fit one line and returns their outcomes; does not call `deliver`."""
        self._packing.pack_waiting()
        committed = self._commit()
        self.log.acknowledged()
        if (make := self._snapshot_due(self._snapshot_events)) is not None:
            self._put_snapshot(make)
        return committed

    def _answer(self, committed: Committed) -> None:
        try:
            self._deliver(committed)
        except Exception:
            # The commit is final; the writer must survive an error of its submitters.
            _logger.exception("Telling what became of a group of batches failed.")

    # -- snapshots --

    def _snapshot_due(self, events: int) -> Callable[[], Snapshot] | None:
        """A function that makes a snapshot of the present on any thread; None before `events` have passed."""
        tail = self.log.tail
        if tail.seq - self._snapshot_seq < events or not self.log.is_healthy:
            return None
        if tail.seq != self._seq:
            return None  # another writer appended, so our state is behind the tail
        self._snapshot_seq = tail.seq
        log_id, positions, window = self.log.log_id, self.log.positions(), self._window.copy()
        visibility = self.visibility.copy()
        pending = self.pending.copy()
        last_time, state = self._last_time, self.state
        return lambda: Snapshot(
            log=log_id,
            tail=tail,
            positions=positions,
            last_time=last_time,
            state=state,
            ids=window.latest(),
            visibility=visibility,
            pending=pending,
        )

    def _start_due_snapshot(self) -> None:
        """Writes a snapshot that is due on its own thread, so that publishers do not wait for it."""
        if self._snapshot_thread is not None and self._snapshot_thread.is_alive():
            return
        if (make := self._snapshot_due(self._snapshot_events)) is not None:
            self._snapshot_thread = threading.Thread(
                target=self._put_snapshot, args=(make,), name="workspaced-snapshot", daemon=True
            )
            self._snapshot_thread.start()

    def _put_snapshot(self, make: Callable[[], Snapshot]) -> None:
        try:
            self._snapshots.put(make())
        except Exception as error:
            # Without the snapshot the next start only takes longer.
            _logger.warning("A snapshot was not written: %r.", error)

    def _commit(self) -> Committed:
        taken: list[Submission] = []
        try:
            return self._commit_group(taken)
        finally:  # before the outcomes are delivered: a client with an answer may use the room again
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
                # A bug in a plan, or text without a UTF-8 form, concerns its submitter only.
                outcomes.append((submission.done, WorkspacedError(f"The batch could not be recorded: {error!r}.")))
            else:
                accepted.append((submission.done, receipts))
            if submission.pack is not None and submission.pack not in draft.packs:
                self._blobs.packs.remove(submission.pack)
        try:
            self._append(draft)
        except LogError as error:
            if not isinstance(error, LogFailed):  # otherwise the line may be in the log and name the blobs
                self._discard(draft.blobs, draft.packs)
            outcomes.extend((done, error) for done, _receipts in accepted)
            return Committed(outcomes, [])
        except Exception as error:
            # A bug in the log: the disk's content is unknown, so the log is poisoned.
            failure = self.log.poison(f"Appending failed unexpectedly ({error!r}).")
            outcomes.extend((done, failure) for done, _receipts in accepted)
            return Committed(outcomes, [])
        if reading.stepped_to is not None:
            self._clock.follow(reading)
        outcomes.extend(accepted)
        return Committed(outcomes, draft.events)

    def _draft(self, time: str, stepped_to: str | None) -> _Draft:
        """A new group: begins with `clock_stepped` if the clock was set; its time is later than all before."""
        before = max(time, just_after(self._last_time)) if time <= self._last_time else time
        draft = _Draft(self.state, self.log.tail.seq, stepped_to or before)
        if stepped_to is not None:
            step = Submission([Action(ClockStepped(before, stepped_to))], OWN_SOURCE, lambda _outcome: None)
            self._sequence(step, draft)
        return draft

    def _submissions(self, draft: _Draft) -> Iterator[Submission]:
        """The waiting batches, while the draft's line has room for even the largest one.

        Buffered batches come first, because they have waited longest.
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
        """Adds the submission's events to the draft; on an error leaves the draft unchanged and raises."""
        state, seq = draft.state, draft.seq
        events: list[Event] = []
        receipts = []
        added: dict[EventId, Seen] = {}
        blobs: list[bytes] = []
        actions = submission.actions
        if callable(actions):
            actions = actions(Planned(state, seq, draft.time))
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
            event = entry.event(seq, event_id, draft.time, action.source or submission.source, vault, action.data)
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
            draft.blobs += self._store_blobs(blobs, submission.pack)
            if submission.pack is not None and self.log.is_healthy:
                self._blobs.add(submission.pack)
                draft.packs.append(submission.pack)
            draft.parts.append(part)
            draft.bytes += len(part) + 1
        draft.state, draft.seq = state, seq
        draft.events.extend(events)
        draft.added.update(added)
        return receipts

    def _first_seq(self, action: Action, draft: _Draft, added: dict[EventId, Seen]) -> int | None:
        """The first append of this action, possibly in this group; None if its id is new."""
        if action.id is None:
            return None
        seen = added.get(action.id) or draft.added.get(action.id) or self._window.get(action.id)
        return first_seq(seen, action.id, action.data, action.vault) if seen is not None else None

    def seen(self, event_id: EventId) -> Seen | None:
        """The first use of an id, if it is in the window; call it on the writer thread."""
        return self._window.get(event_id)

    def _store_blobs(self, blobs: list[bytes], pack: Pack | None) -> list[str]:
        """Stores those texts of a batch that are not in its pack, after all checks that may refuse it; returns the
        names that are new.

        Raises:
            DiskFull, LogError: a text could not be stored; all new ones are removed again.
        """
        new_names: list[str] = []
        if not self.log.is_healthy:
            return new_names  # the append will be refused
        for blob in blobs:
            name = sha256(blob).hexdigest()
            if pack is not None and name in pack.members:
                continue
            try:
                if not self._blobs.has(name):
                    new_names.append(name)
                self._blobs.put(blob)
            except OSError as error:
                self._discard(new_names)
                place = blob_path(BLOBS, name)
                if error.errno not in NO_SPACE:
                    raise LogError(
                        f"Writing {place} failed: {error.strerror}.",
                        hint="Nothing of the batch was kept; the log goes on. Check the disk and publish again.",
                        file=place,
                        code="BLOB_FAILED",
                    ) from error
                raise DiskFull(
                    f"The disk refused {place}: {error.strerror}.",
                    hint="Nothing of the batch was kept. Free some space and publish again.",
                    file=place,
                ) from error
        return new_names

    def _discard(self, blobs: list[str], packs: Sequence[Pack] = ()) -> None:
        for name in blobs:
            self._blobs.discard(name)
        for pack in packs:
            self._blobs.packs.remove(pack)

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
        self.pending.feed(draft.events)
        self._last_time, self._seq = draft.time, draft.seq
        self.state = draft.state


def deliver_here(committed: Committed) -> None:
    """Delivers the outcomes on the calling thread."""
    for done, outcome in committed.outcomes:
        try:
            done(outcome)
        except Exception:
            _logger.exception("Telling what became of a batch failed.")
