"""Moments of a log: found by sequence or time, and read from in both directions."""

import threading
from collections import OrderedDict
from collections.abc import Iterator
from typing import Final

import msgspec

from .catalogue import Event, ToolCalled
from .errors import InvalidArgument
from .fold import apply
from .state import EMPTY, WorkspaceState
from .until import parse_until
from .visits import ReadableLog

_PAGE_EVENTS: Final = 512
_STATES_KEPT: Final = 16
_BEGINNING: Final = "1970-01-01T00:00:00.000000Z"


class Moment(msgspec.Struct, frozen=True):
    """A place in a log: after the event `seq`, and what a clock said then."""

    seq: int
    time: str
    """In the form of an event's time."""
    lasts: bool = False
    """Whether all that happened before the next event counts as well, and not only what did up to `time`."""


class LogMoments:
    """Finds one's way in an open log. Safe from any thread; reads, so it blocks."""

    def __init__(self, log: ReadableLog) -> None:
        self._log = log
        self._folded: OrderedDict[int, WorkspaceState] = OrderedDict()
        self._folding = threading.Lock()

    @property
    def tail(self) -> int:
        """The last sequence there is."""
        seq: int = self._log.tail.seq
        return seq

    def before(self, seq: int) -> Iterator[Event]:
        """The events from `seq` on back, newest first."""
        while seq > 0:
            page = self._page(max(1, seq - _PAGE_EVENTS + 1), seq)
            yield from reversed(page)
            seq = page[0].seq - 1

    def after(self, seq: int) -> Iterator[Event]:
        """The events after `seq`, oldest first."""
        while events := self._log.read(seq + 1, _PAGE_EVENTS):
            yield from events
            seq = events[-1].seq

    def moment(self, at: int | str) -> Moment:
        """The moment that a sequence or an ISO 8601 time (UTC without an offset) names.

        That of a recorded call is when it was made, a little before it was recorded: asked again at it, a tool sees
        what it saw then.

        Raises:
            InvalidArgument: no time, or a sequence beyond the log's tail.
        """
        tail = self.tail
        if isinstance(at, str):
            at = parse_until(at)
        if isinstance(at, str):
            return Moment(self._last_until(at, tail), at)
        if not 0 <= at <= tail:
            raise InvalidArgument(f"Expected a sequence from 0 to {tail}, got {at}.")
        if at == 0:
            return Moment(0, _BEGINNING, lasts=True)
        event = self._log.read(at, 1)[0]
        if isinstance(event.data, ToolCalled):
            return Moment(event.data.tail, event.data.now)
        return Moment(at, event.time, lasts=True)

    def state_at(self, seq: int) -> WorkspaceState:
        """The fold up to `seq`. Folds from the nearest state that it was asked for before."""
        with self._folding:
            start = max((known for known in self._folded if known <= seq), default=0)
            state = self._folded.get(start, EMPTY)
            for event in self.after(start):
                if event.seq > seq:
                    break
                state = apply(state, event)
            self._folded[seq] = state
            self._folded.move_to_end(seq)
            if len(self._folded) > _STATES_KEPT:
                self._folded.popitem(last=False)
            return state

    def _page(self, first: int, last: int) -> list[Event]:
        events: list[Event] = []
        while first <= last:
            events += self._log.read(first, last - first + 1)
            first = events[-1].seq + 1
        return events

    def _last_until(self, time: str, tail: int) -> int:
        """The last sequence whose event is not after `time`; 0 if there is none."""
        low, high = 0, tail
        while low < high:
            middle = (low + high + 1) // 2
            if self._log.read(middle, 1)[0].time <= time:
                low = middle
            else:
                high = middle - 1
        return low
