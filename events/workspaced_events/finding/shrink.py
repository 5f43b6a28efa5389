"""Shrinking: finds the fewest actions that lead to a state which satisfies a predicate.

Delta debugging: removes smaller and smaller pieces of the log, from the end to the beginning, while the rest
satisfies the predicate. Then it simplifies the remaining events: optional fields, texts, names of notes. At the
end no single event can be removed. The same log and predicate give the same result.

A part of a log begins with seed events: they lead from nothing to the state at its beginning, and replace the real
events, which are unknown. The resulting state has the same JSON, except for `seq`, `lastUpdated` and the numbers
of tabs; it lacks former paths.
"""

from collections.abc import Callable, Iterator
from string import ascii_lowercase
from typing import Final

import msgspec

from ..errors import InvalidArgument, WorkspacedError
from ..ids import EventId, NoteId, VaultId
from ..projections.workspace_fold import fold_all
from ..projections.workspace_state import EMPTY, VaultState, WorkspaceState
from ..replay.json_lines import export_lines, read_export
from ..replay.position import Position, feed_until
from ..replay.source import Progress, Source
from ..schema import catalogue as c
from ..schema.catalogue import ENTRY_OF, STATE_TYPES, Data, Event
from ..schema.registry import notes_in
from .bisect import already_true, follow, never_true
from .predicate import Expression, Predicate
from .reduced_log import ReducedLog

Report = Callable[[int, int], None]
"""Called with the number of remaining events and of predicate calls."""
_SOURCE: Final = "prelude"
_BEGINNING: Final = "1970-01-01T00:00:00.000000Z"


class Shrinking:
    """A log being shrunk.

    Attributes:
        given: the number of events up to the one that satisfies the predicate.
        asked: the number of predicate calls.
    """

    def __init__(
        self,
        source: Source,
        predicate: Predicate,
        *,
        until: Position | None = None,
        progress: Progress | None = None,
    ) -> None:
        """Reads the log up to the first event after which an expression is true; for a command up to `until`.

        A part of a log is preceded by seed events for its first state.

        Raises:
            ALREADY_TRUE: an empty log satisfies the predicate.
            NeverTrue: the log does not satisfy it.
            CANNOT_TELL: the command cannot tell.
            InvalidArgument: the log, published again from its beginning, does not satisfy it.
            PredicateFailed: the predicate failed.
            LogDamaged, OSError: the source cannot be read far enough.
        """
        self.asked = 0
        self._predicate = predicate
        self._report: Report | None = None
        leading = _leading(source, predicate, until, progress)
        self.given = len(leading)
        self._reduced = ReducedLog([each for each in leading if type(each.data) in STATE_TYPES], self._shows)
        if not self._reduced.is_shown():
            # Numbers of tabs depend on all events before them, so other events may be needed.
            self._reduced = ReducedLog(leading, self._shows)
            if not self._reduced.is_shown():
                raise InvalidArgument(
                    "When its actions are published anew the log does not show it.",
                    hint="Give a log from event 1 on; look for nothing that hangs on `seq` or on numbers of tabs.",
                )

    @property
    def events(self) -> list[Event]:
        """The smallest log found so far, numbered from 1."""
        return self._reduced.events

    def run(self, report: Report | None = None) -> None:
        """Shrinks until nothing can be removed; `events` holds the result, also after an exception.

        Raises:
            PredicateFailed: the predicate failed.
        """
        self._report = report
        reduced = self._reduced
        minimise(lambda: len(reduced), reduced.without)
        while self._simplify_data() | self._simplify_names():
            minimise(lambda: len(reduced), reduced.without)

    def is_shown_when_read(self) -> bool:
        """Tests the exported log once more. False: the predicate is not deterministic."""
        events = read_export(export_lines("", self.events), "the shrunk log")
        return self._predicate(fold_all(events, EMPTY)) is True

    def _shows(self, state: WorkspaceState) -> bool:
        self.asked += 1
        shown = self._predicate(state) is True
        if self._report is not None:
            self._report(len(self._reduced), self.asked)
        return shown

    def _simplify_data(self) -> bool:
        """Simplifies each event's data; returns whether it changed any."""
        reduced, changed = self._reduced, False
        for index in reversed(range(len(reduced))):
            while index < len(reduced) and any(
                reduced.with_data(index, data) for data in _simpler(reduced.events[index].data)
            ):
                changed = True
            if index < len(reduced):
                changed |= self._simplify_text(index)
        return changed

    def _simplify_text(self, index: int) -> bool:
        data = self._reduced.events[index].data
        if not isinstance(data, c.SelectionChanged) or not data.text:
            return False
        text = data.text

        def cut(start: int, stop: int) -> bool:
            nonlocal text
            shorter = text[:start] + text[stop:]
            if not self._reduced.with_data(index, msgspec.structs.replace(data, text=shorter)):
                return False
            text = shorter
            return True

        minimise(lambda: len(text), cut)
        return text != data.text

    def _simplify_names(self) -> bool:
        """Renames notes to `a.md`, `b.md`, ... everywhere; returns whether it renamed any."""
        changed = False
        for note in _notes(self.events):
            free = _SHORT_NAMES - _notes(self.events).keys()
            if not free or len(min(free)) >= len(note):
                continue
            changed |= self._reduced.with_all(_calling(note, min(free)))
        return changed


