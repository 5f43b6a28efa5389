"""`RecordedLog`: an open log, and the moment of it at which a daemon stands."""

from collections.abc import Collection, Iterator
from itertools import islice
from threading import RLock
from typing import Final

import msgspec

from workspaced_events.errors import InvalidArgument
from workspaced_events.ids import VaultId
from workspaced_events.journal.start import Start
from workspaced_events.limits import HISTORY_EVENTS_MAX
from workspaced_events.projections.visits import Visit, visits_from
from workspaced_events.projections.workspace_fold import fold_all
from workspaced_events.projections.workspace_state import WorkspaceState
from workspaced_events.replay.backward_scan import SCANNED
from workspaced_events.replay.indexed_events import IndexedEvents
from workspaced_events.replay.kept_folds import KeptFolds
from workspaced_events.replay.log_cursor import Moment
from workspaced_events.replay.source import StoredSource
from workspaced_events.schema.catalogue import CATALOGUE, Event
from workspaced_tools.replay.indexed_log import IndexedPast
from workspaced_tools.replay.recorded_reads import Recordings

_PAGE_EVENTS: Final = 1_000
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
        index = source.index()
        if index.damage is not None:
            raise index.damage
        self.warnings = index.warnings
        self.log_id = source.log_id
        self.lock = RLock()
        self._source = source
        self._events = IndexedEvents(index, source.start.seq)
        visits = msgspec.json.encode(source.start_visits())
        self._folds = KeptFolds(self._events, source.start, visits)
        self._past = IndexedPast(self._events, self._folds)
        self.recordings = Recordings(self.blob)
        self.here: Moment = self._past.moment(at) if at is not None else self._past.end
        self.start: Start = self._fold()
        """What a log begins with that goes on from the moment."""

    def _fold(self) -> Start:
        """Folds all up to the moment, in one pass: whoever started the daemon waits for it."""
        seq = self.here.seq
        state, visits = self._source.start, self._source.start_visits()
        looked_at = max(self._events.before, seq - HISTORY_EVENTS_MAX)
        if looked_at > self._events.before:  # they are a function of the latest events alone
            visits = visits_from(looked_at)
        count = self._events.count_up_to(seq)
        for begin in range(0, count, _PAGE_EVENTS):
            page = self._events[begin : min(begin + _PAGE_EVENTS, count)]
            state = fold_all(page, state)
            if page[-1].seq > looked_at:
                visits.feed(page[max(0, looked_at - page[0].seq + 1) :])
        visits.apply_renames()
        return Start(seq=seq, time=self.here.time, state=state, visits=visits)

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
        if seq == self.here.seq:
            return self.start.state
        with self.lock:
            return self._folds.state_at(seq)

    def visits_at(self, seq: int, vault: VaultId) -> list[Visit]:
        """The visits of a vault up to `seq`.

        Raises:
            StateNotRetained: the log does not hold events early enough.
        """
        with self.lock:
            return list(self._past.visits_at(seq, vault))

    def events_of(self, types: tuple[str, ...], *, until: int | None = None) -> list[Event]:
        """All events of some types, in order; `until`: up to that sequence."""
        with self.lock:
            return list(self._events.of_types(types, after=self._events.before, before=_behind(until)))

    def read(self, first: int, limit: int) -> list[Event]:
        """Up to `limit` events from `first` on."""
        with self.lock:
            begin = self._events.count_up_to(first - 1)
            return self._events[begin : begin + limit]


def _behind(seq: int | None) -> int | None:
    return None if seq is None else seq + 1
