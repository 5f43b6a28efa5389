"""Moments of a log: looked up by sequence or time, and read from in both directions."""

import threading
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from typing import Final

import msgspec

from ..clock import Clock, ClockStep, Stretch, stretches, stretches_at, system_clock
from ..errors import InvalidArgument
from ..log.segments import SegmentLog
from ..projections.workspace_fold import apply
from ..projections.workspace_state import EMPTY, WorkspaceState
from ..schema.catalogue import Event, ToolCalled
from .position import not_held, parse_position

_PAGE_EVENTS: Final = 256
"""The first page; each further page is twice as large."""
_PAGE_EVENTS_MAX: Final = 2_000
"""The largest page: 10,000 decoded events would take 10 MB, and every scanning thread holds two pages."""
_PAGE_BYTES_MAX: Final = 4 * 1024 * 1024
_STRIDE_EVENTS: Final = 20_000
"""One state is kept per this many events."""
_STATES_KEPT: Final = 64
_BEGINNING: Final = "1970-01-01T00:00:00.000000Z"
_ECHO_CHARS_MAX: Final = 100


class Moment(msgspec.Struct, frozen=True):
    """A place in a log: after the event `seq`, and the clock's time then."""

    seq: int
    time: str
    """In the form of an event's time."""
    lasts: bool = False
    """Includes calls made before the next change; otherwise only calls made up to `time`."""
    call: int = 0
    """The recorded call at this moment; 0: none."""
    since: int = 0
    """Calls made before this event are before the moment, whatever the clock's time was."""
    also: tuple[int, ...] = ()
    """If the clock was set and the log holds `time` more than once: the last events at or before it in the older
    stretches, newest first. The moment lies in the newest stretch."""


def moment_of(event: Event) -> Moment:
    """The moment of an event: it lasts until the next event. For a recorded call: when the call was made, slightly
    before its record; for a call about a moment (`at`): that moment."""
    data = event.data
    if isinstance(data, ToolCalled):
        return Moment(data.tail, data.now, lasts=data.names_moment, call=event.seq)
    return Moment(event.seq, event.time, lasts=True)


def find_moment(
    at: int | str,
    before: int,
    last: int,
    event: Callable[[int], Event],
    steps: Sequence[ClockStep],
    now: str,
    *,
    goes_on: bool,
) -> Moment:
    """The moment of a sequence or an ISO 8601 time (UTC without an offset).

    A time lies in the newest stretch that contains it. At the sequence of a recorded call, a tool sees the same as
    that call did (`moment_of`).

    Args:
        before: the sequence before the log's first event.
        last: the sequence of its last event.
        event: gives an event by its sequence.
        steps: its clock steps.
        now: the present time.
        goes_on: whether the log's last stretch lasts until now, not only until its last event.

    Raises:
        InvalidArgument: no time, a future time, or a sequence or time that the log does not hold.
    """
    place = parse_position(at) if isinstance(at, str) else at
    if not isinstance(place, str):
        if type(place) is not int or not before <= place <= last:
            raise InvalidArgument(
                f"Expected a sequence from {before} to {last}, got {str(place)[:_ECHO_CHARS_MAX]}.",
                hint="Give the asOfSeq of an answer, or a time.",
            )
        if place > before:
            return moment_of(event(place))
        return Moment(before, event(before + 1).time if 0 < before < last else _BEGINNING, lasts=True)
    if before == last:
        return Moment(before, place)
    first, end = event(before + 1), event(last).time
    now = max(now, end)
    found = stretches(steps, (first.seq, first.time), (last, now if goes_on else end))
    if place > now and not any(each.holds(place) for each in found):
        raise InvalidArgument(
            f"Expected a time up to now, {now}, got {place}.", hint="Give an earlier time, or none."
        )

    # Answers name times to the second, so such a time is after all events of its second.
    upto = f"{place[:20]}999999Z" if isinstance(at, str) and "." not in at else place

    def last_until(stretch: Stretch) -> int:
        seqs = range(stretch.first, stretch.last + 1)
        return stretch.first - 1 + bisect_right(seqs, upto, key=lambda seq: event(seq).time)

    newest, *others = stretches_at(found, place) or found[:1]
    seq = last_until(newest)
    if seq == before > 0:
        raise not_held(place, first, None)
    since = newest.first if newest is not found[0] else 0
    if seq > before:
        place = max(place, event(seq).time)
    return Moment(seq, place, since=since, also=tuple(map(last_until, others)))


class LogMoments:
    """Looks up moments in an open log. Safe from any thread; reads, so it blocks."""

    def __init__(
        self,
        log: SegmentLog,
        state: WorkspaceState = EMPTY,
        clock: Clock = system_clock,
        steps: Callable[[], Sequence[ClockStep]] = tuple,
        check: Callable[[], object] = lambda: None,
    ) -> None:
        """
        Args:
            state: the fold at the log's present tail; if empty, everything is folded from the start.
            clock: the time on the log's timeline.
            steps: the log's clock steps so far.
            check: called before each read; raises if the caller no longer waits.
        """
        self._check = check
        self._log = log
        self._clock = clock
        self._steps = steps
        self._folded: OrderedDict[int, WorkspaceState] = OrderedDict()
        if state is not EMPTY:
            self._folded[self.tail] = state
        self._folding = threading.Lock()

    @property
    def tail(self) -> int:
        """The last sequence."""
        return self._log.tail.seq

    def before(self, seq: int) -> Iterator[Event]:
        """The events from `seq` on backwards, newest first."""
        size = _PAGE_EVENTS
        while seq > 0:
            page = self._page(max(1, seq - size + 1), seq)
            yield from reversed(page)
            seq = page[0].seq - 1
            size = min(2 * size, _PAGE_EVENTS_MAX)

    def after(self, seq: int) -> Iterator[Event]:
        """The events after `seq`, oldest first."""
        size = _PAGE_EVENTS
        while events := self._read(seq + 1, size):
            yield from events
            seq = events[-1].seq
            size = min(2 * size, _PAGE_EVENTS_MAX)

    def moment(self, at: int | str) -> Moment:
        """As `find_moment`, in the log up to its present tail."""
        tail = self.tail
        steps = [step for step in self._steps() if step.seq <= tail]
        return find_moment(at, 0, tail, self._event, steps, self._clock(), goes_on=True)

    def state_at(self, seq: int) -> WorkspaceState:
        """The fold up to `seq`, starting at the nearest kept state before it."""
        with self._folding:
            start = max((known for known in self._folded if known <= seq), default=0)
            state = self._folded.get(start, EMPTY)
            stride = max(_STRIDE_EVENTS, 2 * self.tail // _STATES_KEPT)
            for event in self.after(start) if start < seq else ():
                if event.seq > seq:
                    break
                state = apply(state, event)
                if event.seq % stride == 0:
                    self._keep(event.seq, state)
            self._keep(seq, state)
            return state

    def _keep(self, seq: int, state: WorkspaceState) -> None:
        self._folded[seq] = state
        self._folded.move_to_end(seq)
        if len(self._folded) > _STATES_KEPT:
            self._folded.popitem(last=False)

    def _event(self, seq: int) -> Event:
        return self._read(seq, 1)[0]

    def _read(self, first: int, limit: int) -> list[Event]:
        self._check()
        return self._log.read(first, limit, _PAGE_BYTES_MAX)

    def _page(self, first: int, last: int) -> list[Event]:
        events: list[Event] = []
        while first <= last:
            events += self._read(first, last - first + 1)
            first = events[-1].seq + 1
        return events
