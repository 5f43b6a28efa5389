"""Steps through a log event by event, forwards and backwards: the model of `replay --watch`."""

from array import array
from bisect import bisect_right
from collections.abc import Sequence
from functools import cached_property
from itertools import islice
from typing import Final

import msgspec

from workspaced_events.errors import InvalidArgument
from workspaced_events.ids import VaultId
from workspaced_events.projections.state_diff import Change, changes
from workspaced_events.projections.workspace_fold import apply
from workspaced_events.projections.workspace_state import StateJson, WorkspaceState, to_json
from workspaced_events.replay.indexed_events import IndexedEvents
from workspaced_events.replay.kept_folds import KeptFolds, KeptStates
from workspaced_events.replay.position import Position, not_held, parse_position
from workspaced_events.replay.source import Progress, StoredSource
from workspaced_events.schema.catalogue import Event
from workspaced_tools.replay.indexed_log import IndexedPast

_ECHO_CHARS_MAX: Final = 100
CHANGES: Final = "changes"
"""A filter's word for the events that change the state."""


class Tape:
    """The events of a log and the states between them; position n is after n events."""

    def __init__(
        self,
        source: StoredSource,
        vault: VaultId | None,
        *,
        until: int | None = None,
        progress: Progress | None = None,
    ) -> None:
        """
        Args:
            source: stays open as long as the tape is used.
            vault: the vault whose changes count; None: the current one.
            until: the last event of the tape; default: the log's last.

        Raises:
            InvalidArgument: the log does not reach `until`.
            LogDamaged: it is damaged before that.
        """
        index = source.index(progress)
        self.vault = vault
        self.warnings = index.warnings
        self._events = IndexedEvents(index, source.start.seq)
        self._folds = KeptFolds(self._events, KeptStates(source.start), msgspec.json.encode(source.start_visits()))
        self._length = len(self._events)
        if index.damage is not None and (until is None or until > self._events.last):
            raise index.damage
        self._length = self.position(until) if until is not None else self._length

    def __len__(self) -> int:
        return self._length

    @property
    def types(self) -> list[str]:
        """Every type that the log holds, sorted."""
        return sorted(self._events.columns.counts())

    def event(self, position: int) -> Event:
        """The event before `position`, which is at least 1."""
        return self._events[position - 1]

    def state(self, position: int) -> WorkspaceState:
        """The state at `position`."""
        return self._folds.state_at(self._events.before + position)

    def position(self, until: Position) -> int:
        """The position of a sequence, or of the last event at or before a time.

        Raises:
            InvalidArgument: the log does not hold it.
        """
        seq = until if isinstance(until, int) else IndexedPast(self._events, self._folds).moment(until).seq
        position = seq - self._events.before
        if position < 0 or (isinstance(until, int) and position > len(self)):
            ends = (self.event(1), self.event(len(self))) if len(self) else (None, None)
            raise not_held(until, *ends)
        return min(position, len(self))

    def matching(self, types: frozenset[str], *, changes_only: bool) -> Sequence[int]:
        """The positions after events of these types (none given: all types); begins with position 0."""
        places = self._events.columns.numbers(types or None, 0, len(self))
        changed = self._changed if changes_only else None
        return array("Q", [0, *(place + 1 for place in places if changed is None or changed[place])])

    @cached_property
    def _changed(self) -> bytearray:
        """For each event whether it changed what is displayed."""
        found, state = bytearray(), self.state(0)
        for event in islice(self._events, len(self)):
            before, state = state, apply(state, event)
            found.append(_differ(before, state, self.vault))
        return found


def _differ(before: WorkspaceState, after: WorkspaceState, vault: VaultId | None) -> bool:
    """Whether the displayed parts of the states of `vault` (None: the current one) differ.

    Cheap, because the fold keeps unchanged parts as the same objects.
    """
    if before is after:
        return False
    if before.current != after.current or before.vaults != after.vaults or before.sharing != after.sharing:
        return True
    of = vault if vault is not None else after.current
    was, now = before.of(of), after.of(of)
    return was is not now and was != now


class View(msgspec.Struct, frozen=True):
    """The content of the display at a position."""

    position: int
    events: int
    event: Event | None
    """The event before the position; None at the start."""
    changes: list[Change]
    """The event's effect on the state."""
    state: StateJson
    filter: str
    stop: int
    """The number of filtered events up to the position."""
    stops: int
    """The number of all filtered events."""


class Stepper:
    """A position in a tape. It moves among the start and the positions after filtered events (stops)."""

    def __init__(self, tape: Tape, position: int) -> None:
        self._tape = tape
        self._filter = ""
        self._stops: Sequence[int] = range(len(tape) + 1)
        self.position = position

    def move(self, by: int) -> None:
        """Moves that many stops forwards, or backwards; not beyond the ends."""
        self.position = self._stops[min(max(self._stop() + by, 0), len(self._stops) - 1)]

    def first(self) -> None:
        """Moves to the start."""
        self.position = 0

    def last(self) -> None:
        """Moves to the last stop."""
        self.position = self._stops[-1]

    def jump(self, text: str) -> None:
        """Moves to the last stop at or before a sequence or a time.

        Raises:
            InvalidArgument: the text is neither, or the log does not hold it.
        """
        self.position = self._tape.position(parse_position(text))
        self.move(0)

    def filter(self, text: str) -> None:
        """Sets the filter: types, `changes`, or both, separated by commas; an empty text selects all events.

        Raises:
            InvalidArgument: the log holds no event of a type.
        """
        words = {word.strip() for word in text.split(",")} - {""}
        types = frozenset(words - {CHANGES})
        if unknown := sorted(types - set(self._tape.types)):
            raise InvalidArgument(
                f"The log holds no event of type {unknown[0][:_ECHO_CHARS_MAX]!r}.",
                hint=f"Give {CHANGES} or some of: {', '.join(self._tape.types)}.",
            )
        self._filter = ", ".join(sorted(words))
        self._stops = (
            self._tape.matching(types, changes_only=CHANGES in words) if words else range(len(self._tape) + 1)
        )
        self.move(0)

    def view(self) -> View:
        """The content of the display."""
        tape, at = self._tape, self.position
        before = to_json(tape.state(max(at - 1, 0)), tape.vault)
        state = to_json(tape.state(at), tape.vault)
        return View(
            position=at,
            events=len(tape),
            event=tape.event(at) if at else None,
            changes=changes(before, state),
            state=state,
            filter=self._filter,
            stop=self._stop(),
            stops=len(self._stops) - 1,
        )

    def _stop(self) -> int:
        """The index of the last stop at or before the position."""
        return bisect_right(self._stops, self.position) - 1
