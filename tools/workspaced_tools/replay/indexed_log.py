"""The past of an indexed log: its moments, and what the replay of calls and prompts needs at each of them."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Final

from workspaced_events.clock import system_clock
from workspaced_events.errors import InvalidArgument
from workspaced_events.ids import ConversationId, VaultId
from workspaced_events.projections.clock_steps import ClockStep, stretches
from workspaced_events.projections.conversations import Conversation
from workspaced_events.projections.visits import Visit
from workspaced_events.projections.workspace_state import WorkspaceState
from workspaced_events.replay.indexed_events import IndexedEvents
from workspaced_events.replay.kept_folds import KeptFolds
from workspaced_events.replay.log_cursor import Moment, moment_at_time, moment_of
from workspaced_events.replay.position import not_held, parse_position
from workspaced_events.schema.catalogue import ClockStepped, Event

from ..errors import NotRecorded
from .verify import StateNotRetained

_ECHO_CHARS_MAX: Final = 100
_EPOCH: Final = "1970-01-01T00:00:00.000000Z"


class IndexedPast:
    """Implements `PastEvents` for a log that may begin at any sequence and may become longer. Not thread-safe."""

    def __init__(self, events: IndexedEvents, folds: KeptFolds) -> None:
        self._events = events
        self._folds = folds

    @property
    def tail(self) -> int:
        return self._events.last

    def before(self, seq: int) -> Iterator[Event]:
        return self._events.backwards(self._events.count_up_to(seq))

    def after(self, seq: int) -> Iterator[Event]:
        return self._events.from_place(self._events.count_up_to(seq))

    def moment(self, at: int | str) -> Moment:
        place = parse_position(at) if isinstance(at, str) else at
        if isinstance(place, str):
            return self._moment_at_time(place)
        before = self._events.before
        if type(place) is not int or not before <= place <= self.tail:
            raise InvalidArgument(
                f"Expected a sequence from {before} to {self.tail}, got {str(place)[:_ECHO_CHARS_MAX]}."
            )
        return moment_of(self._events[place - before - 1]) if place > before else self._beginning

    @property
    def end(self) -> Moment:
        """The moment after all events and calls of the log."""
        return Moment(self.tail, self._events[-1].time, lasts=True) if self._events else self._beginning

    def state_at(self, seq: int) -> WorkspaceState:
        """The fold up to `seq`; before the first event, the state that the log begins with."""
        return self._folds.state_at(seq)

    def visits(self, vault: VaultId, seq: int) -> Sequence[Visit]:
        """The visits of a vault's notes up to `seq`.

        Raises:
            NotRecorded: the log does not hold events early enough.
        """
        found = self._folds.visits_at(vault, seq)
        if found is None:
            raise NotRecorded("What was visited then is not in this log", hint="Bundle more events.")
        return found

    def _moment_at_time(self, time: str) -> Moment:
        events = self._events
        if not events:
            return Moment(events.before, time)
        first, last = events[0], events[-1]
        now = max(system_clock(), last.time)
        stepped = events.of_types(("clock_stepped",))
        steps = [
            ClockStep(event.seq, event.data.before, event.data.after)
            for event in stepped
            if type(event.data) is ClockStepped
        ]
        found = stretches(steps, (first.seq, first.time), (last.seq, now if not steps else last.time))
        moment = moment_at_time(time, found, now, self._last_until)
        if moment.seq < first.seq and events.before:
            raise not_held(time, first, None)
        return moment

    def _last_until(self, time: str, first: int, last: int) -> int:
        begin, end = self._events.count_up_to(first - 1), self._events.count_up_to(last)
        count = bisect_right(self._events, time, begin, end, key=lambda event: event.time)
        return self._events.before + count

    @property
    def _beginning(self) -> Moment:
        before = self._events.before
        return Moment(before, self._events[0].time if self._events and before else _EPOCH, lasts=True)


class KeptMoments:
    """Implements `KnownMoments` for every moment of an indexed log.

    It knows more than a pass over the log, which keeps only the latest states; where both know, they agree.
    """

    def __init__(self, folds: KeptFolds) -> None:
        self._folds = folds

    def state_at(self, as_of_seq: int) -> WorkspaceState | None:
        state = self._folds.state_at(as_of_seq)
        if state.seq > as_of_seq:
            return None  # the log begins later
        # Events that do not move a state's sequence may follow it: the state is the one before them.
        return self._folds.state_at(state.seq) if state.seq < as_of_seq else state

    def conversation_at(self, conversation: ConversationId, as_of_seq: int) -> Conversation | None:
        found = self._folds.state_at(as_of_seq).conversations.by_id.get(conversation)
        return found if found is not None and found.seq <= as_of_seq else None

    def visits_at(self, tail_seq: int, vault: VaultId) -> Sequence[Visit]:
        visits = self._folds.visits_at(vault, tail_seq)
        if visits is None:
            raise StateNotRetained
        return visits
