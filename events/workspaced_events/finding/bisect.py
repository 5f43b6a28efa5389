"""Finds the event at which a predicate over the state becomes true.

`find_first` evaluates an expression after each event. `find_between` bisects, for slower predicates: it assumes
that the predicate, once true, stays true up to the last event; otherwise it finds one of the events where it
becomes true.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress

import msgspec

from ..errors import InvalidArgument, NeverTrue, WorkspacedError
from ..escaping import escape_control
from ..projections.workspace_fold import apply
from ..projections.workspace_state import WorkspaceState
from ..replay.position import Position, feed_until, not_held, place_until
from ..replay.source import Progress, Source
from ..schema.catalogue import Event
from .predicate import Expression, Predicate

Report = Callable[[int, int], None]
"""Called with the two sequences between which the event lies, whenever they move closer."""
_STATES_MAX = 1_000
"""States of a log in memory at a time."""


class Found(msgspec.Struct, frozen=True):
    """The event at which the predicate becomes true, and the states around it."""

    event: Event
    before: WorkspaceState
    after: WorkspaceState


class _Stop(Exception):
    """Stops reading the source."""


def find_first(source: Source, expression: Expression, *, progress: Progress | None = None) -> Found:
    """The first event of the source after which the expression is true.

    Raises:
        ALREADY_TRUE: the expression is true before the first event.
        NeverTrue: the expression is true after no event.
        InvalidArgument: the expression is invalid, or its vault is unknown to the log.
        LogDamaged, OSError: the source cannot be read far enough.
    """
    found, state = follow(source, expression, lambda _event: None, progress=progress)
    if found is None:
        raise never_true(expression, state, f"It is not true after any event up to {state.seq}.")
    return found


def follow(
    source: Source, expression: Expression, passed: Callable[[Event], None], *, progress: Progress | None = None
) -> tuple[Found | None, WorkspaceState]:
    """Like `find_first`; also returns the last state. Calls `passed` with every event up to the one found."""
    state = source.start
    if expression(state):
        raise already_true(state.seq)
    found: Found | None = None

    def search(events: list[Event]) -> None:
        nonlocal state, found
        for event in events:
            passed(event)
            after = apply(state, event)
            if after is not state and not expression.same(state, after) and expression(after):
                found = Found(event, state, after)
                raise _Stop
            state = after

    with suppress(_Stop):
        source.feed(search, progress)
    return found, state


def already_true(seq: int) -> WorkspacedError:
    """The error for a predicate that is true in the state after event `seq`, where the search begins."""
    where = f"after event {seq}" if seq else "of the state before the first event"
    return WorkspacedError(
        f"It is true {where} already, so there is no event at which it becomes true.",
        hint="Look for what is not so at first.",
        seq=seq,
        code="ALREADY_TRUE",
    )


def never_true(predicate: Predicate, last: WorkspaceState, message: str, hint: str = "") -> WorkspacedError:
    """The error for a predicate that never became true, with a possible cause; `last` is the last state."""
    vault = predicate.vault
    if vault is not None and vault not in last.vaults and vault not in last.by_vault:
        known = ", ".join(escape_control(each) for each in last.vaults)
        return InvalidArgument(
            f"The log holds no vault {escape_control(vault)!r}.", hint=f"Its vaults: {known or 'none'}."
        )
    if isinstance(predicate, Expression) and predicate.trouble is not None:
        hint = f"It could not always be evaluated: {predicate.trouble}."
    return NeverTrue(message, hint=hint, seq=last.seq)


# -- bisecting --


class _Point(msgspec.Struct, frozen=True):
    """A point in the log: a sequence and the state after it."""

    seq: int
    event: Event | None
    """None before the first event."""
    state: WorkspaceState


def find_between(
    source: Source,
    predicate: Predicate,
    after: Position | None = None,
    upto: Position | None = None,
    *,
    report: Report | None = None,
) -> Found:
    """An event after which the predicate is true and before which it is false; tests about log2 of the states.

    If the predicate cannot tell, neighbouring states are tested.
    Args:
        after: the last event known to be false; default: before the first.
        upto: an event known to be true; default: the last.

    Raises:
        ALREADY_TRUE: true after `after`.
        NeverTrue: not true after `upto`.
        CANNOT_TELL: the predicate cannot tell at an end, or at every state that would single out the event.
        InvalidArgument: the log holds no such events, or they are in the wrong order.
        PredicateFailed: the predicate failed.
        LogDamaged, OSError: the source cannot be read far enough.
    """
    low, high = _ends(source, after, upto)
    _check_ends(predicate, low, high)
    verdicts: dict[int, bool | None] = {}

    def verdict_at(point: _Point) -> bool | None:
        if point.state.seq not in verdicts:
            verdicts[point.state.seq] = predicate(point.state)
        return verdicts[point.state.seq]

    while True:
        if report is not None:
            report(low.seq, high.seq)
        stride = -(-(high.seq - low.seq) // _STATES_MAX)
        points = _points(source, low, high, stride)
        at, to = _narrowed(points, verdict_at, report)
        if stride == 1 and to == at + 1:
            event = points[to].event
            assert event is not None
            return Found(event, points[at].state, points[to].state)
        if stride == 1 or (at, to) == (0, len(points) - 1):
            first, last = points[at].seq + 1, points[to].seq
            message = (
                f"It becomes true at one of the events {first} to {last}; in between the command cannot tell."
            )
            raise WorkspacedError(message, first=first, last=last, code="CANNOT_TELL")
        low, high = points[at], points[to]


def _ends(source: Source, after: Position | None, upto: Position | None) -> tuple[_Point, _Point]:
    """The two ends, which exist and are in order."""
    if isinstance(after, int) and isinstance(upto, int) and after >= upto:
        raise InvalidArgument(f"Expected the earlier event first, got {after} and {upto}.")
    if isinstance(after, str):
        after = place_until(source, after).seq
    start = _Point(source.start.seq, None, source.start)
    low, high = start, start
    first: Event | None = None

    def fold(events: list[Event]) -> None:
        nonlocal low, high, first
        state = high.state
        first = first or events[0]
        for event in events:
            state = apply(state, event)
            if after is not None and event.seq <= after:
                low = _Point(event.seq, event, state)
        high = _Point(events[-1].seq, events[-1], state)

    feed_until(source, upto, fold)
    if (
        after is not None
        and after != start.seq
        and (low is start or (isinstance(after, int) and low.seq != after))
    ):
        raise not_held(after, first, high.event)
    if low.seq >= high.seq:
        raise InvalidArgument(f"There is no event between the two, which are {low.seq} and {high.seq}.")
    return low, high


def _check_ends(predicate: Predicate, low: _Point, high: _Point) -> None:
    name_others = "Name other events with --between."
    verdicts = []
    for point in (low, high):
        verdicts.append(predicate(point.state))
        if verdicts[-1] is None:
            message = f"The command cannot tell of the state after event {point.seq}."
            raise WorkspacedError(message, hint=name_others, first=point.seq, last=point.seq, code="CANNOT_TELL")
    if verdicts[0]:
        raise already_true(low.seq)
    if not verdicts[1]:
        message = f"It is not true after event {high.seq}, the last one looked at."
        raise never_true(predicate, high.state, message, name_others)


def _points(source: Source, low: _Point, high: _Point, stride: int) -> list[_Point]:
    """Every `stride`-th point from `low` to `high`; of points with the same state only the first."""
    points = [low]
    state = source.start

    def fold(events: list[Event]) -> None:
        nonlocal state
        for event in events:
            state = apply(state, event)
            wanted = (event.seq - low.seq) % stride == 0 or event.seq == high.seq
            if event.seq > low.seq and wanted and state.seq != points[-1].state.seq:
                points.append(_Point(event.seq, event, state))

    feed_until(source, high.seq, fold)
    return points


def _narrowed(
    points: Sequence[_Point], ask: Callable[[_Point], bool | None], report: Report | None
) -> tuple[int, int]:
    """The closest two points of which the first is false and the second is true."""
    low, high = 0, len(points) - 1
    unknown: set[int] = set()
    while still := [at for at in range(low + 1, high) if at not in unknown]:
        middle = min(still, key=lambda at: abs(2 * at - low - high))
        verdict = ask(points[middle])
        if verdict is None:
            unknown.add(middle)
        elif verdict:
            high = middle
        else:
            low = middle
        if report is not None:
            report(points[low].seq, points[high].seq)
    return low, high
