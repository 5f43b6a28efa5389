"""Shrinking: finds the fewest actions that lead to a state in which an expression is true.

Delta debugging: removes smaller and smaller pieces of the log, from the end to the beginning, while the rest leads
there. At the end no single event can be removed. The same log and expression give the same result.
"""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Final

from msgspec.structs import replace

from ..errors import ActionError, InvalidArgument
from ..ids import TabId
from ..journal.actions import Action, admit
from ..projections.workspace_fold import apply, fold_all
from ..projections.workspace_state import WorkspaceState
from ..replay.source import Progress, Source
from ..schema import catalogue as c
from ..schema.catalogue import ENTRY_OF, STATE_TYPES, Data, Event, UnknownEvent
from .expression import Expression
from .first_event import follow, never_true

_TAB: Final = "tab-"


class ReducedLog:
    """The smallest log found so far whose last state satisfies the predicate.

    After every cut the remaining events are numbered anew by the real rules (`actions.admit`, the fold), as if
    nothing else had ever been published behind the state that the log begins with:
    - ids, times and sources stay; `tab-<seq>` follows the numbering;
    - an order names existing items only; an event that closes a tab goes if the event that made the tab is gone;
    - events that are no longer admitted go.

    It keeps states along the log. While cuts are tried from the end to the beginning, each cut folds only the
    events after it, which earlier cuts have already reduced.
    """

    def __init__(
        self, start: WorkspaceState, before: int, events: Sequence[Event], shows: Callable[[WorkspaceState], bool]
    ) -> None:
        """
        Args:
            start: the state that the log begins with, after the event `before`.
            events: all or some of the log. `is_shown` tells whether they satisfy the predicate `shows`.
        """
        self._before = before
        self._shows = shows
        self._places: list[int] = [0]
        self._states: list[WorkspaceState] = [start]
        self.events, self.state = _published(start, before, events)

    def __len__(self) -> int:
        return len(self.events)

    def is_shown(self) -> bool:
        """Whether the last state satisfies the predicate."""
        return self._shows(self.state)

    def without(self, start: int, stop: int) -> bool:
        """Removes the events from index `start` to before `stop`, if the rest satisfies the predicate."""
        before = self._state_at(start, stop - start)
        published, state = _published(before, self._before + start, self.events[stop:])
        if not self._shows(state):
            return False
        self.events = [*self.events[:start], *published]
        self.state = state
        valid = bisect_right(self._places, start)
        del self._places[valid:], self._states[valid:]
        return True

    def _state_at(self, index: int, stride: int) -> WorkspaceState:
        """The state before the event at `index`; keeps one state per `stride` events on the way."""
        nearest = bisect_right(self._places, index) - 1
        place, state = self._places[nearest], self._states[nearest]
        while place < index:
            step = (index - place) % stride or stride
            state = fold_all(self.events[place : place + step], state)
            place += step
            if nearest + 1 == len(self._places):
                self._places.append(place)
                self._states.append(state)
                nearest += 1
        return state


def _published(state: WorkspaceState, last: int, events: Sequence[Event]) -> tuple[list[Event], WorkspaceState]:
    """Publishes `events` behind event `last` of a log, which folds to `state`; also returns the new state."""
    published: list[Event] = []
    numbers: dict[int, int] = {}
    for event in events:
        if type(event) is UnknownEvent:
            continue
        data = _refitted(event, state, lambda seq: seq if seq <= last else numbers.get(seq))
        if data is None:
            continue
        vault = event.vault if ENTRY_OF[type(data)].of_vault else None
        try:
            vault = admit(state, Action(data, event.id, vault))
        except ActionError:
            continue
        seq = last + len(published) + 1
        numbers[event.seq] = seq
        if seq != event.seq or data is not event.data or vault != event.vault:
            event = ENTRY_OF[type(data)].event(seq, event.id, event.time, event.source, vault, data)
        state = apply(state, event)
        published.append(event)
    return published, state


def _refitted(event: Event, state: WorkspaceState, number: Callable[[int], int | None]) -> Data | None:
    """The event's data, naming only existing tabs and pins; None if none is left.

    `number` returns the new sequence of an event, or None if that event is gone.
    """
    data: Data = event.data
    if isinstance(data, c.PinnedNotesReordered):
        pins = state.of(event.vault).pins
        notes = tuple(note for note in data.notes if note in pins)
        return data if notes == data.notes else replace(data, notes=notes) if notes else None
    if isinstance(data, c.TemporaryTabsReordered | c.TemporaryTabsExpired):
        existing = {tab.id for tab in state.of(event.vault).tabs.values()}
        tabs = tuple(tab for each in data.tab_ids if (tab := _tab(each, number)) in existing)
        return data if tabs == data.tab_ids else replace(data, tab_ids=tabs) if tabs else None
    if isinstance(data, c.TemporaryTabClosed) and data.tab_id is not None:
        tab = _tab(data.tab_id, number)
        return data if tab == data.tab_id else replace(data, tab_id=tab) if tab is not None else None
    return data


def _tab(tab: TabId, number: Callable[[int], int | None]) -> TabId | None:
    """The tab's new id; None if the event that made the tab is gone."""
    seq = tab.removeprefix(_TAB)
    now = number(int(seq)) if seq.isdecimal() else None
    return None if now is None else TabId(f"{_TAB}{now}")


class Shrinking:
    """A log being shrunk.

    Attributes:
        given: the number of events up to the one after which the expression is true.
        asked: how often the expression was asked.
    """

    def __init__(self, source: Source, expression: Expression, *, progress: Progress | None = None) -> None:
        """Reads the log up to the first event after which the expression is true.

        Raises:
            ALREADY_TRUE: it is true of the state that the log begins with.
            NeverTrue: it is true after no event.
            InvalidArgument: it is not true once the actions of the log are published again.
            LogDamaged, OSError: the source cannot be read far enough.
        """
        self.asked = 0
        self._expression = expression
        leading: list[Event] = []
        found, state = follow(source, expression, leading.append, progress=progress)
        if found is None:
            raise never_true(expression, state)
        self.given = len(leading)
        start, before = source.start, leading[0].seq - 1
        changing = [each for each in leading if type(each.data) in STATE_TYPES]
        self._reduced = ReducedLog(start, before, changing, self._shows)
        if not self._reduced.is_shown():
            # Numbers of tabs depend on all events before them, so other events may be needed.
            self._reduced = ReducedLog(start, before, leading, self._shows)
            if not self._reduced.is_shown():
                raise InvalidArgument(
                    "When its actions are published anew the log does not show it.",
                    hint="Give a log from event 1 on; look for nothing that hangs on `seq` or on numbers of tabs.",
                )

    @property
    def events(self) -> list[Event]:
        """The smallest log found so far, numbered from its first event on."""
        return self._reduced.events

    def run(self) -> None:
        """Shrinks until nothing can be removed; `events` holds the result, also after an exception."""
        reduced = self._reduced
        size = max(1, len(reduced) // 2)
        while True:
            before = end = len(reduced)
            while end > 0:
                start = max(0, end - size)
                reduced.without(start, end)
                end = min(start, len(reduced))
            if size == 1 and len(reduced) == before:
                return
            size = max(1, min(size, len(reduced)) // 2)

    def _shows(self, state: WorkspaceState) -> bool:
        self.asked += 1
        return self._expression(state)
