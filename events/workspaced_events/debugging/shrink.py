"""Shrinking: the fewest actions that lead to a state which shows something.

Delta debugging: ever smaller pieces of the log are left out, from the back to the front, as long as the rest shows
it. Then what is left is made simpler: fields that may be missing, texts, names of notes. At the end no single
event can be left out. The same log and predicate give the same result.
"""

from collections.abc import Callable, Iterator
from string import ascii_lowercase
from typing import Final

import msgspec

from ..errors import CannotTell, InvalidArgument
from ..ids import NoteId
from ..projections.workspace_fold import fold_all
from ..projections.workspace_state import EMPTY, WorkspaceState
from ..replay.json_lines import export_lines, read_export
from ..replay.position import Position, feed_until
from ..replay.source import Progress, Source
from ..schema import catalogue as c
from ..schema.catalogue import STATE_TYPES, Data, Event
from .bisect import already_true, follow, never_true
from .predicate import Expression, Predicate
from .reduced_log import ReducedLog
from .seed_events import seed_events

Told = Callable[[int, int], None]
"""Told how many events are left, and how many times the predicate was asked."""


class Shrinking:
    """A log on its way to its smallest form.

    Attributes:
        given: how many events of the log lead to what is shown.
        asked: how many times the predicate was asked.
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

        A part of a log is given the events that its first state rests on.

        Raises:
            AlreadyTrue: an empty log shows it.
            NeverTrue: the log does not.
            CannotTell: the command cannot tell whether it does.
            InvalidArgument: the log does not show it when it is published anew from its beginning.
            PredicateFailed: the predicate did not work.
            LogDamaged, OSError: the source cannot be read, as far as was needed.
        """
        self.asked = 0
        self._predicate = predicate
        self._told: Told | None = None
        given = _leading(source, predicate, until, progress)
        self.given = len(given)
        self._candidate = ReducedLog([each for each in given if type(each.data) in STATE_TYPES], self._shows)
        if not self._candidate.is_shown():
            # Numbers of tabs are told by all events before them, so those may have to stay.
            self._candidate = ReducedLog(given, self._shows)
            if not self._candidate.is_shown():
                raise InvalidArgument(
                    "When its actions are published anew the log does not show it.",
                    hint="Give a log from event 1 on; look for nothing that hangs on `seq` or on numbers of tabs.",
                )

    @property
    def events(self) -> list[Event]:
        """The smallest log found so far, numbered from 1."""
        return self._candidate.events

    def run(self, told: Told | None = None) -> None:
        """Goes on until nothing can be left out; what was reached stands in `events`, also when it raises.

        Raises:
            PredicateFailed: the predicate did not work.
        """
        self._told = told
        candidate = self._candidate
        minimise(lambda: len(candidate), candidate.without)
        while self._simplify_data() | self._simplify_names():
            minimise(lambda: len(candidate), candidate.without)

    def is_shown_when_read(self) -> bool:
        """Asks once more, of the log as it will be read. False: the predicate says now this, now that."""
        events = read_export(export_lines("", self.events), "the shrunk log")
        return self._predicate(fold_all(events, EMPTY)) is True

    def _shows(self, state: WorkspaceState) -> bool:
        self.asked += 1
        shown = self._predicate(state) is True
        if self._told is not None:
            self._told(len(self._candidate), self.asked)
        return shown

    def _simplify_data(self) -> bool:
        """Makes each event's data simpler; says whether any was."""
        candidate, changed = self._candidate, False
        for index in reversed(range(len(candidate))):
            while index < len(candidate) and any(
                candidate.with_data(index, data) for data in _simpler(candidate.events[index].data)
            ):
                changed = True
            if index < len(candidate):
                changed |= self._simplify_text(index)
        return changed

    def _simplify_text(self, index: int) -> bool:
        data = self._candidate.events[index].data
        if not isinstance(data, c.SelectionChanged) or not data.text:
            return False
        text = data.text

        def cut(start: int, stop: int) -> bool:
            nonlocal text
            shorter = text[:start] + text[stop:]
            if not self._candidate.with_data(index, msgspec.structs.replace(data, text=shorter)):
                return False
            text = shorter
            return True

        minimise(lambda: len(text), cut)
        return text != data.text

    def _simplify_names(self) -> bool:
        """Calls notes `a.md`, `b.md`, ... wherever they are named; says whether any was."""
        changed = False
        for note in _notes(self.events):
            free = _SHORT_NAMES - _notes(self.events).keys()
            if not free or len(min(free)) >= len(note):
                continue
            changed |= self._candidate.with_all(_calling(note, min(free)))
        return changed


def minimise(length: Callable[[], int], cut: Callable[[int, int], bool]) -> None:
    """Cuts pieces out of something, ever smaller ones, until not even a single item can go.

    Args:
        length: of what is left.
        cut: leaves out the items from one index to before another, if what is looked for then still holds, and
            says whether it did. It may leave out more, but nothing before the first index.
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
    """The events that lead from nothing to what is shown."""
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
        raise CannotTell(message, hint=name_another, first=state.seq, last=state.seq)
    if not verdict:
        message = f"It is not true after event {state.seq}, the last one looked at."
        raise never_true(predicate, state, message, name_another)
    return events


def _simpler(data: Data) -> Iterator[Data]:
    """The data in forms that say less, most telling first."""
    for field in msgspec.structs.fields(data):
        if field.default is None and getattr(data, field.name) is not None:
            try:
                yield msgspec.structs.replace(data, **{field.name: None})
            except ValueError:
                continue  # one of two fields must be there
    if isinstance(data, c.NotePinned) and data.index:
        yield msgspec.structs.replace(data, index=0)
    if isinstance(data, c.SelectionChanged) and data.end_line > 1:
        yield msgspec.structs.replace(data, start_line=1, end_line=1)
    if isinstance(data, c.TemporaryTabsExpired):
        for tab in data.tab_ids:
            yield msgspec.structs.replace(data, tab_ids=tuple(each for each in data.tab_ids if each != tab))


_SHORT_NAMES: Final = frozenset(NoteId(f"{letter}.md") for letter in ascii_lowercase)
_NOTE_FIELDS: Final = {
    data: tuple(name for name in ("note", "notes", "from_", "to") if name in data.__struct_fields__)
    for data in c.ENTRY_OF
}


def _notes(events: list[Event]) -> dict[NoteId, None]:
    """The notes that the events name, in the order in which they do."""
    found: dict[NoteId, None] = {}
    for event in events:
        for field in _NOTE_FIELDS[type(event.data)]:
            value = getattr(event.data, field)
            found.update(dict.fromkeys(value if isinstance(value, tuple) else (value,)))
    found.pop(None, None)  # type: ignore[call-overload]
    return found


def _calling(note: NoteId, name: NoteId) -> Callable[[Data], Data]:
    """Gives data about `note` the other name, wherever it names it."""

    def renamed(data: Data) -> Data:
        changed: dict[str, NoteId | tuple[NoteId, ...]] = {}
        for field in _NOTE_FIELDS[type(data)]:
            value = getattr(data, field)
            if value == note:
                changed[field] = name
            elif isinstance(value, tuple) and note in value:
                changed[field] = tuple(name if each == note else each for each in value)
        return msgspec.structs.replace(data, **changed) if changed else data

    return renamed
