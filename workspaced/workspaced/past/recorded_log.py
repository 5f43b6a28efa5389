"""`RecordedLog`: an open log, and the moment of it at which a daemon stands."""

from bisect import bisect_right
from collections.abc import Collection, Iterator
from itertools import islice
from threading import RLock
from typing import Final

import msgspec

from workspaced_events.errors import InvalidArgument
from workspaced_events.ids import VaultId
from workspaced_events.journal.start import Start
from workspaced_events.limits import HISTORY_EVENTS_MAX, VISITS_MAX
from workspaced_events.projections.visits import Bounds, Visit, VisitFold, visits_from
from workspaced_events.projections.workspace_state import WorkspaceState
from workspaced_events.replay.backward_scan import SCANNED
from workspaced_events.replay.indexed_events import IndexedEvents
from workspaced_events.replay.kept_folds import KeptFolds, KeptStates
from workspaced_events.replay.log_cursor import Moment
from workspaced_events.replay.source import StoredSource
from workspaced_events.schema import catalogue as c
from workspaced_events.schema.catalogue import CATALOGUE, Data, Event
from workspaced_tools.replay.indexed_log import IndexedPast
from workspaced_tools.replay.recorded_reads import Recordings
from workspaced_tools.replay.verify import StateNotRetained

_PAGE_EVENTS: Final = 1_000
_KEPT: Final = frozenset((c.ToolCalled, c.ContextVolunteered, c.NoteShown, c.NoteWithheld, c.NoteRenamed))
_SCANNED: Final = tuple(name for name, entry in CATALOGUE.items() if issubclass(entry.data, SCANNED))


class RecordedLog:
    """Implements `PastEvents`; it finds no moment after its own. Safe from any thread: one at a time reads.

    Attributes:
        here: the moment.
        lock: held by whoever reads; a thread may take it again.
    """

    def __init__(self, source: StoredSource, at: int | str | None) -> None:
        """
        Args:
            source: stays open as long as this is used.
            at: the moment; None: the end of the log.

        Raises:
            InvalidArgument: the log does not hold the moment, or is of a newer version.
            LogDamaged: it does not verify.
            OSError: it cannot be read.
        """
        self._states = KeptStates(source.start)
        self._fold_until = at if isinstance(at, int) else None
        """States after this sequence are hardly asked for."""
        self._kept: list[Event] = []
        """All events of the types _KEPT, in order."""
        index = source.index(sink=self._take)
        if index.damage is not None:
            raise index.damage
        self.warnings = index.warnings
        self.log_id = source.log_id
        self.lock = RLock()
        self._source = source
        self._events = IndexedEvents(index, source.start.seq)
        visits = msgspec.json.encode(source.start_visits())
        self._folds = KeptFolds(self._events, self._states, visits)
        self._past = IndexedPast(self._events, self._folds)
        self.recordings = Recordings(self.blob)
        self.here: Moment = self._past.moment(at) if at is not None else self._past.end
        state = self.state_at(self.here.seq)
        self.start = Start(seq=self.here.seq, time=self.here.time, state=state, visits=self._visits())
        """What a log begins with that goes on from the moment."""

    def _take(self, events: list[Event]) -> None:
        """Folds the log while it is verified: whoever started the daemon waits for it."""
        if self._fold_until is None or events[0].seq <= self._fold_until:
            self._states.take(events)
        self._kept += [event for event in events if type(event.data) in _KEPT]

    def _visits(self) -> VisitFold:
        """As many visits up to the moment as are ever shown: a function of the latest events alone."""
        looked_at = self.here.seq - HISTORY_EVENTS_MAX
        fold = visits_from(looked_at) if looked_at > self._events.before else self._source.start_visits()
        begin, end = self._events.count_up_to(looked_at), self._events.count_up_to(self.here.seq)
        fold.feed(self._events[begin:end])
        fold.forget(Bounds(slack=1))  # the run's log begins with them, and is read at once
        fold.apply_renames()
        return fold

    def blob(self, sha256: str) -> bytes | None:
        """The content with that hash; None: the log does not hold it.

        Raises:
            LogDamaged: it has another hash, or cannot be read.
        """
        with self.lock:
            return self._source.blob(sha256)

    @property
    def tail(self) -> int:
        return self._past.tail

    def before(self, seq: int) -> Iterator[Event]:
        """Only events that a question about the past looks at."""
        return self.events_before(seq, _SCANNED)

    def events_before(self, seq: int, types: Collection[str] | None = None) -> Iterator[Event]:
        """The events of some types (None: all) from `seq` on backwards, newest first."""
        while True:
            with self.lock:
                page = list(islice(self._events.of_types(types, before=seq + 1), _PAGE_EVENTS))
            if not page:
                return
            yield from page
            seq = page[-1].seq - 1

    def after(self, seq: int) -> Iterator[Event]:
        while True:
            with self.lock:
                page = list(islice(self._past.after(seq), _PAGE_EVENTS))
            if not page:
                return
            yield from page
            seq = page[-1].seq

    def moment(self, at: int | str) -> Moment:
        with self.lock:
            found = self._past.moment(at)
        if found.seq > self.here.seq:
            raise InvalidArgument(
                f"Expected a moment up to event {self.here.seq}, where this daemon stands, got {str(at)[:100]}.",
                hint="Give an earlier one, or none.",
            )
        return found

    def state_at(self, seq: int) -> WorkspaceState:
        """The fold up to `seq`."""
        with self.lock:
            return self._folds.state_at(seq)

    def visits_at(self, seq: int, vault: VaultId) -> list[Visit]:
        """The visits of a vault up to `seq`.

        Raises:
            StateNotRetained: the log does not hold events early enough.
        """
        with self.lock:
            if seq == self.here.seq:  # they are folded already
                found = self.start.visits.visits(vault, max(0, seq - HISTORY_EVENTS_MAX), seq, VISITS_MAX)
                if found is None:
                    raise StateNotRetained
                return found
            return list(self._past.visits_at(seq, vault))

    def events_of(self, *types: type[Data], until: int | None = None) -> list[Event]:
        """All events of some types, in order; `until`: up to that sequence.

        Args:
            types: some of _KEPT.
        """
        assert _KEPT.issuperset(types)
        found = [event for event in self._kept if type(event.data) in types]
        return found if until is None else found[: bisect_right(found, until, key=lambda event: event.seq)]

    def read(self, first: int, limit: int) -> list[Event]:
        """Up to `limit` events from `first` on."""
        with self.lock:
            begin = self._events.count_up_to(first - 1)
            return self._events[begin : begin + limit]