def minimise(length: Callable[[], int], cut: Callable[[int, int], bool]) -> None:
    """Removes smaller and smaller pieces until not even a single item can be removed.

    Args:
        length: returns the number of remaining items.
        cut: removes the items from one index to before another, if the rest still satisfies the predicate, and
            returns whether it did. It may remove more, but nothing before the first index.
    """
    size = max(1, length() // 2)
    while True:
        before = end = length()
        while end > 0:
            start = max(0, end - size)
            cut(start, end)
            end = min(start, length())
        if size == 1 and length() == before:
            return
        size = max(1, min(size, length()) // 2)


def _leading(
    source: Source, predicate: Predicate, until: Position | None, progress: Progress | None
) -> list[Event]:
    """The events that lead from nothing to the first state that satisfies the predicate."""
    if predicate(EMPTY):
        raise already_true(EMPTY.seq)
    events = seed_events(source.start)
    if isinstance(predicate, Expression):
        if source.start != EMPTY and predicate(source.start):
            return events
        found, state = follow(source, predicate, events.append, progress=progress)
        if found is None:
            raise never_true(predicate, state, f"It is not true after any event up to {state.seq}.")
        return events
    before = len(events)
    feed_until(source, until, events.extend, progress)
    state = fold_all(events[before:], source.start)
    verdict = predicate(state)
    name_another = "Name an event after which it is true with --until."
    if verdict is None:
        message = f"The command cannot tell of the state after event {state.seq}."
        raise WorkspacedError(message, hint=name_another, first=state.seq, last=state.seq, code="CANNOT_TELL")
    if not verdict:
        message = f"It is not true after event {state.seq}, the last one looked at."
        raise never_true(predicate, state, message, name_another)
    return events


def _simpler(data: Data) -> Iterator[Data]:
    """Simpler variants of the data, the simplest first."""
    for field in msgspec.structs.fields(data):
        if field.default is None and getattr(data, field.name) is not None:
            try:
                yield msgspec.structs.replace(data, **{field.name: None})
            except ValueError:
                continue  # one of two fields is required
    if isinstance(data, c.NotePinned) and data.index:
        yield msgspec.structs.replace(data, index=0)
    if isinstance(data, c.SelectionChanged) and data.end_line > 1:
        yield msgspec.structs.replace(data, start_line=1, end_line=1)
    if isinstance(data, c.TemporaryTabsExpired):
        for tab in data.tab_ids:
            yield msgspec.structs.replace(data, tab_ids=tuple(each for each in data.tab_ids if each != tab))


_SHORT_NAMES: Final = frozenset(NoteId(f"{letter}.md") for letter in ascii_lowercase)


def _notes(events: list[Event]) -> dict[NoteId, None]:
    """The notes that the events name, in order of first mention."""
    notes: dict[NoteId, None] = {}
    for event in events:
        notes.update(dict.fromkeys(notes_in(event.data)))
    return notes


def _calling(note: NoteId, name: NoteId) -> Callable[[Data], Data]:
    """A function that renames `note` to `name` in an event's data."""

    def renamed(data: Data) -> Data:
        changed: dict[str, NoteId | tuple[NoteId, ...]] = {}
        for field in ENTRY_OF[type(data)].notes:
            value = getattr(data, field)
            if value == note:
                changed[field] = name
            elif isinstance(value, tuple) and note in value:
                changed[field] = tuple(name if each == note else each for each in value)
        return msgspec.structs.replace(data, **changed) if changed else data

    return renamed


class _Step(msgspec.Struct, frozen=True):
    time: str
    vault: VaultId | None
    data: Data
    source: str = _SOURCE
    seq: int | None = None
    """Set if other events name this one by its sequence."""


def seed_events(state: WorkspaceState) -> list[Event]:
    """Events, without consecutive sequences, that lead to `state` if published in this order.

    An event that makes a tab has the sequence in the tab's id; the other sequences are negative. Times never
    decrease.
    """
    vaults = list(state.vaults)
    timed = sorted(
        (step for vault in vaults for step in _timed_steps(vault, state.of(vault))), key=lambda step: step.time
    )
    first = timed[0].time if timed else _BEGINNING
    last = timed[-1].time if timed else _BEGINNING
    opened = [c.VaultOpened(each.id, each.name, each.path, each.files) for each in state.vaults.values()]
    steps = [_Step(first, each.vault_id, each) for each in opened]
    if state.current is not None and state.current != vaults[0]:
        steps.append(_Step(first, state.current, c.VaultSwitched(state.current)))
    steps += [_Step(first, state.current, c.SharingSet(*each)) for each in state.sharing.items()]
    steps += [_Step(first, state.current, c.VolunteeringSet(*each)) for each in state.volunteering.items()]
    steps += timed
    steps += [
        _Step(last, vault, c.ViewOpened(confidence), source)
        for vault, views in state.views.items()
        for source, confidence in views.items()
    ]
    steps += [_Step(last, vault, data) for vault in vaults for data in _in_order(state.of(vault))]
    closed = [vault.id for vault in state.vaults.values() if not vault.open]
    if state.current is None and closed and vaults[0] != closed[0]:
        steps.append(_Step(last, closed[0], c.VaultSwitched(closed[0])))
    steps += [_Step(last, vault, c.VaultClosed(vault)) for vault in closed]
    if (paused := state.paused) is not None:
        steps.append(_Step(max(last, paused.since), state.current, c.PauseStarted(paused.until)))
    return [_event(number, step) for number, step in enumerate(steps, start=1)]


def _event(number: int, step: _Step) -> Event:
    seq = step.seq if step.seq is not None else -number
    event: Event = ENTRY_OF[type(step.data)].event(
        seq, EventId(f"{_SOURCE}-{number}"), step.time, step.source, step.vault, step.data
    )
    return event


def _timed_steps(vault: VaultId, sub: VaultState) -> Iterator[_Step]:
    """The steps that follow from the times in a vault's state."""
    activations = [*sub.recents.items(), *([(sub.active.id, sub.active.since)] if sub.active is not None else [])]
    for place, (note, at) in enumerate(activations):
        tab = sub.tabs.get(note)
        publisher = sub.active.publisher if sub.active is not None and sub.active.id == note else _SOURCE
        if tab is None or at <= tab.last_accessed:
            yield _Step(at, vault, c.ActiveNoteSet(note), publisher)
            continue
        # Setting the note would have touched its tab, so it must have had another name then.
        former = NoteId(f"{_SOURCE}/{place} {note}")
        yield _Step(at, vault, c.ActiveNoteSet(former), publisher)
        yield _Step(at, vault, c.NoteRenamed(former, note))
    for pin in sub.pins.values():
        yield _Step(pin.pinned_at, vault, c.NotePinned(pin.id), pin.publisher)
    for tab in sub.tabs.values():
        opened = c.TemporaryTabOpened(tab.note_id, tab.source)
        number = tab.id.rpartition("-")[2]
        yield _Step(tab.opened_at, vault, opened, tab.publisher, int(number))
        if tab.last_accessed > tab.opened_at:
            yield _Step(tab.last_accessed, vault, opened, tab.publisher)


def _in_order(sub: VaultState) -> Iterator[Data]:
    """The events for the order of a vault's lists, and for fields without a time."""
    if len(sub.pins) > 1:
        yield c.PinnedNotesReordered(tuple(sub.pins))
    if len(sub.tabs) > 1:
        yield c.TemporaryTabsReordered(tuple(tab.id for tab in sub.tabs.values()))
    for note in sub.archived:
        yield c.NoteArchived(note)
    if sub.active is None:
        yield c.ActiveNoteCleared()
    if (selection := sub.selection) is not None:
        yield c.SelectionChanged(
            selection.note,
            selection.start_line,
            selection.end_line,
            text=selection.text,
            text_sha256=selection.text_sha256,
        )
