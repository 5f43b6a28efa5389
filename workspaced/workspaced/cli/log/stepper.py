"""Steps through a log event by event, forwards and backwards: the model of `replay --watch`, without the terminal.

A `Tape` keeps the log's events encoded and compressed, one page at a time, and the state before each page. A state
within a page is folded from there, which takes milliseconds. A million events take about fifty megabytes.
"""

import zlib
from array import array
from bisect import bisect_right
from collections.abc import Sequence
from typing import Final

import msgspec

from workspaced_events.errors import InvalidArgument
from workspaced_events.ids import VaultId
from workspaced_events.projections.clock_steps import stretches, stretches_at
from workspaced_events.projections.state_diff import Change, changes
from workspaced_events.projections.workspace_fold import apply, fold_all
from workspaced_events.projections.workspace_state import StateJson, WorkspaceState, to_json
from workspaced_events.replay.position import is_after, not_held, parse_position
from workspaced_events.schema.catalogue import Event
from workspaced_events.schema.codec import decode_batch, encode_batch

PAGE_EVENTS: Final = 4_096
_COMPRESSION: Final = 1
_ECHO_CHARS_MAX: Final = 100
CHANGES: Final = "changes"
"""A filter's word for the events that change the state."""


class _Page(msgspec.Struct, frozen=True):
    before: WorkspaceState
    packed: bytes


class Tape:
    """The events of a log and the states between them; position n is after n events."""

    def __init__(self, start: WorkspaceState, vault: VaultId | None, *, page_events: int = PAGE_EVENTS) -> None:
        """`vault`: the vault whose changes count; None: the current one."""
        self.vault = vault
        self.types: dict[str, int] = {}
        """The number of every type that occurs."""
        self._page_events = page_events
        self._pages: list[_Page] = []
        self._before, self._now = start, start
        self._latest: list[Event] = []
        """Events after the last page; `_before` is the state before them."""
        self._type_of = array("I")
        self._changed = bytearray()
        self._opened: tuple[int, list[Event]] = (-1, [])
        self._folded: tuple[int, WorkspaceState] = (0, start)

    def add(self, events: list[Event]) -> None:
        """Appends the next events of the log."""
        for event in events:
            before, self._now = self._now, apply(self._now, event)
            self._latest.append(event)
            self._type_of.append(self.types.setdefault(event.type, len(self.types)))
            self._changed.append(_differ(before, self._now, self.vault))
            if len(self._latest) == self._page_events:
                packed = zlib.compress(encode_batch(self._latest), _COMPRESSION)
                self._pages.append(_Page(self._before, packed))
                self._before, self._latest = self._now, []

    def __len__(self) -> int:
        return len(self._type_of)

    def event(self, position: int) -> Event:
        """The event before `position`, which is at least 1."""
        page, index = divmod(position - 1, self._page_events)
        return self._events(page)[index]

    def state(self, position: int) -> WorkspaceState:
        """The state at `position`."""
        page = max(position - 1, 0) // self._page_events
        first = page * self._page_events
        at, state = self._folded
        if not first <= at <= position:
            at, state = first, self._pages[page].before if page < len(self._pages) else self._before
        state = fold_all(self._events(page)[at - first : position - first], state)
        self._folded = (position, state)
        return state

    def position(self, text: str) -> int:
        """The position of a sequence, or of the last event at or before a time.

        Raises:
            InvalidArgument: the text is neither, or the log does not hold it.
        """
        until = parse_position(text)
        first, last = (self.event(1), self.event(len(self))) if len(self) else (None, None)
        if until == self.state(0).seq or (first is not None and until == first.seq - 1):
            return 0
        if first is None or last is None or is_after(first, until):
            raise not_held(until, first, last)
        if isinstance(until, int):
            if until > last.seq:
                raise not_held(until, first, last)
            return until - first.seq + 1
        steps = self.state(len(self)).clock_steps
        all_stretches = stretches(steps, (first.seq, first.time), (last.seq, last.time))
        stretch = (stretches_at(all_stretches, until) or all_stretches)[0]
        positions = range(stretch.first - first.seq + 1, stretch.last - first.seq + 2)
        return positions.start - 1 + bisect_right(positions, until, key=lambda position: self.event(position).time)

    def matching(self, types: frozenset[str], *, changes_only: bool) -> Sequence[int]:
        """The positions after events of these types (none given: all types); begins with position 0."""
        wanted = {self.types[name] for name in types or self.types}
        positions = array("Q", [0])
        positions.extend(
            position
            for position, (number, changed) in enumerate(zip(self._type_of, self._changed, strict=True), start=1)
            if number in wanted and (changed or not changes_only)
        )
        return positions

    def _events(self, page: int) -> list[Event]:
        if page == len(self._pages):
            return self._latest
        if self._opened[0] != page:
            self._opened = (page, decode_batch(zlib.decompress(self._pages[page].packed)))
        return self._opened[1]


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
        self.position = self._tape.position(text)
        self.move(0)

    def filter(self, text: str) -> None:
        """Sets the filter: types, `changes`, or both, separated by commas; an empty text selects all events.

        Raises:
            InvalidArgument: the log holds no event of a type.
        """
        words = {word.strip() for word in text.split(",")} - {""}
        types = frozenset(words - {CHANGES})
        if unknown := sorted(types - self._tape.types.keys()):
            raise InvalidArgument(
                f"The log holds no event of type {unknown[0][:_ECHO_CHARS_MAX]!r}.",
                hint=f"Give {CHANGES} or some of: {', '.join(sorted(self._tape.types))}.",
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
