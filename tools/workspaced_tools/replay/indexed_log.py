"""The past of an indexed log: its moments, and what the replay of calls and prompts needs at each of them."""

from collections.abc import Iterator, Sequence

from workspaced_events.clock import ClockStep, system_clock
from workspaced_events.ids import ConversationId, VaultId
from workspaced_events.projections.conversations import Conversation
from workspaced_events.projections.visits import Visit
from workspaced_events.projections.workspace_state import WorkspaceState
from workspaced_events.replay.indexed_events import IndexedEvents
from workspaced_events.replay.kept_folds import KeptFolds
from workspaced_events.replay.log_cursor import Moment, find_moment
from workspaced_events.schema.catalogue import ClockStepped, Event

from .verify import StateNotRetained


class IndexedPast:
    """Implements `PastEvents` and `KnownMoments` for a log that may begin at any sequence and may become longer.

    It knows every moment of the log. A pass over a log keeps only the latest states; where both know, they agree.
    Not thread-safe.
    """

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
        events = self._events
        steps = [
            ClockStep(event.seq, event.data.before, event.data.after)
            for event in events.of_types(("clock_stepped",))
            if type(event.data) is ClockStepped
        ]
        first = events.before + 1
        return find_moment(
            at, events.before, self.tail, lambda seq: events[seq - first], steps, system_clock(), goes_on=False
        )

    @property
    def end(self) -> Moment:
        """The moment after all events and calls of the log."""
        if not self._events:
            return self.moment(self.tail)
        return Moment(self.tail, self._events[-1].time, lasts=True)

    def state_at(self, seq: int) -> WorkspaceState:
        """The fold up to `seq`; before the first event, the state that the log begins with."""
        return self._folds.state_at(seq)

    def state_seen(self, as_of_seq: int) -> WorkspaceState | None:
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
