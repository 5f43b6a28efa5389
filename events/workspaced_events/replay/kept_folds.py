"""Folds of a log that are kept at regular distances, so that any moment is near one of them.

A state shares most of its parts with the next, so one is kept each STATE_STRIDE_EVENTS. Visits are changed in
place and may be thousands, so their fold is kept as compressed JSON, each VISITS_STRIDE_EVENTS.
"""

import zlib
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from ..ids import VaultId
from ..projections.visits import Visit, VisitFold, VisitStream
from ..projections.workspace_fold import fold_all
from ..projections.workspace_state import WorkspaceState
from ..schema.catalogue import Event
from .indexed_events import IndexedEvents

STATE_STRIDE_EVENTS: Final = 1_000
VISITS_STRIDE_EVENTS: Final = 10_000
"""A multiple of STATE_STRIDE_EVENTS."""


class NotFolded(BaseException):
    """A moment needs more events folded than are. It steers who folds, so nothing that handles errors takes it.

    Attributes:
        needed: how many events must be folded.
    """

    def __init__(self, needed: int) -> None:
        super().__init__(needed)
        self.needed = needed


class KeptStates:
    """The states of a log at each STATE_STRIDE_EVENTS, of the events taken so far."""

    def __init__(self, start: WorkspaceState) -> None:
        """`start`: the state before the first event."""
        self.stride = STATE_STRIDE_EVENTS
        self._states = [start]
        self._waiting: list[Event] = []
        """The events after the last state."""

    @property
    def taken(self) -> int:
        """The number of events taken."""
        return (len(self._states) - 1) * self.stride + len(self._waiting)

    def take(self, events: Iterable[Event]) -> None:
        """Folds the next events of the log."""
        self._waiting += events
        while len(self._waiting) >= self.stride:
            self._states.append(fold_all(self._waiting[: self.stride], self._states[-1]))
            del self._waiting[: self.stride]

    def before(self, count: int) -> tuple[int, WorkspaceState]:
        """The last kept state of at most `count` events, with how many events it is the fold of."""
        at = count // self.stride
        return at * self.stride, self._states[at]


class KeptFolds:
    """States and visits at any moment of a log. Folds events when they are first needed. Not thread-safe.

    Attributes:
        folded: the events that states and visits are folded of.
        on_demand: whether a moment that needs a fold which is not there makes it; else it raises NotFolded.
    """

    def __init__(self, events: IndexedEvents, states: KeptStates, visits: bytes) -> None:
        """
        Args:
            events: of the log; they may become more.
            states: of the log; they may have been folded while it was read.
            visits: the JSON of the `VisitFold` before the first event.
        """
        self._events, self._states = events, states
        self._visits_stride = VISITS_STRIDE_EVENTS
        self._visits = [zlib.compress(visits, 1)]
        self.folded = 0
        self.on_demand = True
        self._stream = VisitStream(start=msgspec.json.decode(visits, type=VisitFold))
        self._asked_state = states.before(0)
        """The state that was asked for last, and how many events it is the fold of."""
        self._asked_visits: tuple[int, VisitStream] | None = None
        """Likewise."""

    def fold_some(self) -> bool:
        """Folds up to the next kept state; False if all events are folded."""
        begin, stride = self.folded, self._states.stride
        end = min(begin - begin % stride + stride, len(self._events))
        if begin >= end:
            return False
        events = self._events[begin:end]
        self._states.take(events[max(0, self._states.taken - begin) :])
        self._stream.feed(events)
        self.folded = end
        if end % self._visits_stride == 0:
            self._visits.append(zlib.compress(msgspec.json.encode(self._stream.fold), 1))
        return True

    def state_at(self, seq: int) -> WorkspaceState:
        """The fold up to `seq`; before the first event, the state that the log begins with."""
        count = self._events.count_up_to(seq)
        kept = count - count % self._states.stride
        if self._states.taken < kept:
            self._fold_to(kept)
        begin, state = self._asked_state
        if not kept <= begin <= count:
            begin, state = self._states.before(count)
        state = fold_all(self._events[begin:count], state)
        self._asked_state = (count, state)
        return state

    def visits_at(self, vault: VaultId, seq: int) -> Sequence[Visit] | None:
        """The visits of a vault's notes up to `seq`; None if the log does not hold events early enough."""
        count = self._events.count_up_to(seq)
        if count == self.folded:
            return self._stream.visits(vault, seq)
        kept = count // self._visits_stride
        self._fold_to(kept * self._visits_stride)
        if self._asked_visits is None or not kept * self._visits_stride <= self._asked_visits[0] <= count:
            self._asked_visits = None  # some megabytes, which go before the next ones come
            fold = msgspec.json.decode(zlib.decompress(self._visits[kept]), type=VisitFold)
            self._asked_visits = (kept * self._visits_stride, VisitStream(start=fold))
        begin, stream = self._asked_visits
        while begin < count:
            end = min(begin + self._states.stride, count)
            stream.feed(self._events[begin:end])  # drops old visits
            begin = end
        self._asked_visits = (count, stream)
        return stream.visits(vault, seq)

    def _fold_to(self, count: int) -> None:
        if self.folded < count and not self.on_demand:
            raise NotFolded(count)
        while self.folded < count and self.fold_some():
            pass
